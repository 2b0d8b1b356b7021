package scripted

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// The behaviour of the agent is written down as conversations in testdata, one
// statement a line:
//
//	args FLAGS        the command line; before everything else
//	> LINE            sent as it is
//	call ID METHOD P  sends a request
//	prompt ID TEXT    sends a prompt of one text block; \n is a newline
//	notify METHOD P   sends a notification
//	answer ID RESULT  answers a request of the agent
//	reject ID ERROR   answers it with an error
//	restart FLAGS     ends the agent and starts another on the same sessions
//	end CODE          ends the input; the agent must exit with CODE and say no more
//	< LINE            the agent's next line, exactly
//	< update UPDATE   the same, of a session/update
//
// $S is the session id of the newest session/new answer. An expected line comes
// directly or not at all: what is not listed is an error at the end or at the
// next expected line. "go test -run Conversations -rewrite" writes what was said
// into the files; review the difference.
var rewrite = flag.Bool("rewrite", false, "write what the agent said into the conversations")

func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := converse(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("the conversation went differently (-want +got):\n%s", diff)
			}
		})
	}
}

// converse plays a conversation and returns it with what the agent really said.
func converse(t *testing.T, text string) string {
	p := &player{t: t, dir: t.TempDir()}
	var got strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "<") {
			line = p.hear()
		} else {
			p.do(line)
		}
		got.WriteString(line + "\n")
	}
	return got.String()
}

// player plays one conversation.
type player struct {
	t       *testing.T
	dir     string
	client  *client
	session string
}

func (p *player) do(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.ReplaceAll(rest, "$S", p.session)
	if p.client == nil && verb != "args" && verb != "#" && verb != "" {
		p.client = start(p.t, p.dir)
	}
	id, what, _ := strings.Cut(rest, " ")
	switch verb {
	case "#", "":
	case "args":
		p.client = start(p.t, p.dir, strings.Fields(rest)...)
	case "restart":
		p.end("0")
		p.client = start(p.t, p.dir, strings.Fields(rest)...)
	case ">":
		p.client.send(rest)
	case "call":
		method, params, _ := strings.Cut(what, " ")
		p.client.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, method, params))
	case "prompt":
		p.client.prompt(p.session, id, strings.ReplaceAll(what, `\n`, "\n"))
	case "notify":
		p.client.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"%s","params":%s}`, id, what))
	case "answer":
		p.client.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, what))
	case "reject":
		p.client.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, what))
	case "end":
		p.end(rest)
	default:
		p.t.Fatalf("no such statement: %s", line)
	}
}

// end ends the input and checks that the agent ends as it should.
func (p *player) end(code string) {
	p.client.in.Close()
	if line, more := p.client.next(); more {
		p.t.Errorf("the agent said more than expected: %s", line)
		for range p.client.lines {
		}
	}
	if got := fmt.Sprint(p.client.exit()); got != code {
		p.t.Errorf("exit code %s; want %s", got, code)
	}
}

// hear returns the agent's next line as a statement.
func (p *player) hear() string {
	line, more := p.client.next()
	if !more {
		p.t.Fatal("the agent's output ended")
	}
	if strings.Contains(line, `"result":{"sessionId":`) || strings.Contains(line, "available_commands_update") {
		p.session = sessionIn(line)
	}
	if p.session != "" {
		line = strings.ReplaceAll(line, p.session, "$S")
	}
	line = listTime.ReplaceAllString(line, `"updatedAt":"..."`)
	const before, after = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$S","update":`, `}}`
	if update, ok := strings.CutPrefix(line, before); ok {
		return "< update " + strings.TrimSuffix(update, after)
	}
	return "< " + line
}

var (
	listTime  = regexp.MustCompile(`"updatedAt":"[0-9]{4}-[0-9-]{5}T[0-9:.]{12}Z"`)
	sessionID = regexp.MustCompile(`scripted-[0-9a-f]{32}`)
)

// sessionIn returns the session id in a line.
func sessionIn(line string) string { return sessionID.FindString(line) }

// promptLine is a prompt request with one text block.
func promptLine(session, id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":%s,"prompt":[%s]}}`, id, wire.Quote(session), surface.Text(text))
}
