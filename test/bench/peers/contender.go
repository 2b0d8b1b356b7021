package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// contender is one way to drive the agent. It is used by one goroutine. The times
// that it returns are taken around its own API.
type contender interface {
	// prompt runs one turn of the session that is open, to its answer.
	prompt(ctx context.Context, text string) (time.Duration, error)
	// tally says what the turns of the open session came to. Output that the
	// contender has not handed over yet may be missing.
	tally(ctx context.Context) (tally, error)
	// close ends everything that belongs to the contender. It is called once.
	close() error
}

// newcomer is a contender that can be started anew beside itself.
type newcomer interface {
	// fresh makes a new VM (or what comes nearest), runs a first turn in it and
	// throws it away, which does not count.
	fresh(ctx context.Context, text string) (birth, error)
}

// keeper is a contender that keeps history in a database on disk.
type keeper interface {
	contender
	// page reads up to limit events after the one numbered after. Sequences of the
	// open session begin with 1 and have no gap.
	page(ctx context.Context, after, limit int64) (events int64, took time.Duration, err error)
	// bytes is the size of the database, in whole pages.
	bytes(ctx context.Context) (int64, error)
}

// birth is how long a new VM took.
type birth struct {
	created time.Duration // until it can be used; 0 where there is no VM
	first   time.Duration // until it has answered its first prompt, created included
}

// tally is what a session's turns came to.
type tally struct {
	Text    int64 `json:"text"`    // bytes of text that the agent said
	Calls   int64 `json:"calls"`   // tool calls
	Events  int64 `json:"events"`  // events kept, the user's included if those are kept
	Payload int64 `json:"payload"` // bytes of their ACP payloads; 0 where they cannot be told
}

// The contenders that are part of this program.
const (
	nameDirect = "direct"
	nameOurs   = "ours"
)

// title is what people call a contender.
func title(name string) string {
	if name == nameDirect {
		return "direct stdio"
	}
	for _, p := range peers() {
		if p.name == name {
			return p.title + " " + p.version
		}
	}
	return name
}

//go:embed peers.txt
var peersTable string

// peer is one line of peers.txt.
type peer struct{ name, title, version string }

// folder is where the install script puts the peer.
func (p peer) folder() string { return filepath.Join(installDir(), p.name+"-"+p.version) }

// peers reads peers.txt, which is part of this program: what is wrong in it is a
// programming mistake.
func peers() []peer {
	var list []peer
	for line := range strings.Lines(peersTable) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, "@")
		if len(fields) != 3 || at < 0 {
			panic("peers.txt: want name, title, package@version in " + line)
		}
		list = append(list, peer{fields[0], fields[1], strings.TrimSpace(line[at+1:])})
	}
	return list
}

// names are those of all contenders.
func names() []string {
	list := []string{nameDirect, nameOurs}
	for _, p := range peers() {
		list = append(list, p.name)
	}
	return list
}

// installDir returns where the install script puts peers.
func installDir() string {
	if dir := os.Getenv("AGENTOS_PEERS_DIR"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil { // neither HOME nor XDG_CACHE_HOME: nothing is installed for this user
		return ""
	}
	return filepath.Join(cache, "agentos-peers")
}

// entry is a contender that runs.
type entry struct {
	name string
	contender
}

// startAll starts the contenders, direct always and first. skipped names those
// that are not installed, and why. The list is the caller's to close, also beside
// an error.
func startAll(ctx context.Context, h home, only []string) (list []entry, skipped []string, err error) {
	wanted := func(name string) bool { return only == nil || slices.Contains(only, name) }
	add := func(name string, start func() (contender, error)) {
		if err != nil {
			return
		}
		var c contender
		if c, err = start(); err != nil {
			err = fmt.Errorf("start %s: %w", title(name), err)
			return
		}
		list = append(list, entry{name, c})
	}
	add(nameDirect, func() (contender, error) { return startDirect(ctx, h) })
	if wanted(nameOurs) {
		add(nameOurs, func() (contender, error) { return startOurs(ctx, h) })
	}
	for _, p := range peers() {
		if !wanted(p.name) {
			continue
		}
		if _, missing := os.Stat(filepath.Join(p.folder(), "node_modules")); missing != nil {
			skipped = append(skipped, title(p.name)+" is not installed (test/bench/peers/install "+p.name+" installs it)")
			continue
		}
		add(p.name, func() (contender, error) { return startDriver(ctx, h, p) })
	}
	return list, skipped, err
}

func closeAll(list []entry) error {
	var errs []error
	for _, e := range list {
		if err := e.close(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", title(e.name), err))
		}
	}
	return errors.Join(errs...)
}
