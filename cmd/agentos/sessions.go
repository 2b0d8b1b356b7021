package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/public"
)

// sessionPage is how many sessions are read at a time.
const sessionPage = 500

func (a *app) sessionsCommand() *cobra.Command {
	var limit int64
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List, show, unload and delete sessions",
		Long:    "List the sessions of the VM, the one with the newest activity first. It starts no agent.",
		Example: "  agentos sessions\n  agentos sessions --vm work --limit 1000 --json | jq -r .sessionId",
		Args:    noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("--limit is at least 1, not %d", limit)
			}
			return a.reading(cmd, func(ctx context.Context, vm machine) error {
				return a.listSessions(ctx, vm, limit, asJSON)
			})
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Int64Var(&limit, "limit", protocol.DefaultSessionPage, "`N` sessions at most")
	jsonFlag(cmd, &asJSON, "one session a line")
	cmd.AddCommand(a.sessionShowCommand(), a.sessionUnloadCommand(), a.sessionDeleteCommand())
	return cmd
}

// reading runs something that only reads the VM, and makes none.
func (a *app) reading(cmd *cobra.Command, do func(context.Context, machine) error) error {
	p, err := a.place(cmd)
	if err != nil {
		return err
	}
	signals := listen()
	defer signals.stop()
	ctx, cancel := signals.context(context.Background())
	defer cancel()
	r, err := a.openVM(ctx, cmd.Name(), p, false)
	if err == nil {
		err = errors.Join(do(ctx, r), r.finish(signals.next()))
	}
	if ctx.Err() != nil {
		return interrupted{}
	}
	return err
}

func (a *app) listSessions(ctx context.Context, vm machine, limit int64, asJSON bool) error {
	t := table{
		head: []string{"SESSION", "AGENT", "STATE", "EVENTS", "UPDATED", "TITLE"},
		give: []give{{24, 0}, {8, 3}, {14, 0}, {0, 4}, {17, 2}, {8, 1}},
	}
	more := false
	for cursor := ""; limit > 0 && !a.out.gone(); {
		list, next, err := vm.Sessions(ctx, cursor, int(min(limit, sessionPage)))
		if err != nil {
			return err
		}
		for _, s := range list {
			if asJSON {
				a.out.Write(append(public.AppendSession(nil, s), '\n'))
				continue
			}
			t.add(a.sessionRow(s)...)
		}
		limit -= int64(len(list))
		if more = next != ""; !more {
			break
		}
		cursor = next
	}
	if asJSON {
		return nil
	}
	if len(t.rows) == 0 {
		a.say("this VM has no sessions yet; agentos prompt TEXT opens one")
		return nil
	}
	t.print(a.out, a.style)
	if more {
		a.say("there are more; --limit shows them")
	}
	return nil
}

func (a *app) sessionRow(s protocol.SessionInfo) []cell {
	state := cell{text: string(s.State)}
	switch s.State {
	case protocol.StateRunning, protocol.StateWaiting:
		state.paint = a.style.Pending
	case protocol.StateFailed:
		state.text += ": " + transcript.Line(string(public.ParseErrorObject(s.Error).Code), 80)
		state.paint = a.style.Bad
	}
	title := ""
	if s.Title != nil {
		title = transcript.Line(*s.Title, 120)
	}
	return []cell{
		{text: transcript.Line(string(s.ID), 80)}, {text: transcript.Line(s.Agent, 40)}, state,
		{text: strconv.FormatInt(s.RetainedEvents, 10)}, {text: s.UpdatedAt.String()}, {text: title},
	}
}
