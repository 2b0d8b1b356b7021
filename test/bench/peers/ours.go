package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"agentos/actors"
	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
	"agentos/protocol/public"
)

// session is the one that every VM has here.
const session protocol.SessionID = "main"

// raceVar is handed on to the guard, which is this program: one built with the race
// detector sleeps for a second before it exits, unless this says otherwise.
const raceVar = "GORACE"

// ours is the runtime in this process, wired as the command line wires it: a VM on
// a SQLite file, the agent a process under a guard.
type ours struct {
	dir    string
	agent  []string
	node   *actors.Node
	vm     *actors.VM
	others int    // VMs that fresh has made
	text   []byte // the last page read
}

// startOurs starts a node with one VM. The agent starts with the first prompt.
func startOurs(ctx context.Context, h home) (*ours, error) {
	dir, env, err := h.own(nameOurs)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	env = append(env, raceVar+"="+os.Getenv(raceVar))
	o := &ours{dir: dir, agent: h.agent()}
	o.node, err = actors.Start(actors.Config{
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			return sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Create: true, Command: "bench-peers"})
		},
		Adapters:   actors.Processes([]string{self, "adapter", "guard"}, env, protocol.DefaultLimits().ReadLineBytes),
		ClientName: "bench-peers", ClientVersion: "0",
	})
	if err != nil {
		return nil, err
	}
	if o.vm, err = o.open(ctx, "vm"); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *ours) path(name string) string { return filepath.Join(o.dir, name+".db") }

func (o *ours) open(ctx context.Context, name string) (*actors.VM, error) {
	return o.node.Open(ctx, name, protocol.Descriptor{SQLiteFile: o.path(name)})
}

func (o *ours) prompt(ctx context.Context, text string) (time.Duration, error) {
	return o.turn(ctx, o.vm, text)
}

func (o *ours) turn(ctx context.Context, vm *actors.VM, text string) (time.Duration, error) {
	p := actors.Prompt{
		Session: session, Content: []byte(content(text)),
		Open: &actors.OpenSession{Session: session, Spec: protocol.Spec{
			Agent: "trivial", Launch: &protocol.Launch{Argv: o.agent, Env: []string{raceVar}}, Cwd: o.dir, Policy: protocol.PolicyAsk,
		}},
	}
	start := time.Now()
	answer, err := vm.Prompt(ctx, p)
	took := time.Since(start)
	if err == nil && answer.StopReason != "end_turn" {
		err = fmt.Errorf("the turn ended with %q", answer.StopReason)
	}
	return took, err
}

func (o *ours) fresh(ctx context.Context, text string) (birth, error) {
	o.others++
	start := time.Now()
	vm, err := o.open(ctx, fmt.Sprintf("other-%d", o.others))
	if err != nil {
		return birth{}, err
	}
	b := birth{created: time.Since(start)}
	_, err = o.turn(ctx, vm, text)
	b.first = time.Since(start)
	return b, errors.Join(err, vm.Close(context.WithoutCancel(ctx)))
}

// page reads a page and writes it as public JSON, as whoever asks for it gets it.
func (o *ours) page(ctx context.Context, after, limit int64) (int64, time.Duration, error) {
	from := protocol.Sequence(after)
	start := time.Now()
	p, err := o.vm.History(ctx, session, core.PageRequest{After: &from, Limit: int(limit)})
	if err != nil {
		return 0, 0, err
	}
	o.text = o.text[:0]
	for _, e := range p.Events {
		o.text = append(public.AppendEvent(o.text, session, e), '\n')
	}
	return int64(len(p.Events)), time.Since(start), nil
}

func (o *ours) tally(ctx context.Context) (sum tally, err error) {
	for after, more := protocol.Sequence(0), true; more; {
		p, err := o.vm.History(ctx, session, core.PageRequest{After: &after, Limit: 1000})
		if err != nil {
			return tally{}, err
		}
		for _, e := range p.Events {
			after = e.Sequence
			if err := sum.add(e.Payload); err != nil {
				return tally{}, err
			}
		}
		more = p.HasMoreAfter && len(p.Events) > 0
	}
	return sum, nil
}

// bytes counts pages by a second connection: what is in the write-ahead log is
// not in the file yet.
func (o *ours) bytes(ctx context.Context) (n int64, err error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: o.path("vm"), RawQuery: "mode=ro&_busy_timeout=5000"}).String())
	if err != nil {
		return 0, fmt.Errorf("look into the database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var pages, size int64
	err = db.QueryRowContext(ctx, `SELECT page_count, page_size FROM pragma_page_count, pragma_page_size`).Scan(&pages, &size)
	if err != nil {
		return 0, fmt.Errorf("count the pages of the database: %w", err)
	}
	return pages * size, nil
}

// closeLimit is more than all bounds of a shutdown together.
const closeLimit = 3 * time.Minute

func (o *ours) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	return o.node.Close(ctx)
}
