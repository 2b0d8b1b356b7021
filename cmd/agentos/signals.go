package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals is what a person has sent: the first signal asks for an end, the
// second one for an end now.
type signals struct {
	first, second <-chan struct{} // closed
	stop          func()          // ends the listening and waits for it
}

// listen begins to hear SIGINT, SIGTERM and SIGHUP, but for those that whoever
// started this process has it ignore (nohup, a shell's background jobs).
func listen() *signals {
	var wanted []os.Signal
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	first, second := make(chan struct{}), make(chan struct{})
	heard, quit, gone := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	if len(wanted) > 0 { // none would mean all
		signal.Notify(heard, wanted...)
	}
	go func() { // ended and awaited by stop
		defer close(gone)
		for _, next := range []chan struct{}{first, second} {
			select {
			case <-heard:
				close(next)
			case <-quit:
				return
			}
		}
	}()
	return &signals{first: first, second: second, stop: func() {
		signal.Stop(heard)
		close(quit)
		<-gone
	}}
}

// context returns a context that the first signal ends.
func (s *signals) context(parent context.Context) (context.Context, context.CancelFunc) {
	return until(parent, s.first)
}

// until returns a context that ends when end is closed. Its CancelFunc waits for
// the goroutine behind it.
func until(parent context.Context, end <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	gone := make(chan struct{})
	go func() { // ends with ctx
		defer close(gone)
		select {
		case <-end:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-gone
	}
}
