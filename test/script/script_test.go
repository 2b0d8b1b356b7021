package script

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// listMachine keeps a list of words.
func listMachine(t *testing.T) Run {
	var words []string
	return func(cmd string, args []string) string {
		switch cmd {
		case "add":
			words = append(words, args...)
		case "clear":
			words = nil
		case "print":
			return strings.Join(args, " ")
		case "show":
			var out strings.Builder
			for i, w := range words {
				fmt.Fprintf(&out, "%d: %s\n", i+1, w)
			}
			return out.String()
		default:
			t.Fatalf("no command %q", cmd)
		}
		return ""
	}
}

func TestWalk(t *testing.T) { Walk(t, "testdata/*.txt", listMachine) }

// recorder is a test that only remembers.
type recorder struct{ errors, logs []string }

func (*recorder) Helper()                     {}
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Logf(f string, a ...any)   { r.logs = append(r.logs, fmt.Sprintf(f, a...)) }

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRunFile_DifferenceIsReportedWithItsLine(t *testing.T) {
	file := write(t, "# head\n\nadd a b\nshow\n----\n1: a\n2: x\n3: b\n\nshow\n----\n1: a\n2: b\n")
	var r recorder
	if err := runFile(&r, file, false, listMachine(t)); err != nil {
		t.Fatal(err)
	}
	want := file + ":3: output differs (-want +got); REWRITE=1 accepts it\nadd a b\nshow\n----\n" +
		"  1: a\n- 2: x\n- 3: b\n+ 2: b\n"
	if len(r.errors) != 1 || r.errors[0] != want {
		t.Errorf("errors = %q; want the one %q", r.errors, want)
	}
}

func TestRunFile_MissingOutputFails(t *testing.T) {
	file := write(t, "add a\nshow\n")
	var r recorder
	if err := runFile(&r, file, false, listMachine(t)); err != nil {
		t.Fatal(err)
	}
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], ":1: the block has no output") {
		t.Errorf("errors = %q; want one about the missing output", r.errors)
	}
}

func TestRunFile_RewriteMakesTheFilePass(t *testing.T) {
	file := write(t, "# head\n\nadd a\nshow\n\n\n# alone\n\nshow\n----\nwrong\n\nprint \"a\\n\\nb\"\n----\n")
	var r recorder
	if err := runFile(&r, file, true, listMachine(t)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "# head\n\nadd a\nshow\n----\n1: a\n\n# alone\n\nshow\n----\n1: a\n\nprint \"a\\n\\nb\"\n----\n----\na\n\nb\n----\n----\n"
	if string(got) != want || len(r.errors) != 0 {
		t.Errorf("rewritten = %q, errors %q; want %q", got, r.errors, want)
	}
	if err := runFile(&r, file, false, listMachine(t)); err != nil || len(r.errors) != 0 {
		t.Errorf("second run: %v, errors %q; want none", err, r.errors)
	}
}

func TestRunFile_RewriteRefusesWhatCannotBeReadBack(t *testing.T) {
	text := "print \"----\\n----\\n\\nx\"\n"
	file := write(t, text)
	if err := runFile(&recorder{}, file, true, listMachine(t)); err == nil {
		t.Error("rewrite = nil; want an error")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("file = %q, %v; want it untouched", got, err)
	}
}

func TestRunFile_PanicNamesTheCommand(t *testing.T) {
	file := write(t, "show\n----\n\nboom now\n----\n")
	var r recorder
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = runFile(&r, file, false, func(cmd string, _ []string) string {
			if cmd == "boom" {
				panic("boom")
			}
			return ""
		})
	}()
	if len(r.logs) != 1 || !strings.HasSuffix(r.logs[0], `:4: ended in command "boom now"`) {
		t.Errorf("logs = %q; want the line and the command", r.logs)
	}
}

func TestParse_Errors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"open quote", "ok\n----\n\nadd 'x\n----\n", "f:4: quote ' opened in column 5 is not closed"},
		{"bad escape", `add "\q"`, "f:1: read the quoted text in column 5: invalid syntax"},
		{"no command", "# only words\n----\nx\n", "f:2: output without a command before it"},
		{"open fence", "a\n----\n----\nx\n----\n", "f:3: the output's fence is not closed by two lines of dashes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parse("f", c.text); err == nil || err.Error() != c.want {
				t.Errorf("parse = %v; want %s", err, c.want)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  a\t b ", []string{"a", "b"}},
		{`say 'a "b" \n' "c 'd' \n"`, []string{"say", `a "b" \n`, "c 'd' \n"}},
		{`k='x y'"z" ''`, []string{"k=x yz", ""}},
		{`raw '{"a": [1, 2]}'`, []string{"raw", `{"a": [1, 2]}`}},
		{`"\u00e9\\" é`, []string{`é\`, "é"}},
	} {
		got, err := Split(c.line)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Split(%q) = %q, %v; want %q", c.line, got, err, c.want)
		}
	}
}

// TestSplit_ReadsWhatIsQuoted holds that every word can be written down.
func TestSplit_ReadsWhatIsQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		var line []string
		for _, w := range words {
			if rapid.Bool().Draw(t, "single") && !strings.Contains(w, "'") {
				line = append(line, "'"+w+"'")
			} else {
				line = append(line, strconv.Quote(w))
			}
		}
		got, err := Split(strings.Join(line, " "))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("Split(%s) = %q, %v; want %q", line, got, err, words)
		}
	})
}

// TestFormat_ReadsBack holds that any output a machine prints can stand in a
// file and is read back as it was.
func TestFormat_ReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"", "x", dashes, "# not a comment", " ", "-----"})
		var parts []part
		for range rapid.IntRange(1, 4).Draw(t, "blocks") {
			output := strings.Join(rapid.SliceOf(line).Draw(t, "output"), "\n")
			if output != "" {
				output += "\n"
			}
			if !hasFence(output) {
				parts = append(parts, part{input: []string{"cmd"}, hasOutput: true, output: output})
			}
		}
		text := format(parts)
		back, err := parse("f", text)
		if err != nil || len(back) != len(parts) {
			t.Fatalf("parse(%q) = %d parts, %v; want %d", text, len(back), err, len(parts))
		}
		for i := range parts {
			if back[i].output != parts[i].output {
				t.Fatalf("output %d of %q = %q; want %q", i, text, back[i].output, parts[i].output)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "# c\n\na 'b'\n----\nout\n", "a\n----\n----\nx\n\ny\n----\n----\n", "----\n", "a \"\\x\"\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := parse("f", text)
		if err != nil {
			return
		}
		once := format(parts)
		again, err := parse("f", once)
		if err != nil {
			t.Fatalf("parse what was written, %q: %v", once, err)
		}
		if twice := format(again); twice != once {
			t.Fatalf("written twice: %q, then %q", once, twice)
		}
	})
}
