package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agentos/cmd/agentos/transcript"
	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/sqlitefile"
	"agentos/persistence/vfs"
	"agentos/protocol"
)

// checkup is what doctor finds.
type checkup struct {
	VM        string               `json:"vm"`
	Path      string               `json:"path"`
	Through   *vmHolder            `json:"through,omitempty"` // whoever holds the VM and has looked at it
	Owners    []ownerVersion       `json:"owners"`
	Sessions  int64                `json:"sessions"`
	Events    int64                `json:"events"`
	Bytes     int64                `json:"bytes"` // of payloads
	OpenTurns []protocol.SessionID `json:"openTurns"`
	Findings  []finding            `json:"findings"`
	Clean     bool                 `json:"clean"`
}

type ownerVersion struct {
	Name      string `json:"name"`
	Version   int    `json:"version"`
	Supported int    `json:"supported"`
}

type finding struct {
	Session *protocol.SessionID `json:"session"` // null: not of one session
	What    string              `json:"what"`
	Detail  string              `json:"detail"`
	Repair  string              `json:"repair"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a VM's database",
		Long: `Check a VM's database: what SQLite says of the file, the schema versions of its owners,
whether the counters of every session are those of its events, whether sequences have
gaps, turns that a lost runtime left open, and rows without a session.

It reads and changes nothing, so it can be run on a copy or a backup. A VM that is in use is
looked at through the process that holds it. Exit code 0: clean;
1: there is something, and the report says what helps.`,
		Example: "  agentos doctor\n  agentos doctor --vm backup/vm.db\n  agentos doctor --json | jq .findings",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd, asJSON) },
	}
	jsonFlag(cmd, &asJSON, "the report as one object")
	return cmd
}

func (a *app) doctor(cmd *cobra.Command, asJSON bool) error {
	p, err := a.place(cmd)
	if err != nil {
		return err
	}
	signals := listen()
	defer signals.stop()
	ctx, cancel := signals.context(context.Background())
	defer cancel()
	c, err := examine(ctx, p)
	if protocol.CodeOf(err) == protocol.CodeVMInUse {
		c, err = examineHeld(ctx, p, err)
	}
	if ctx.Err() != nil {
		return interrupted{}
	}
	if err != nil {
		return err
	}
	if asJSON {
		if err := json.NewEncoder(a.out).Encode(c); err != nil {
			return err
		}
	} else {
		a.report(c)
	}
	if !c.Clean {
		return exitStatus(protocol.ExitFailed)
	}
	return nil
}

// examine looks at the database itself, not through a runtime: opening the VM
// would settle what is to be found.
func examine(ctx context.Context, p place) (c *checkup, err error) {
	source, err := sqlitefile.Acquire(p.path, sqlitefile.Options{ReadOnly: true, Command: "agentos doctor"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Release()) }()
	var plan schema.Plan
	db, err := source.Open(func(q persistence.Querier) (err error) {
		plan, err = schema.Inspect(q, []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner})
		return err
	})
	if err != nil {
		return nil, persistence.Err(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c = &checkup{VM: p.name, Path: p.path, OpenTurns: []protocol.SessionID{}, Findings: []finding{}}
	for _, o := range plan.Owners {
		c.Owners = append(c.Owners, ownerVersion{o.Owner.Name, o.Found, len(o.Owner.Steps)})
	}
	if err := c.integrity(ctx, db); err != nil {
		return nil, persistence.Err(err)
	}
	if plan.Steps() > 0 {
		c.found(nil, "the schema is older than this program's", fmt.Sprintf("%d steps are missing", plan.Steps()),
			"the next command that uses the VM takes them; the rest was not checked")
		return c, nil
	}
	if err := c.content(ctx, db); err != nil {
		return nil, persistence.Err(err)
	}
	c.Clean = len(c.Findings) == 0
	return c, nil
}

func (c *checkup) found(id *protocol.SessionID, what, detail, repair string) {
	c.Findings = append(c.Findings, finding{id, what, detail, repair})
}

// integrity asks SQLite about its own structures.
func (c *checkup) integrity(ctx context.Context, q persistence.Querier) error {
	rows, err := q.Query(ctx, persistence.Query{SQL: "PRAGMA integrity_check(100)"})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if text, _ := row[0].(string); text != "ok" {
			c.found(nil, "the file is damaged", text, "restore a backup; what can still be read, agentos history --limit 1000000 --json saves")
		}
	}
	return nil
}

// content checks what is stored, and counts it.
func (c *checkup) content(ctx context.Context, q persistence.Querier) error {
	open, err := core.AcceptedSessions(ctx, q)
	if err != nil {
		return err
	}
	for _, id := range open {
		c.OpenTurns = append(c.OpenTurns, id)
		c.found(&id, "a turn was left open", "the runtime that ran it has ended",
			"the next command that uses the VM settles it as prompt_delivery_uncertain; nothing is sent again")
	}
	findings, err := core.Check(ctx, q)
	if err != nil {
		return err
	}
	c.report(findings)
	return c.count(func(cursor string) ([]protocol.SessionInfo, string, error) {
		return core.Sessions(ctx, q, core.ListRequest{Cursor: cursor, Limit: sessionPage})
	})
}

// report adds what contradicts what.
func (c *checkup) report(findings []core.Finding) {
	for _, f := range findings {
		var id *protocol.SessionID
		if f.Session != "" {
			id = &f.Session
		}
		c.found(id, f.What, f.Detail, "restore a backup, or go on in a new session; this is a bug worth reporting")
	}
}

// count adds up all sessions, which page lists.
func (c *checkup) count(page func(cursor string) ([]protocol.SessionInfo, string, error)) error {
	for cursor := ""; ; {
		list, next, err := page(cursor)
		if err != nil {
			return err
		}
		for _, s := range list {
			c.Sessions++
			c.Events += s.RetainedEvents
			c.Bytes += s.RetainedBytes
		}
		if cursor = next; next == "" {
			return nil
		}
	}
}

// report is the checkup for a person.
func (a *app) report(c *checkup) {
	fmt.Fprintf(a.out, "%s\n", transcript.Line(c.Path, 1000))
	if c.Through != nil {
		fmt.Fprintln(a.out, transcript.Wrap("  in use: looked at through "+c.Through.String()+"; the file itself is checked when nobody holds it", a.style.Width(), 0, "  "))
	}
	for _, o := range c.Owners {
		fmt.Fprintf(a.out, "  %s tables: version %d of %d\n", o.Name, o.Version, o.Supported)
	}
	fmt.Fprintf(a.out, "  %s, %s, %s of payloads\n", plural(c.Sessions, "session"), plural(c.Events, "event"), plural(c.Bytes, "byte"))
	for _, f := range c.Findings {
		where := ""
		if f.Session != nil {
			where = "session " + transcript.Line(string(*f.Session), 80) + ": "
		}
		what := a.style.Bad("!") + " " + where + f.What + ": " + transcript.Line(f.Detail, 500)
		fmt.Fprintln(a.out, transcript.Wrap(what, a.style.Width(), 0, "  "))
		fmt.Fprintln(a.out, "    "+transcript.Wrap(f.Repair, a.style.Width(), 4, "    "))
	}
	if c.Clean {
		fmt.Fprintln(a.out, a.style.Good("clean"))
		return
	}
	fmt.Fprintln(a.out, a.style.Bad(plural(len(c.Findings), "finding")))
}

func plural[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
