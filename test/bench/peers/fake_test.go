package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// What a fake driver says of its work.
const (
	fakeTurn       = 7 * time.Millisecond
	fakeEventBytes = 300
)

// startWithFake starts direct, ours, and this test binary as the driver of AgentOS,
// which behaves as its folder's name says. They end with the test.
func startWithFake(t *testing.T, behaviour string) []entry {
	t.Helper()
	h, err := makeHome()
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := startAll(t.Context(), h, []string{nameOurs})
	t.Cleanup(func() {
		_ = closeAll(list) // a dying one says that it has died
		if err := h.remove(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	fake := h
	if fake.node, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AGENTOS_PEERS_DIR", behaviour+"/")
	p := peers()[0]
	c, err := startDriver(t.Context(), fake, p)
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, entry{p.name, c})
	return list
}

var directive = regexp.MustCompile(`\[\[(chunks|calls) (\d+)\]\]`)

// fakeDriver speaks the protocol of driver/serve.mjs and counts instead of working.
func fakeDriver(folder string) int {
	behaviour := regexp.MustCompile(`^\w+`).FindString(folder)
	fmt.Println(`{"answer":0}`)
	var sum tally
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("a library says something")
		answer := map[string]any{"answer": r.ID}
		switch r.Do {
		case "prompt":
			if behaviour == "dying" {
				fmt.Fprintln(os.Stderr, "out of luck")
				return 1
			}
			answer["ms"] = fakeTurn.Seconds() * 1000
			if behaviour == "honest" {
				sum.turn(r.Text)
			}
		case "fresh":
			answer["createMs"], answer["ms"] = 20, 100
		case "page":
			answer["ms"], answer["events"] = 1, min(r.Limit, sum.Events-r.After)
		case "bytes":
			answer["bytes"] = 100_000 + sum.Events*fakeEventBytes
		case "tally":
			answer["text"], answer["calls"], answer["events"] = sum.Text, sum.Calls, sum.Events
		}
		line, err := json.Marshal(answer)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(string(line))
	}
	return 0
}

// turn counts what the trivial agent would say: one event of the user's, one of
// all text, one a call.
func (t *tally) turn(text string) {
	chunks, calls := 1, 0
	for _, m := range directive.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[2]) // the expression has digits only
		if m[1] == "chunks" {
			chunks = n
		} else {
			calls = n
		}
	}
	for i := range chunks {
		t.Text += int64(len("word ") + len(strconv.Itoa(i+1)))
	}
	t.Calls += int64(calls)
	t.Events += int64(2 + calls)
}
