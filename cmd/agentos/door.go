package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"agentos/actors"
	"agentos/actors/gateway/door"
	gateway "agentos/actors/gateway/http"
	"agentos/actors/gateway/http/wire"
	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// frontDoor is where other commands reach the VM that this process holds. Its
// socket is there for exactly as long as the lock, whose file names it: whoever
// sees the name can connect, if the process lives.
type frontDoor struct {
	server  *gateway.Server
	command string
	log     *zap.Logger

	opened  chan struct{} // closed when vm and err are known
	vm      *actors.VM
	err     error
	serving sync.WaitGroup
}

func newFrontDoor(command string, log *zap.Logger) *frontDoor {
	d := &frontDoor{command: "agentos " + command, log: log, opened: make(chan struct{})}
	d.server = gateway.New(gateway.Options{
		Find:  d.find,
		Hello: wire.Hello{PID: os.Getpid(), Version: versionText(), Command: d.command},
		IDs:   uuid.NewString,
		Log:   log,
	})
	return d
}

// open lets those in who have come while the VM was being opened.
func (d *frontDoor) open(vm *actors.VM, err error) {
	d.vm, d.err = vm, err
	close(d.opened)
}

// find returns the one VM behind this door.
func (d *frontDoor) find(ctx context.Context, _ string) (*actors.VM, error) {
	select {
	case <-d.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d.err != nil { // whoever asked tries to open it himself, and is told why it fails
		return nil, protocol.Errorf(protocol.CodeShuttingDown, "the process that holds the VM could not open it")
	}
	return d.vm, nil
}

// sources chooses the handle, and has the lock file name the door.
func (d *frontDoor) sources(create bool) func(protocol.Descriptor) (persistence.Source, error) {
	return func(desc protocol.Descriptor) (persistence.Source, error) {
		o := options(d.command, create, d.log)
		l := listenFor(desc.SQLiteFile)
		if l != nil {
			o.Socket = l.Path()
		} else {
			d.log.Info("no private place for a socket was found: no other command can use this VM meanwhile")
		}
		source, err := sqlitefile.Acquire(desc.SQLiteFile, o)
		if l == nil {
			return source, err
		}
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		d.serving.Add(1)
		go func() { // ends when the source is released; close waits for it
			defer d.serving.Done()
			if err := d.server.Serve(l); err != nil {
				d.log.Error("the door has failed", zap.Error(err))
			}
		}()
		return doorSource{source, l}, nil
	}
}

// sources is the handle of a command that no other one can join.
func sources(command string, create bool, log *zap.Logger) func(protocol.Descriptor) (persistence.Source, error) {
	return func(d protocol.Descriptor) (persistence.Source, error) {
		return sqlitefile.Acquire(d.SQLiteFile, options("agentos "+command, create, log))
	}
}

// options are those of a handle. The lock file shows the name of the command, never
// its arguments: they may hold secrets.
func options(command string, create bool, log *zap.Logger) sqlitefile.Options {
	return sqlitefile.Options{Create: create, Command: command, Notice: func(text string) { log.Warn(text) }}
}

// doorSource is a locked database with a door. The door goes first: behind the lock
// somebody else's may be next.
type doorSource struct {
	persistence.Source
	door *door.Listener
}

// Release implements persistence.Source.
func (s doorSource) Release() error { return errors.Join(s.door.Close(), s.Source.Release()) }

// lastWords is how long a closing door waits for those who still listen.
const lastWords = 2 * time.Second

// close ends the conversations. The VM is closed, so that each has had its answer.
func (d *frontDoor) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	err := d.server.Close(ctx)
	d.serving.Wait()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // somebody does not read; the connection was cut
	}
	return err
}

// listenFor opens a door to the database at path; nil if there is no good place for
// one. That is no failure: the VM is then this process's alone.
//
// The best place is the person's runtime directory, then beside the database, then
// a directory of theirs among the temporary ones.
func listenFor(path string) *door.Listener {
	own := "agentos-" + strconv.Itoa(os.Geteuid())
	for _, place := range []struct{ above, name string }{
		{os.Getenv("XDG_RUNTIME_DIR"), "agentos"},
		{filepath.Dir(path), ""},
		{os.TempDir(), own}, {"/tmp", own},
	} {
		dir := filepath.Join(place.above, place.name)
		if !filepath.IsAbs(place.above) || !door.Fits(dir) {
			continue
		}
		if place.name != "" {
			_ = os.Mkdir(dir, 0o700) // whether it is good is seen when it is used
		}
		if l, err := door.Listen(dir, path); err == nil {
			return l
		}
	}
	return nil
}
