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
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/sessions"
)

// Bounds of a turn that somebody waits for.
const (
	silenceNotice = 30 * time.Second       // without anything from the agent (S13)
	cancelAgain   = 250 * time.Millisecond // a cancel that came before the turn hit nothing
	hurry         = time.Second            // after a second interrupt
)

// turn is one run of `agentos prompt`.
type turn struct {
	app     *app
	flags   promptFlags
	place   place
	signals *signals
	first   bool // the VM was made by this run

	vm      *actors.VM
	out     *bufio.Writer // of stdout; flushed as soon as nothing more is there to print
	show    view
	asker   *asker            // nil: nobody can be asked
	from    protocol.Sequence // the newest event before the turn
	to      protocol.Sequence // the newest event seen
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
	t.vm = r.vm
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
	if note := r.skipped.String(); note != "" { // the counts are complete when the agent has ended
		t.note(note)
	}
	if t.stopped {
		return interrupted{err}
	}
	return err
}

// enqueue queues the prompt and says where it is. Its turn, like those before it,
// runs in this process.
func (t *turn) enqueue(r *openedVM, p actors.Prompt) error {
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

// linger waits for turns of the queue that this process runs, beside its own, which
// has ended: nobody else would until the next prompt. The person can end that.
func (t *turn) linger(r *openedVM, own protocol.PromptID) {
	if t.stopped || !r.holds.others(own) {
		return
	}
	t.note("running what is queued; Ctrl-C stops that, and leaves the rest in the queue")
	ctx, cancel := t.signals.context(context.Background())
	defer cancel()
	if r.holds.wait(ctx) != nil {
		t.stopped = true
	}
}

// open opens the VM, unless the person interrupts that.
func (t *turn) open() (*openedVM, error) {
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
	t.drain(watch)
	if errors.Is(failure, context.Canceled) {
		return nil, protocol.Errorf(protocol.CodePromptInterrupted, "stopped waiting for the end of the turn; agentos history shows what became of it")
	}
	return answer, failure
}

// watch begins behind what is stored now.
func (t *turn) watch(id protocol.SessionID) (*feed.Subscription, error) {
	ctx := context.Background()
	page, err := t.vm.History(ctx, id, core.PageRequest{Limit: 1})
	if err != nil && protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		return nil, err
	}
	t.from, t.to = page.Latest, page.Latest
	return t.vm.Watch(ctx, id, page.Latest)
}

// print shows everything until the turn has ended.
func (t *turn) print(watch *feed.Subscription, ended <-chan struct{}) {
	ctx, cancel := until(context.Background(), ended)
	defer cancel()
	for ctx.Err() == nil {
		patient, enough := context.WithTimeout(ctx, silenceNotice)
		item, err := watch.Next(patient)
		silent := patient.Err() != nil
		enough()
		switch {
		case err == nil:
			t.item(item)
			t.drain(watch)
			t.out.Flush()
		case silent:
			if ctx.Err() == nil {
				t.silence()
			}
		default:
			if !errors.Is(err, feed.ErrClosed) {
				t.blind = err
			}
			return
		}
	}
}

// drain shows everything that is there without waiting. Behind the answer of the
// turn that is all there is of it.
func (t *turn) drain(watch *feed.Subscription) {
	for t.blind == nil {
		item, ok, err := watch.TryNext(context.Background())
		if !ok || err != nil {
			t.blind = err
			return
		}
		t.item(item)
	}
}

func (t *turn) item(i feed.Item) {
	t.show.item(i)
	if i.Event == nil {
		return
	}
	t.to = i.Event.Sequence
	if i.Event.Kind != protocol.KindUpdate {
		t.out.Flush() // before a question is put on the same terminal
	}
	switch i.Event.Kind {
	case protocol.KindPermissionRequest:
		t.asker.ask(*i.Event)
	case protocol.KindPermissionResponse:
		t.asker.over(i.Event.Request)
	}
}

// heed waits for signals. The first one cancels the turn, durably; its end is
// waited for. The second one ends it whatever the agent does.
func (t *turn) heed(id protocol.SessionID, ended <-chan struct{}, giveUp func()) {
	select {
	case <-ended:
		return
	case <-t.signals.first:
	}
	t.stopped = true
	if t.app.notes.Terminal {
		fmt.Fprintln(t.app.err) // behind the terminal's own ^C
	}
	t.note("cancelling the turn; a second interrupt stops waiting for the agent")
	for {
		// Again and again: a cancel that overtakes its turn hits nothing, and one
		// that was heard before does no harm.
		if err := bounded(func(ctx context.Context) error { return t.vm.Cancel(ctx, id, "") }); err != nil {
			t.note("cancel: " + err.Error())
		}
		select {
		case <-ended:
			return
		case <-time.After(cancelAgain):
		case <-t.signals.second:
			t.interrupt(id, ended)
			giveUp()
			return
		}
	}
}

// interrupt ends the turn now: the session settles it at once, and only the
// agent's process may take longer.
func (t *turn) interrupt(id protocol.SessionID, ended <-chan struct{}) {
	unloaded := make(chan error, 1)
	go func() { // ends in time; the process may end before it
		unloaded <- bounded(func(ctx context.Context) error { return t.vm.Unload(ctx, id) })
	}()
	select {
	case <-ended:
	case err := <-unloaded:
		if err != nil {
			t.note("unload: " + err.Error())
		}
	}
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
func (t *turn) close(r *openedVM, turnError error) error {
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

// silence tells a person that nothing is wrong on this side.
func (t *turn) silence() {
	if t.flags.json || t.flags.quiet || t.asker.waiting() {
		return
	}
	t.show.ended()
	t.out.Flush()
	t.note(fmt.Sprintf("nothing from the agent for %v; it may be thinking, Ctrl-C cancels the turn", silenceNotice))
}

func (t *turn) note(text string) { t.app.note(text) }
