package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"agentos/actors"
	"agentos/persistence"
	"agentos/protocol"
)

// direct is the scripted agent spoken to by hand: a child, two pipes, lines.
type direct struct {
	trial   *trial
	in      io.WriteCloser
	out     *bufio.Reader
	session string
	id      int
}

// hurry keeps a test binary built with -race from taking a second to exit.
var hurry = map[string]string{"GORACE": "atexit_sleep_ms=0"}

// agentEnv is the environment of an agent that keeps its sessions in dir.
func agentEnv(dir string) []string {
	return append(os.Environ(), "AGENTOS_SCRIPTED_DIR="+dir, "GORACE="+hurry["GORACE"])
}

// startDirect starts an agent and opens a session. It ends with the trial.
func (t *trial) startDirect() *direct {
	t.Helper()
	self, err := os.Executable()
	t.must(err)
	cmd := exec.Command(self, "adapter", "scripted")
	cmd.Env, cmd.Stderr = agentEnv(t.TempDir()), os.Stderr
	in, err := cmd.StdinPipe()
	t.must(err)
	out, err := cmd.StdoutPipe()
	t.must(err)
	t.must(cmd.Start())
	d := &direct{trial: t, in: in, out: bufio.NewReaderSize(out, 64<<10)}
	t.Cleanup(func() {
		t.must(in.Close())
		t.must(cmd.Wait())
	})
	d.call("initialize", `{"protocolVersion":1}`)
	var opened struct{ Result struct{ SessionID string } }
	t.must(json.Unmarshal(d.call("session/new", `{"cwd":"/","mcpServers":[]}`), &opened))
	d.session = opened.Result.SessionID
	return d
}

// call sends a request and reads lines up to its answer, which it returns. It is
// valid until the next call.
func (d *direct) call(method, params string) []byte {
	d.id++
	id := strconv.Itoa(d.id)
	_, err := io.WriteString(d.in, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+"}\n")
	d.trial.must(err)
	answer := []byte(`{"jsonrpc":"2.0","id":` + id + `,`)
	for {
		line, err := d.out.ReadSlice('\n')
		d.trial.must(err)
		if bytes.HasPrefix(line, answer) {
			if !bytes.HasPrefix(line[len(answer):], []byte(`"result":`)) {
				d.trial.Fatalf("%s: %s", method, line)
			}
			return line
		}
	}
}

// prompt runs one turn.
func (d *direct) prompt(text string) {
	d.call("session/prompt", `{"sessionId":"`+d.session+`","prompt":`+content(text)+`}`)
}

func content(text string) string { return fmt.Sprintf(`[{"type":"text","text":%q}]`, text) }

// machine is the whole runtime on a file: a node, one VM, and agents that are
// processes under guards.
type machine struct {
	trial *trial
	node  *actors.Node
	vm    *actors.VM
	path  string

	mu  sync.Mutex
	txs []persistence.Tx // since they were last taken
}

// startMachine starts a runtime on a new database. It ends with the trial.
func (t *trial) startMachine() *machine {
	t.Helper()
	m := &machine{trial: t, path: filepath.Join(t.TempDir(), "vm.db")}
	m.node = t.startNode(func(d protocol.Descriptor) (persistence.Source, error) {
		src, err := file(d)
		return watched{src, m.seen}, err
	})
	var err error
	m.vm, err = m.node.Open(context.Background(), "bench", protocol.Descriptor{SQLiteFile: m.path})
	t.must(err)
	return m
}

func (t *trial) startNode(sources func(protocol.Descriptor) (persistence.Source, error)) *actors.Node {
	t.Helper()
	self, err := os.Executable()
	t.must(err)
	guard := []string{self, "adapter", "guard"}
	node, err := actors.Start(actors.Config{
		Sources:    sources,
		Adapters:   actors.Processes(guard, agentEnv(t.TempDir()), protocol.DefaultLimits().ReadLineBytes),
		ClientName: "bench", ClientVersion: "0",
	})
	t.must(err)
	t.Cleanup(func() { t.must(node.Close(context.Background())) })
	return node
}

// seen keeps a transaction. It runs on the goroutine that writes, so it does no
// more than that.
func (m *machine) seen(tx persistence.Tx) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.txs = append(m.txs, tx)
}

// take returns the shapes of the transactions since the last call.
func (m *machine) take() []shape {
	m.mu.Lock()
	defer m.mu.Unlock()
	shapes := make([]shape, len(m.txs))
	for i, tx := range m.txs {
		shapes[i] = shapeOf(tx)
	}
	m.txs = m.txs[:0]
	return shapes
}

// prompt runs one turn, to its durable end.
func (m *machine) prompt(text string) {
	answer, err := m.vm.Prompt(context.Background(), actors.Prompt{
		Session: "main", Content: []byte(content(text)),
		Open: &actors.OpenSession{Session: "main", Spec: protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk, Env: hurry}},
	})
	m.trial.must(err)
	if answer.StopReason != "end_turn" {
		m.trial.Fatalf("the turn ended with %q", answer.StopReason)
	}
}

// shape is what a transaction has to do with a turn.
type shape struct {
	accepts bool     // it stores the prompt
	events  []string // payloads that it stores
	result  string   // it stores the prompt's end
}

// shapeOf reads the rows of a transaction. Columns are found by their names, so
// that another order of them is not taken for other work.
func shapeOf(tx persistence.Tx) (s shape) {
	for _, wave := range tx.Waves {
		for _, stmt := range wave {
			switch {
			case strings.HasPrefix(stmt.SQL, "INSERT INTO agentos_core_prompts"):
				s.accepts = true
			case strings.HasPrefix(stmt.SQL, "INSERT INTO agentos_core_events"):
				at := insertColumn(stmt.SQL, "payload_json")
				for _, row := range stmt.Rows {
					s.events = append(s.events, row[at].(string))
				}
			case strings.HasPrefix(stmt.SQL, "UPDATE agentos_core_prompts"):
				s.result = stmt.Rows[0][1].(string)
			}
		}
	}
	return s
}

// insertColumn returns the place of a column in an INSERT with a ? for each.
func insertColumn(insert, column string) int {
	_, list, _ := strings.Cut(insert, "(")
	list, _, _ = strings.Cut(list, ")")
	for i, name := range strings.Split(list, ",") {
		if strings.TrimSpace(name) == column {
			return i
		}
	}
	panic("bench: no column " + column + " in " + insert)
}
