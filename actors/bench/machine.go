package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"agentos/actors"
	"agentos/actors/store"
	"agentos/persistence"
	"agentos/protocol"
)

// closeLimit is more than all bounds of a shutdown together.
const closeLimit = 3 * time.Minute

// startNode starts a node whose agents are processes under guards. It is closed
// with the trial.
func (t *trial) startNode(sources store.Sources) (*actors.Node, error) {
	env, err := t.agentEnv()
	if err != nil {
		return nil, err
	}
	node, err := actors.Start(actors.Config{
		Sources:    sources,
		Adapters:   actors.Processes(t.config.Guard, env, protocol.DefaultLimits().ReadLineBytes),
		ClientName: "bench", ClientVersion: "0",
	})
	if err != nil {
		return nil, err
	}
	t.atEnd(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), closeLimit)
		defer cancel()
		return node.Close(ctx)
	})
	return node, nil
}

// machine is the whole runtime on a file: a node and one VM.
type machine struct {
	trial *trial
	vm    *actors.VM
	path  string

	mu  sync.Mutex
	txs []persistence.Tx // since they were last taken
}

// startMachineOn starts a runtime on a database, which is made if it is not there.
// It ends with the trial.
func (t *trial) startMachineOn(path string) (*machine, error) {
	m := &machine{trial: t, path: path}
	node, err := t.startNode(func(d protocol.Descriptor) (persistence.Source, error) {
		src, err := t.config.Sources(d)
		return watched{src, m.seen}, err
	})
	if err != nil {
		return nil, err
	}
	m.vm, err = node.Open(t.ctx, "bench", protocol.Descriptor{SQLiteFile: m.path})
	return m, err
}

// seen keeps a transaction. It runs on the goroutine that writes, so it does no
// more than that.
func (m *machine) seen(tx persistence.Tx) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.txs = append(m.txs, tx)
}

// take returns the shapes of the transactions since the last call.
func (m *machine) take() ([]shape, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	shapes := make([]shape, len(m.txs))
	for i, tx := range m.txs {
		var err error
		if shapes[i], err = shapeOf(tx); err != nil {
			return nil, err
		}
	}
	m.txs = m.txs[:0]
	return shapes, nil
}

// prompt runs one turn, to its durable end.
func (m *machine) prompt(text string) error {
	answer, err := m.vm.Prompt(m.trial.ctx, actors.Prompt{
		Session: "main", Content: []byte(content(text)),
		Open: &actors.OpenSession{Session: "main", Spec: protocol.Spec{
			Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk, Env: m.trial.config.AgentEnv,
		}},
	})
	if err == nil && answer.StopReason != "end_turn" {
		err = fmt.Errorf("the turn ended with %q", answer.StopReason)
	}
	return err
}

// shape is what a transaction has to do with a turn.
type shape struct {
	accepts bool     // it stores the prompt
	events  []string // payloads that it stores
	result  string   // it stores the prompt's end
}

// shapeOf reads the rows of a transaction.
func shapeOf(tx persistence.Tx) (s shape, err error) {
	for _, wave := range tx.Waves {
		for _, stmt := range wave {
			switch {
			case strings.HasPrefix(stmt.SQL, "INSERT INTO agentos_core_prompts"):
				s.accepts = true
			case strings.HasPrefix(stmt.SQL, "INSERT INTO agentos_core_event_log") && len(stmt.Rows[0]) > 0: // not the migration's
				texts, err := column(stmt, "payload_json")
				if err != nil {
					return s, err
				}
				s.events = append(s.events, texts...)
			case strings.HasPrefix(stmt.SQL, "UPDATE agentos_core_prompts"):
				texts, err := column(stmt, "result_json")
				if err != nil {
					return s, err
				}
				s.result = texts[0]
			}
		}
	}
	return s, nil
}

// column returns the values of one column that a statement writes. It is found by
// its name, so that another order of columns is not taken for other work.
func column(stmt persistence.Stmt, name string) ([]string, error) {
	_, list, _ := strings.Cut(stmt.SQL, "(")
	if strings.HasPrefix(stmt.SQL, "UPDATE ") {
		_, list, _ = strings.Cut(stmt.SQL, " SET")
	}
	for i, field := range strings.Split(list, ",") {
		if field = strings.TrimSpace(field); field != name && !strings.HasPrefix(field, name+" =") {
			continue
		}
		var texts []string
		for _, row := range stmt.Rows {
			text, ok := row[i].(string)
			if !ok {
				return nil, fmt.Errorf("column %s of a row is %T; want text", name, row[i])
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	return nil, fmt.Errorf("no column %s in %s", name, stmt.SQL)
}
