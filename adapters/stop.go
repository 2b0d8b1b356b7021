package adapters

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"agentos/adapters/catalog"
	"agentos/adapters/guard"
	"agentos/protocol"
)

// Grace bounds the steps of Stop. A step without time is not waited for, so the
// zero Grace kills at once.
type Grace struct {
	// Before runs first, for a session/close for instance. Its context ends after
	// BeforeLimit or with the adapter, and it MUST return then.
	Before      func(context.Context)
	BeforeLimit time.Duration
	Stdin       time.Duration // from closing stdin to SIGTERM
	Term        time.Duration // from SIGTERM, to the group, to SIGKILL of everything
	Kill        time.Duration // from SIGKILL to giving up; 0 means 5 s
}

// The defaults of a Grace.
const (
	defaultBefore = 2 * time.Second
	defaultStdin  = 2 * time.Second
	defaultTerm   = 2 * time.Second
	defaultKill   = 5 * time.Second
	// longestStdin bounds what the catalog may ask for.
	longestStdin = 10 * time.Second
	// guardKill is how long a killed guard may take, and the search for what it
	// left.
	guardKill = sessionLimit + time.Second
	// commandLimit bounds the sending of a command to the guard, which takes one
	// at once unless it is stopped.
	commandLimit = time.Second
)

// GraceFor returns the Grace that suits an agent, by the catalog's quirks: no
// wait for one that does not end when its stdin is closed, a longer one for one
// that takes its time.
func GraceFor(agent string) Grace {
	g := Grace{BeforeLimit: defaultBefore, Stdin: defaultStdin, Term: defaultTerm, Kill: defaultKill}
	entry, ok := catalog.Lookup(agent)
	switch {
	case !ok:
	case entry.Quirks.NeverEndsAtEOF:
		g.Stdin = 0
	case entry.Quirks.EndsAtEOFAfter > 0:
		g.Stdin = min(defaultStdin+entry.Quirks.EndsAtEOFAfter, longestStdin)
	}
	return g
}

// Stop ends the adapter in order: Before, the end of stdin, SIGTERM to its
// group, SIGKILL to every process of it (S9.3). It returns when nothing is left:
// nil, or CodeACPTeardownTimeout with how many processes would not end.
//
// It may be called any number of times, by any goroutine and in any state; of
// several at once each goes by its own Grace and the shortest wins. Called by
// OnMessage it takes drainPause longer, for it waits for OnMessage.
func (c *Client) Stop(g Grace) error {
	if g.Before != nil && g.BeforeLimit > 0 {
		c.before(g)
	}
	c.stopping.Store(true)
	if err := c.end(g); err != nil {
		return err
	}
	<-c.exited // bounded by drainLimit
	if c.left > 0 {
		return c.teardownTimeout(c.left)
	}
	return nil
}

func (c *Client) before(g Grace) {
	ctx, cancel := context.WithTimeout(context.Background(), g.BeforeLimit)
	defer cancel()
	ended := make(chan struct{})
	go func() { // ended by cancel; before waits for it
		defer close(ended)
		select {
		case <-c.dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	g.Before(ctx)
	cancel()
	<-ended
}

// end ends the processes and waits for dead, not for exited: the goroutines
// that exited waits for use it too.
func (c *Client) end(g Grace) error {
	if g.Kill <= 0 {
		g.Kill = defaultKill
	}
	c.peer.CloseWrite()
	if c.deadWithin(g.Stdin) {
		return nil
	}
	c.command(guard.CommandTerm)
	if c.deadWithin(g.Term) {
		return nil
	}
	c.command(guard.CommandKill)
	if c.deadWithin(g.Kill) {
		return nil
	}
	// The guard itself does not act: stopped by a signal, for instance.
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return c.teardownTimeout(1)
	}
	if c.deadWithin(guardKill) {
		return nil
	}
	return c.teardownTimeout(1)
}

func (c *Client) deadWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.dead:
		return true
	case <-timer.C:
	}
	select { // both may have been there
	case <-c.dead:
		return true
	default:
		return false
	}
}

// command asks the guard. It may have ended meanwhile, or hang: the next step
// is for that.
func (c *Client) command(command guard.Command) {
	if c.control.SetWriteDeadline(time.Now().Add(commandLimit)) == nil {
		_, _ = io.WriteString(c.control, string(command)+"\n")
	}
}

func (c *Client) teardownTimeout(left int) error {
	return protocol.Errorf(protocol.CodeACPTeardownTimeout,
		"processes of agent %s did not end although they were killed; they may be waiting for a device or a network file system", c.name).
		With("processes", left)
}
