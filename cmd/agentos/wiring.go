package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// owner is a VM that this process holds.
type owner struct {
	vm      *actors.VM
	node    *actors.Node
	door    *frontDoor
	skipped skipped
	holds   *holds
}

// own opens the VM at p in this process, with a door for others. ctx bounds the
// opening.
func (a *app) own(ctx context.Context, command string, p place, create bool) (*owner, error) {
	r := &owner{skipped: skipped{counts: map[jsonrpc.DiagnosticKind]int64{}}, holds: newHolds()}
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	guard, err := guardCommand(a.umask)
	if err != nil {
		return nil, err
	}
	r.door = newFrontDoor(command, log)
	r.node, err = actors.Start(actors.Config{
		Sources:    r.door.sources(create),
		Adapters:   actors.Processes(guard, adapterEnv(p), protocol.DefaultLimits().ReadLineBytes),
		Log:        log,
		Host:       r.holds,
		Diagnostic: r.skipped.add,
		Workspace:  func(string) string { return p.workspace() },
		Notice:     func(_ protocol.SessionID, text string) { a.note(text) },
		ClientName: "agentos", ClientVersion: versionText(),
	})
	if err != nil {
		return nil, err
	}
	r.vm, err = r.node.Open(ctx, p.name, p.descriptor())
	r.door.open(r.vm, err)
	if err != nil {
		return nil, errors.Join(err, r.close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// closeLimit is more than all bounds of a shutdown together.
const closeLimit = 3 * time.Minute

// close ends what runs and closes the VM, then the door: whoever waits there is
// told how it ended.
func (r *owner) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	r.door.server.Refuse()
	return errors.Join(r.node.Close(ctx), r.door.close(ctx))
}

// guardCommand is this program as the guard of an adapter. It is told the umask
// that the person works with: what an agent writes into their project is theirs.
func guardCommand(umask int) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{self, "adapter", "guard", fmt.Sprintf("%s%04o", umaskFlag, umask)}, nil
}

const scriptedDirName = "AGENTOS_SCRIPTED_DIR"

// adapterEnv is what adapters may inherit from.
func adapterEnv(p place) []string {
	env := os.Environ()
	if os.Getenv(scriptedDirName) == "" {
		env = append(env, scriptedDirName+"="+p.scriptedDir())
	}
	return env
}

// skipped counts lines of agents that were skipped or mended.
type skipped struct {
	mu     sync.Mutex
	counts map[jsonrpc.DiagnosticKind]int64
}

func (s *skipped) add(_ protocol.SessionID, d jsonrpc.Diagnostic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[d.Kind] = max(s.counts[d.Kind], d.Count)
}

// String is a note about them, "" if there were none.
func (s *skipped) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.counts[kind], skippedWords[kind]))
	}
	if parts == nil {
		return ""
	}
	return "lines of the agent that were not understood as they are: " + strings.Join(parts, ", ")
}

var skippedWords = map[jsonrpc.DiagnosticKind]string{
	jsonrpc.Junk:         "not JSON",
	jsonrpc.NotMessage:   "no JSON-RPC message",
	jsonrpc.Batch:        "a batch",
	jsonrpc.TooLong:      "too long",
	jsonrpc.TooDeep:      "nested too deeply",
	jsonrpc.BadRequest:   "a bad request",
	jsonrpc.OrphanAnswer: "an answer that nobody waited for",
	jsonrpc.BadAnswer:    "a bad answer",
	jsonrpc.Repaired:     "with broken UTF-8 (mended)",
	jsonrpc.Unsent:       "refused without telling the agent",
	jsonrpc.Strange:      "updates of no session or of no kind",
}
