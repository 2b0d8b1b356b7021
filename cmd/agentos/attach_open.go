package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"agentos/actors/gateway/door"
	"agentos/actors/gateway/http/client"
	"agentos/actors/gateway/http/wire"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// reach says what can be done about a process that holds the VM.
type reach int

const (
	reached  reach = iota // it answers
	ending                // it answers, and will let go of the VM by itself
	silent                // it should answer: it may be dying
	closed                // it has no door: it may be one that holds the VM for a moment
	stranger              // it is another user's, or does not speak as we do
)

// patience is how long a VM is waited for that is held so.
var patience = map[reach]time.Duration{ending: closeLimit, silent: 5 * time.Second, closed: time.Second, stranger: 0}

const (
	connectPause = 20 * time.Millisecond
	helloLimit   = 10 * time.Second
	noteAfter    = time.Second
)

// connect opens the VM, or attaches to the process that holds it, whichever can be
// had. The lock decides; it is gone with its process, however that ends.
func (r *access) connect(ctx context.Context) error {
	if r.far != nil {
		r.far.Close()
	}
	r.far = nil
	noted := false
	for began := time.Now(); ; {
		h, held := sqlitefile.HolderOf(r.place.path)
		how := silent // if nobody is seen and the VM is held all the same
		if held {
			if how = r.attach(ctx, h); how == reached {
				return nil
			}
		}
		late := time.Since(began) >= patience[how]
		if !held || late {
			var err error
			if r.own, err = r.app.own(ctx, r.command, r.place, r.create); err == nil {
				r.at = ownVM{r.own.vm}
				return nil
			}
			if held && protocol.CodeOf(err) == protocol.CodeStorageReadOnly {
				return anothers(r.place, h)
			}
			if late || protocol.CodeOf(err) != protocol.CodeVMInUse {
				return err
			}
		}
		if how == ending && !noted && time.Since(began) > noteAfter {
			noted = true
			r.app.note(fmt.Sprintf("waiting for process %d (%s), which is ending, to let go of the VM", h.PID, h.Command))
		}
		select {
		case <-time.After(connectPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// anothers is the error of a VM that we may see, and may not use.
func anothers(p place, h sqlitefile.Holder) error {
	return protocol.Errorf(protocol.CodeVMInUse, "%s is in use by process %d (%s), and is not ours to write", p.path, h.PID, h.Command).
		With("pid", h.PID).With("command", h.Command).With("socket", h.Socket)
}

// attach goes to the door of the process that holds the VM.
func (r *access) attach(ctx context.Context, h sqlitefile.Holder) reach {
	vm, how := knock(ctx, r.place, h)
	if how == reached {
		r.far, r.at = vm, farVM{vm}
	}
	return how
}

// knock finds out whether somebody answers behind a door. The VM is nil unless it
// is reached.
func knock(ctx context.Context, p place, h sqlitefile.Holder) (*client.VM, reach) {
	if h.Socket == "" {
		return nil, closed
	}
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	users := trusted(p)
	c, err := door.Dial(ctx, h.Socket, users...)
	switch {
	case err != nil && errors.Is(err, door.ErrStranger):
		return nil, stranger
	case err != nil:
		return nil, silent
	}
	_ = c.Close() // it was for the question who is there
	vm := client.New(p.name, func(ctx context.Context) (net.Conn, error) { return door.Dial(ctx, h.Socket, users...) })
	hello, err := vm.Hello(ctx)
	how := reached
	switch {
	case err != nil && !errors.Is(err, client.ErrGone), err == nil && hello.Protocol != wire.Protocol:
		how = stranger
	case err != nil:
		how = silent
	case hello.Stopping:
		how = ending
	}
	if how != reached {
		vm.Close()
		return nil, how
	}
	return vm, reached
}

// trusted are the users who may answer for a VM: ourselves, and to root whoever
// owns the database, too.
func trusted(p place) []int {
	users := []int{os.Geteuid()}
	if info, err := os.Lstat(p.path); err == nil && users[0] == 0 {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			users = append(users, int(st.Uid))
		}
	}
	return users
}
