//go:build linux

package adapters

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"agentos/protocol"
)

func init() {
	// An answer that is too long, with its id where it cannot be seen.
	fakes["long"] = func([]string) int {
		serve(func(r request) {
			fmt.Fprintf(os.Stdout, "{\"jsonrpc\":\"2.0\",\"result\":\"%s\",\"id\":%s,\"_meta\":{}}\n", strings.Repeat("x", 1<<20), r.ID)
		})
		return 0
	}
	// A banner long before the question, which then is not answered at all.
	fakes["banner"] = func([]string) int {
		fmt.Println("Welcome back")
		serve(func(r request) {
			if r.Method == "initialize" {
				answer(r)
			}
		})
		return 0
	}
}

// TestFR06_WhatMayHaveBeenTheAnswer: a timeout counts all lines that may have been
// the answer, and none that cannot have been.
func TestFR06_WhatMayHaveBeenTheAnswer(t *testing.T) {
	a := startSpec(t, fakeSpec(t, "long"), Options{MaxLineBytes: 1 << 10})
	_, err := a.Request(t.Context(), "session/load", []byte("{}"), Patience{Silence: 200 * time.Millisecond, Max: 20 * time.Second})
	if e := wantError(t, err, protocol.CodeACPTimeout); e.Details["unreadableLines"] != int64(1) {
		t.Errorf("details = %v; want the line that was too long", e.Details)
	}
	b := start(t, "banner")
	if _, err := b.ask("initialize"); err != nil {
		t.Fatal(err)
	}
	_, err = b.Request(t.Context(), "session/load", []byte("{}"), Patience{Silence: 200 * time.Millisecond, Max: 20 * time.Second})
	if e := wantError(t, err, protocol.CodeACPTimeout); e.Details["unreadableLines"] != nil {
		t.Errorf("details = %v; want none: the banner came before the question", e.Details)
	}
}
