package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"agentos/cmd/agentos/transcript/screen"
)

// step is what a person does: they wait until the screen shows something, and
// type.
type step struct{ await, typed string }

// sitting is what a person sees of some commands on one terminal.
type sitting struct {
	name, why string
	columns   int
	also      []int  // widths that the commands are run again at
	env       string // one variable more
	raw       bool   // the output itself, not what it looks like
	before    [][]string
	commands  [][]string
	steps     []step // of the last command
}

func prompt(args ...string) []string { return append([]string{"prompt"}, args...) }

const (
	wideTitle = `[[title 世界中のファイルを検索して、結果を表示する]]`
	askEdit   = `[[raw {"sessionUpdate":"tool_call","toolCallId":"e","title":"Edit"}]]` + "\n[[asks 2]]"
)

var sittings = []sitting{
	{name: "first", why: "The first prompt of all.", columns: 200, commands: [][]string{prompt("[[think]] [[tool grep]] [[chunks 3]]")}},
	{name: "colour", why: "The same as it is sent to the terminal.", columns: 200, raw: true,
		commands: [][]string{prompt("[[think]] [[tool grep]] [[chunks 3]]")}},
	{name: "no_color", why: "And to that of somebody who wants no colour.", columns: 200, raw: true, env: "NO_COLOR=1",
		commands: [][]string{prompt("[[think]] [[tool grep]] [[chunks 3]]")}},
	{name: "ask", why: "A question, two answers that are none, and one.", columns: 80, before: [][]string{prompt("hi")},
		commands: [][]string{prompt("[[ask]]")},
		steps:    []step{{"choose.*: $", "maybe\n"}, {"none of them(?s:.*): $", "\n"}, {"no default(?s:.*): $", "3\n"}}},
	{name: "ask_several", why: "Questions at once on a narrow terminal: one after the other, nothing in between.", columns: 40,
		before: [][]string{prompt("hi")}, commands: [][]string{prompt(askEdit)},
		steps: []step{{"thing 1(?s:.*): $", "Allow\n"}, {"thing 2(?s:.*): $", "4\n"}}},
	{name: "ask_interrupted", why: "Ctrl-C at a question takes it back.", columns: 80, before: [][]string{prompt("hi")},
		commands: [][]string{prompt("[[ask]]")}, steps: []step{{"choose.*: $", "\x03"}}},
	{name: "ask_nobody", why: "The end of input at a question.", columns: 80, before: [][]string{prompt("hi")},
		commands: [][]string{prompt("[[ask]]")}, steps: []step{{"choose.*: $", "\x04"}}},
	{name: "ask_typed_before", why: "What was typed while the agent talked, perhaps to a question it made up, is no answer.", columns: 80,
		before: [][]string{prompt("hi")}, commands: [][]string{prompt("[[slow 3 500]] [[ask]]")},
		steps: []step{{"word1", "1\n"}, {"choose.*: $", "3\n"}}},
	{name: "errors", why: "What happened, what was kept, what to do.", columns: 60, before: [][]string{prompt("hi")},
		commands: [][]string{
			prompt("--agent", "nobody", "hi"), prompt("--policy", "ask", "--session", "main", "[[chunks 2]] [[exit 3]]"),
			prompt("[[error -32000]]"), prompt("--cwd", "/nowhere", "hi"), {"promt", "hi"}, {"history", "--after", "1000"}, prompt("--env", "A=b", "hi"),
		}},
	{name: "no_vm", why: "There is nothing yet.", columns: 200, commands: [][]string{{"history"}, {"sessions"}, {"doctor"}}},
	{name: "sessions", why: "The list fits every width.", columns: 80, also: []int{60, 40, 20}, before: lists, commands: [][]string{{"sessions"}}},
	{name: "history_40", why: "A conversation on a narrow terminal.", columns: 40, before: lists,
		commands: [][]string{{"history", "--session", "two"}, {"history", "--session", "a-session-with-a-long-name", "--limit", "1"}}},
	{name: "doctor", why: "A VM that is as it should be.", columns: 200, before: lists, commands: [][]string{{"doctor"}}},
}

