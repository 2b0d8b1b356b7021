package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Run executes one command and returns what it prints; a last newline is added
// where it is missing. A command the machine refuses is output too ("error
// busy: ..."): scripts hold errors as they hold everything else. For a command
// that does not exist, fail the test.
type Run = func(cmd string, args []string) string

// Walk runs every file that matches glob, relative to the package under test,
// each as a subtest named for the file. newMachine is called once a file and
// returns what executes the commands of that file.
func Walk(t *testing.T, glob string, newMachine func(t *testing.T) Run) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil {
		t.Fatalf("match %q: %v", glob, err)
	}
	if len(files) == 0 {
		t.Fatalf("no script matches %q", glob)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			if err := runFile(t, file, os.Getenv("REWRITE") != "", newMachine(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// reporter is what runFile needs of a test.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// runFile runs one file and reports each block whose output differs, or writes
// the output into the file. The error is about the file itself.
func runFile(t reporter, file string, rewrite bool, run Run) error {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read script: %w", err)
	}
	parts, err := parse(file, string(data))
	if err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		if len(p.commands) == 0 {
			continue
		}
		got := runPart(t, file, p, run)
		switch {
		case rewrite:
		case !p.hasOutput:
			t.Errorf("%s:%d: the block has no output; REWRITE=1 writes it\n%s", file, p.line, strings.Join(p.input, "\n"))
		case got != p.output:
			t.Errorf("%s:%d: output differs (-want +got); REWRITE=1 accepts it\n%s\n%s\n%s",
				file, p.line, strings.Join(p.input, "\n"), dashes, diff(p.output, got))
		}
		if rewrite && hasFence(got) {
			return fmt.Errorf("%s:%d: the output holds two lines of dashes and a blank line, which no file can hold", file, p.line)
		}
		p.output, p.hasOutput = got, true
	}
	if text := format(parts); rewrite && text != string(data) {
		t.Logf("rewrote %s", file)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("rewrite script: %w", err)
		}
	}
	return nil
}

// runPart executes the commands of one block. A panic or a t.Fatal in one of
// them passes through, after a line that says which command it was.
func runPart(t reporter, file string, p *part, run Run) string {
	t.Helper()
	var out strings.Builder
	for _, c := range p.commands {
		returned := false
		text := func() string {
			defer func() {
				if !returned {
					t.Logf("%s:%d: ended in command %q", file, c.line, c.text)
				}
			}()
			text := run(c.args[0], c.args[1:])
			returned = true
			return text
		}()
		out.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
