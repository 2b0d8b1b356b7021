package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/actors/gateway/http/client"
	"agentos/protocol"
	"agentos/protocol/acp"
)

// lostVM is a VM whose process dies under the first prompt.
type lostVM struct {
	machine
	asked int
}

func (v *lostVM) Prompt(context.Context, actors.Prompt) (*protocol.Answer, error) {
	v.asked++
	return nil, fmt.Errorf("%w: test", client.ErrGone)
}

func (v *lostVM) Enqueue(context.Context, actors.Prompt) (*protocol.Queued, *protocol.Answer, error) {
	v.asked++
	return nil, nil, fmt.Errorf("%w: test", client.ErrGone)
}

// lost is an access whose process has died; the VM is there to be opened.
func lost(t *testing.T) (*access, *lostVM) {
	dir, err := os.MkdirTemp("", "vm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	gone := &lostVM{}
	a := &app{console: newConsole(), umask: 0o022, logLevel: "off"}
	r := &access{
		app: a, command: "prompt", place: place{name: "x", path: filepath.Join(dir, "vm.db")}, create: true,
		busy: make(chan struct{}, 1), at: gone, far: client.New("x", nil),
	}
	t.Cleanup(func() {
		if err := r.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r, gone
}

// A prompt that the process which died had not accepted is sent again, with its id.
func TestAccess_S6_4_UnacceptedPromptIsSentAgain(t *testing.T) {
	t.Parallel()
	r, gone := lost(t)
	p := promptOf("main", "hello")
	p.ID = "mine"
	a, err := r.Prompt(t.Context(), p)
	if err != nil || a.Prompt != "mine" || a.Recalled || gone.asked != 1 {
		t.Fatalf("answer = %+v, %v, asked %d times", a, err, gone.asked)
	}
	// An accepted one is not: what became of it is the answer.
	r.at, r.far = gone, client.New("x", nil)
	own := r.own
	r2, _ := lost(t)
	r2.place = r.place
	if err := own.close(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.own = nil
	again, err := r2.Prompt(t.Context(), p)
	if err != nil || again.Prompt != "mine" || again.Recalled || again.StopReason != "end_turn" {
		t.Fatalf("answer = %+v, %v", again, err)
	}
	page, err := r2.History(t.Context(), "main", actors.PageRequest{})
	if err != nil || page.Latest != 2 {
		t.Errorf("history has %d events, %v: the prompt ran twice", page.Latest, err)
	}
	p.ID = "queued"
	r2.at, r2.far = &lostVM{}, client.New("x", nil)
	if err := r2.own.close(context.Background()); err != nil {
		t.Fatal(err)
	}
	q, _, err := r2.Enqueue(t.Context(), p)
	if err != nil || q == nil || q.ID != "queued" {
		t.Errorf("Enqueue = %+v, %v", q, err)
	}
	if err := r2.own.holds.wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAccess_EndsWithItsContext(t *testing.T) {
	r, _ := lost(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if _, err := r.Prompt(ctx, promptOf("main", "x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Prompt = %v", err)
	}
}

// The turns of others in the session are not shown as ours, and nothing of ours is
// left out.
func TestOwnTurn(t *testing.T) {
	user := func(n protocol.Sequence) feed.Item {
		return feed.Item{Event: &protocol.Event{Sequence: n, Kind: protocol.KindUpdate, Payload: acp.UserChunk(acp.TextBlock("x"), "m")}}
	}
	said := func(n protocol.Sequence) feed.Item {
		return feed.Item{Event: &protocol.Event{Sequence: n, Kind: protocol.KindUpdate, Payload: []byte(`{"sessionUpdate":"plan"}`)}}
	}
	is := func(s protocol.State, p protocol.PromptID) feed.Item {
		return feed.NewState("main", feed.State{State: s, Prompt: p})
	}
	running, failed, rest := protocol.StateRunning, protocol.StateFailed, protocol.StateIdle
	for _, c := range []struct {
		name  string
		runs  protocol.PromptID
		items []feed.Item
		want  string
	}{
		{"ours", "", []feed.Item{user(1), user(2), is(running, "me"), said(3), is(protocol.StateWaiting, "me"), said(4), is(rest, ""), said(5)}, "1 2 3 4 5"},
		{"another's before", "", []feed.Item{user(1), is(running, "she"), said(2), is(rest, ""), user(3), is(running, "me"), said(4)}, "3 4"},
		{"another's runs", "she", []feed.Item{said(1), is(failed, "she"), user(2), is(running, "it"), said(3), is(rest, ""), user(4), is(running, "me"), said(5)}, "4 5"},
		{"refused", "she", []feed.Item{said(1), is(protocol.StateWaiting, "she"), said(2)}, ""},
		{"a state lost", "", []feed.Item{user(1), said(2), said(3)}, "1 2 3"},
		{"outside of turns", "", []feed.Item{said(1), user(2), is(running, "me"), said(3)}, "1 2 3"},
	} {
		o := ownTurn{prompt: "me", runs: c.runs}
		var got bytes.Buffer
		for _, i := range c.items {
			for _, shown := range o.take(i) {
				if shown.Event != nil {
					fmt.Fprintf(&got, "%d ", shown.Event.Sequence)
				}
			}
		}
		if strings.TrimSpace(got.String()) != c.want {
			t.Errorf("%s: shown %s; want %s", c.name, &got, c.want)
		}
	}
}
