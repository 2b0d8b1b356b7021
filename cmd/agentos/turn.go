package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/sessions"
)

// Bounds of a turn that somebody waits for.
const (
	silenceNotice = 30 * time.Second       // without anything from the agent (S13)
	cancelAgain   = 250 * time.Millisecond // a cancel that came before the turn hit nothing
	hurry         = time.Second            // after a second interrupt
	lateEvents    = 10 * time.Second       // behind the answer; they are there, or nearly
)

// turn is one run of `agentos prompt`.
type turn struct {
	app     *app
	flags   promptFlags
	place   place
	signals *signals
	first   bool // the VM was made by this run

	vm      *access
	prompt  protocol.PromptID
	out     *bufio.Writer // of stdout; flushed as soon as nothing more is there to print
	show    view
	asker   *asker // nil: nobody can be asked
	mine    ownTurn
	seen    protocol.Sequence // the newest event that has come
	from    protocol.Sequence // the newest event before those shown
	to      protocol.Sequence // the newest event shown
	blind   error             // why the turn could not be watched to its end
	stopped bool              // by the first signal
}

// view shows the turn.
type view interface {
	item(feed.Item)
	answer(*protocol.Answer)
	ended()
}

// run opens the VM, runs the turn, shows its end and closes the VM.
func (t *turn) run(p actors.Prompt) error {
	r, err := t.open()
	if err != nil {
		return err
	}
	t.vm, t.prompt = r, p.ID
	t.out = bufio.NewWriterSize(t.app.out, 64<<10) // whose Flush never fails
	t.show = t.newView()
	if t.flags.noWait {
		return t.close(r, t.enqueue(r, p))
	}
	if t.asker = newAsker(t); t.asker != nil {
		p.IfAsked = sessions.WaitForAnswer
	}
	answer, err := t.follow(p)
	t.asker.stop()
	t.show.ended()
	if err == nil {
		t.show.answer(answer)
	}
	t.out.Flush()
	if err == nil {
		t.summary(answer)
	}
	if t.blind != nil {
		t.note("the rest of the turn could not be shown (" + t.blind.Error() + "); agentos history has it")
	}
	t.linger(r, p.ID)
	err = t.close(r, err)
	if own := r.holder(); own != nil && own.skipped.String() != "" { // the counts are complete when the agent has ended
		t.note(own.skipped.String())
	}
	if t.stopped {
		return interrupted{err}
	}
	return err
}

// enqueue queues the prompt and says where it is. Its turn, like those before it,
// runs in this process.
func (t *turn) enqueue(r *access, p actors.Prompt) error {
	ctx, cancel := t.signals.context(context.Background())
	defer cancel()
	queued, answer, err := t.vm.Enqueue(ctx, p)
	if err != nil {
		return err
	}
	if queued == nil { // its key has had a turn
		t.show.answer(answer)
		t.out.Flush()
		t.summary(answer)
		return nil
	}
	if t.flags.json {
		t.out.Write(append(public.AppendQueued(nil, *queued), '\n'))
	} else {
		fmt.Fprintf(t.out, "%s\n", queued.ID)
		t.note(fmt.Sprintf("queued in session %s, position %d", p.Session, queued.Position))
	}
	t.out.Flush()
	t.linger(r, "")
	return nil
}

// linger waits for what else runs in this process. The person can end that; who has
// cancelled his turn wants the queue to stay, but nothing of other people's is lost
// with it.
func (t *turn) linger(r *access, own protocol.PromptID) {
	if held := r.holder(); t.stopped && held != nil && held.door.server.Prompts() == 0 {
		return
	}
	if !r.linger(own, t.signals.next()) {
		t.stopped = true
	}
}

// open opens the VM, unless the person interrupts that.
func (t *turn) open() (*access, error) {
	ctx, cancel := t.signals.context(context.Background())
	defer cancel()
	r, err := t.app.openVM(ctx, "prompt", t.place, true)
	if err != nil && ctx.Err() != nil {
		return nil, interrupted{protocol.Errorf(protocol.CodePromptInterrupted, "interrupted before the turn began; nothing was sent")}
	}
	return r, err
}

func (t *turn) newView() view {
	switch a := t.app; {
	case t.flags.json:
		return &jsonView{t.out}
	case t.flags.quiet:
		return &quietView{out: t.out, terminal: a.style.Terminal}
	default:
		return &liveView{live: transcript.NewLive(t.out, a.style), turn: t}
	}
}

// follow runs the turn and shows it while it runs.
func (t *turn) follow(p actors.Prompt) (*protocol.Answer, error) {
	watch, err := t.watch(p.Session)
	if err != nil {
		return nil, err
	}
	defer watch.Close()
	// Done by a second signal: the answer is not waited for any more.
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	ended := make(chan struct{})
	var answer *protocol.Answer
	var failure error
	go func() { // ends with the turn; follow waits for it
		defer close(ended)
		answer, failure = t.vm.Prompt(ctx, p)
	}()
	heeded := make(chan struct{})
	go func() { // ends with the turn; follow waits for it
		defer close(heeded)
		t.heed(p.Session, ended, giveUp)
	}()
	t.print(watch, ended)
	<-ended
	<-heeded
	t.catchUp(watch, p.Session)
	if errors.Is(failure, context.Canceled) {
		return nil, protocol.Errorf(protocol.CodePromptInterrupted, "stopped waiting for the end of the turn; agentos history shows what became of it")
	}
	return answer, failure
}

// bounded does something that must not hold up the end of the process.
func bounded(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), hurry)
	defer cancel()
	return do(ctx)
}

// close closes the VM behind the turn. Agents take seconds to end; who has seen
// the answer and interrupts does not wait for that. What is left ends with this
// process: the guard of every agent sees to it.
func (t *turn) close(r *access, turnError error) error {
	now := t.signals.first
	if t.stopped {
		now = t.signals.second
	}
	closed := make(chan error, 1)
	go func() { closed <- r.close(context.Background()) }() // ends with the VM, or with the process
	var err error
	select {
	case err = <-closed:
	case <-now:
		t.stopped = true
		select {
		case err = <-closed:
		case <-time.After(hurry):
		}
	}
	if err != nil {
		t.note("close the VM: " + err.Error())
	}
	return turnError
}

func (t *turn) note(text string) { t.app.note(text) }
