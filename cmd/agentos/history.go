package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agentos/cmd/agentos/transcript"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/protocol/public"
)

type historyFlags struct {
	session       string
	after, before int64
	limit         int64
	json          bool
}

func (a *app) historyCommand() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what was said in a session",
		Long: `Show the stored events of a session, oldest first: without a cursor the newest of them.
It starts no agent. The number in front of an event is its sequence, which --after and
--before take.`,
		Example: `  agentos history
  agentos history --session work --limit 1000 | less
  agentos history --after 12 --json | jq -c 'select(.type == "tool_call")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.history(cmd, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	sessionFlag(cmd, &f.session, "to show")
	flags.Int64Var(&f.after, "after", 0, "only events after sequence `N`, the oldest of them first")
	flags.Int64Var(&f.before, "before", 0, "only events before sequence `N`, the newest of them")
	flags.Int64Var(&f.limit, "limit", protocol.DefaultHistoryPage, "`N` events at most")
	jsonFlag(cmd, &f.json, "one event a line, exactly as stored")
	return cmd
}

func (a *app) history(cmd *cobra.Command, f historyFlags) error {
	id := protocol.SessionID(f.session)
	given := cmd.Flags().Changed
	switch {
	case protocol.ValidSessionID(id) != nil:
		return protocol.ValidSessionID(id)
	case given("after") && given("before"):
		return usage("--after and --before exclude each other")
	case f.limit < 1:
		return usage("--limit is at least 1, not %d", f.limit)
	}
	var cursor core.PageRequest
	if n := protocol.Sequence(f.after); given("after") {
		cursor.After = &n
	}
	if n := protocol.Sequence(f.before); given("before") {
		cursor.Before = &n
	}
	return a.reading(cmd, func(ctx context.Context, vm machine) error {
		h := &history{app: a, vm: vm, id: id, flags: f}
		return h.print(ctx, cursor)
	})
}

// history prints one session's events.
type history struct {
	app   *app
	vm    machine
	id    protocol.SessionID
	flags historyFlags
}

// historyPage is how many events are read and shown at a time.
const historyPage = 1000

// print finds where to begin and goes forward from there, page by page: what is
// asked for may be larger than the memory.
func (h *history) print(ctx context.Context, cursor core.PageRequest) error {
	cursor.Limit = 1
	at, err := h.vm.History(ctx, h.id, cursor)
	if err != nil {
		return err
	}
	from, to := protocol.Sequence(0), at.Latest // exclusive, inclusive
	limit := protocol.Sequence(min(h.flags.limit, int64(protocol.MaxSequence)))
	switch {
	case cursor.After != nil:
		from = *cursor.After
		to = min(to, from+limit)
	case cursor.Before != nil:
		to = max(*cursor.Before-1, 0)
		fallthrough
	default:
		from = max(to-limit, at.OldestRetained-1)
	}
	for from < to && !h.app.out.gone() {
		size := min(to-from, historyPage)
		page, err := h.vm.History(ctx, h.id, core.PageRequest{After: &from, Limit: int(size)})
		if err != nil {
			return err
		}
		if len(page.Events) == 0 {
			break
		}
		h.page(page.Events)
		from = page.Events[len(page.Events)-1].Sequence
	}
	if h.flags.json {
		return nil
	}
	return h.state(ctx, at, to)
}

// page prints events, many in one write.
func (h *history) page(events []protocol.Event) {
	w := bufio.NewWriterSize(h.app.out, 64<<10)
	if h.flags.json {
		var line []byte
		for _, e := range events {
			line = append(public.AppendEvent(line[:0], h.id, e), '\n')
			w.Write(line)
		}
	} else {
		transcript.Page(w, h.app.style, events)
	}
	w.Flush() // the stream below keeps its own errors
}

// state says what cannot be seen in the events: why the session failed, and that
// there is nothing.
func (h *history) state(ctx context.Context, at core.Page, to protocol.Sequence) error {
	info, err := h.vm.Session(ctx, h.id)
	if err != nil {
		return err
	}
	if at.Latest == 0 {
		h.app.say("session " + transcript.Line(string(h.id), 80) + " has no events yet")
	}
	if to < at.Latest || len(info.Error) == 0 {
		return nil
	}
	pe := public.ParseErrorObject(info.Error)
	s := h.app.style
	text := fmt.Sprintf("%s  %s: %s", s.Bad("failed"), s.Bad(transcript.Line(string(pe.Code), 80)), transcript.Line(pe.Message, 2000))
	fmt.Fprintln(h.app.out, transcript.Wrap(text, s.Width(), 0, "    "))
	if text := detail(pe, "stderr"); text != "" {
		fmt.Fprintln(h.app.out, indented(text, s))
	}
	return nil
}