var lists = [][]string{
	prompt("hi"), prompt("--session", "two", "[[think]] [[tool grep]] [[calls 2]] a prompt that is longer than the terminal is wide "+wideTitle),
	prompt("--session", "a-session-with-a-long-name", "[[title A title that is too long for a narrow terminal]] [[exit 3]]"),
}

// TestGolden_Terminal compares what a person sees with the files of
// testdata/golden. REWRITE=1 writes them anew; they are reviewed as a diff.
func TestGolden_Terminal(t *testing.T) {
	for _, s := range sittings {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "GORACE=" + raceOptions, s.env}
			for _, args := range s.before {
				cmd := exec.Command("agentos", args...)
				cmd.Env, cmd.Dir = env, home
				if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() < 0 {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			var text strings.Builder
			if s.why != "" {
				fmt.Fprintf(&text, "# %s\n", s.why)
			}
			for _, columns := range append([]int{s.columns}, s.also...) {
				for n, args := range s.commands {
					steps := s.steps
					if n < len(s.commands)-1 {
						steps = nil
					}
					fmt.Fprintf(&text, "\n%d columns$ agentos %s\n", columns, shown(args))
					output, code := sit(t, columns, home, env, args, steps)
					text.WriteString(see(t, columns, s.raw, output))
					fmt.Fprintf(&text, "(exit %d)\n", code)
				}
			}
			compare(t, filepath.Join("testdata/golden", s.name+".txt"), steady(home, text.String()))
		})
	}
}

func shown(args []string) string {
	var words []string
	for _, arg := range args {
		if strings.ContainsAny(arg, " []\n") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// see is output as a person sees it, or with its escapes readable.
func see(t *testing.T, columns int, raw bool, output string) string {
	t.Helper()
	output = strings.ReplaceAll(output, "\r\n", "\n") // what a terminal's line discipline makes of a line end
	if raw {
		return screen.Readable(output)
	}
	view := screen.New(columns)
	if _, err := view.Write([]byte(output)); err != nil {
		t.Fatal(err)
	}
	return view.String()
}

// steady takes out what is another each time, without changing a column.
func steady(home, text string) string {
	text = strings.ReplaceAll(text, home, "$HOME")
	text = regexp.MustCompile(`  \(\d more\)`).ReplaceAllString(text, "") // as many as have arrived by then
	text = regexp.MustCompile(`version \d+ of \d+`).ReplaceAllString(text, "version N of N")
	digit := regexp.MustCompile(`\d`)
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]*`).ReplaceAllStringFunc(text, func(at string) string { return digit.ReplaceAllString(at, "0") })
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("REWRITE") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: REWRITE=1 accepts it (-want +got):\n%s", file, diff)
	}
}

// sit runs a command on a terminal of its own and does the steps. It returns all
// output and the exit code.
func sit(t *testing.T, columns int, dir string, env, args []string, steps []step) (output string, code int) {
	t.Helper()
	person, tty, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	control(person, func(fd int) {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)})
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("agentos", args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(cmd.Start(), tty.Close()); err != nil {
		t.Fatal(err)
	}
	var seen watched
	read := make(chan error, 1)
	go func() { // ends when the last of the command's files is closed
		_, err := io.Copy(&seen, person)
		read <- err
	}()
	for _, s := range steps {
		if err := seen.await(regexp.MustCompile(s.await)); err != nil {
			_ = cmd.Process.Kill()
			t.Fatal(err)
		}
		if _, err := io.WriteString(person, s.typed); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, unix.EIO) { // how a terminal ends on Linux
		t.Fatal(err)
	}
	return seen.text.String(), cmd.ProcessState.ExitCode()
}
