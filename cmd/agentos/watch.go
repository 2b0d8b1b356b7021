package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentos/actors/feed"
	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/acp"
)

type watchFlags struct {
	session   string
	after     int64
	untilIdle bool
	json      bool
}

const watchHelp = `Show what happens in a session, as it happens, until you interrupt it: first the stored
events after --after (without it: only what is new), then live ones with every piece of
text as it comes. Any number of terminals may watch.

It starts no agent. If no process holds the VM this one does, and other commands run in
it; if the one that holds the VM ends, the watch goes on where it was. A prompt that
somebody sends while this process holds the VM runs in it, and an interrupt waits for its
end; a second one does not.

With --json each line is one event or piece as agentos prompt --json prints it, or
{"state","sessionId","promptId","sequence"} when the session begins or ends something.

Exit codes: 0 with --until-idle, 4 if there is no such VM, 130 when interrupted.`

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show what happens in a session, live",
		Long:  watchHelp,
		Example: `  agentos watch
  agentos watch --session work --after 0 --until-idle
  agentos watch --json | jq -c 'select(.type == "permission_request")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.watch(cmd, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	sessionFlag(cmd, &f.session, "to watch; it need not exist yet")
	flags.Int64Var(&f.after, "after", 0, "begin behind sequence `N`; 0 is everything that is stored (default: what is new)")
	flags.BoolVar(&f.untilIdle, "until-idle", false, "end as soon as everything is shown and the session runs nothing")
	jsonFlag(cmd, &f.json, "one event, piece or state a line")
	return cmd
}

func (a *app) watch(cmd *cobra.Command, f watchFlags) error {
	id := protocol.SessionID(f.session)
	if err := protocol.ValidSessionID(id); err != nil {
		return err
	}
	after := protocol.Sequence(f.after)
	if !cmd.Flags().Changed("after") {
		after = fromNow
	} else if after < 0 {
		return usage("--after is at least 0, not %d", f.after)
	}
	return a.reading(cmd, func(ctx context.Context, vm machine) error {
		w := &watcher{app: a, vm: vm, id: id, flags: f, last: after, out: bufio.NewWriterSize(a.out, 64<<10)}
		w.show = transcript.NewWatch(w.out, a.style)
		err := w.run(ctx)
		if !f.json {
			w.show.End()
		}
		w.out.Flush() // the stream below keeps its own errors
		return err
	})
}

// fromNow asks for what is new.
const fromNow protocol.Sequence = -1

// watcher shows one session.
type watcher struct {
	app   *app
	vm    machine
	id    protocol.SessionID
	flags watchFlags
	out   *bufio.Writer
	show  *transcript.Live
	last  protocol.Sequence // newest event shown, or where to begin
	state protocol.State    // "" until it is known
}

// rewatchPause is between two subscriptions, where the first has ended with its
// feed: the session is being deleted, or the VM restarted.
const rewatchPause = 100 * time.Millisecond

func (w *watcher) run(ctx context.Context) error {
	for ctx.Err() == nil && !w.app.out.gone() {
		if err := w.begin(ctx); err != nil {
			return err
		}
		done, err := w.follow(ctx)
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(rewatchPause):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// begin finds out where the session is.
func (w *watcher) begin(ctx context.Context) error {
	info, err := w.vm.Session(ctx, w.id)
	switch {
	case protocol.CodeOf(err) != protocol.CodeSessionNotFound:
	case w.flags.untilIdle:
		return err
	default:
		if w.last != 0 {
			w.app.note("there is no session " + transcript.Line(string(w.id), 80) + " yet; waiting for it")
		}
		w.last = 0
		return nil
	}
	if w.last == fromNow {
		w.last = info.LatestSequence
	}
	return err
}

// follow shows one subscription to its end, and reports whether the watch is done.
func (w *watcher) follow(ctx context.Context) (done bool, err error) {
	sub, err := w.vm.Watch(ctx, w.id, w.last)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	for {
		item, ok, err := sub.TryNext(ctx)
		if err == nil && !ok {
			w.out.Flush()
			if idle, err := w.idle(ctx); idle || err != nil {
				return idle, err
			}
			var late bool
			if item, late, err = w.next(ctx, sub); late {
				w.state = "" // it may have been settled while nobody published
				continue
			}
		}
		switch {
		case errors.Is(err, feed.ErrClosed):
			return false, nil
		case err != nil || w.app.out.gone():
			return true, err
		}
		w.item(item)
	}
}

// glance bounds the waits of --until-idle.
const glance = time.Second

// next waits for the next item; late says that --until-idle has to look again.
func (w *watcher) next(ctx context.Context, sub subscription) (item feed.Item, late bool, err error) {
	if !w.flags.untilIdle {
		item, err = sub.Next(ctx)
		return item, false, err
	}
	short, enough := context.WithTimeout(ctx, glance)
	defer enough()
	item, err = sub.Next(short)
	return item, err != nil && short.Err() != nil && ctx.Err() == nil, err
}

// idle reports whether --until-idle has what it waits for: everything shown, and
// nothing running.
func (w *watcher) idle(ctx context.Context) (bool, error) {
	if !w.flags.untilIdle || w.state == protocol.StateRunning || w.state == protocol.StateWaiting {
		return false, nil
	}
	info, err := w.vm.Session(ctx, w.id)
	if err != nil {
		return false, err
	}
	w.state = info.State
	return info.State != protocol.StateRunning && info.State != protocol.StateWaiting && info.LatestSequence <= w.last, nil
}

func (w *watcher) item(i feed.Item) {
	switch {
	case i.Event != nil:
		w.last = i.Event.Sequence
	case i.State != nil:
		w.state = i.State.State
	}
	switch {
	case w.flags.json:
		w.out.Write(i.Line())
		w.out.WriteByte('\n')
	case i.Event != nil:
		w.show.Event(*i.Event)
		w.ask(*i.Event)
	case i.Delta != nil:
		w.show.Delta(*i.Delta)
	}
}

// ask says how a question can be answered from here.
func (w *watcher) ask(e protocol.Event) {
	p, err := acp.ParsePermission(e.Payload)
	if e.Kind != protocol.KindPermissionRequest || err != nil {
		return
	}
	var options []string
	for _, o := range p.Options {
		options = append(options, transcript.Line(o.ID, 40))
	}
	w.out.Flush()
	w.app.note(fmt.Sprintf("agentos permit --session %s %s %s", transcript.Line(string(w.id), 80), e.Request, strings.Join(options, "|")))
}
