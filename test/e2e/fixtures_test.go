package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/test/e2e/program"
)

// The databases that AgentOS 0.2.21 wrote, and what is in them.
const (
	finishedDB = "agentos-0.2.21.db"
	crashedDB  = "agentos-0.2.21-crashed.db"
)

// withStored returns a home whose VM is a copy of a stored database.
func withStored(t *testing.T, name string) *program.Home {
	t.Helper()
	home := program.NewHome(t, program.Binary())
	putStored(t, name, home.DB)
	return home
}

var timeless = regexp.MustCompile(`"timestamp":"[^"]*"`)

// historyOf returns the lines of a session's whole history.
func historyOf(t *testing.T, home *program.Home, session string) []string {
	t.Helper()
	out := home.Run(t, "history", "--json", "--limit", "1000000", "--session", session)
	if out.Code != 0 || out.Stderr != "" {
		t.Fatalf("history of %s = %d: %s", session, out.Code, out.Stderr)
	}
	return out.Lines()
}

// doctorOf returns the doctor's report.
func doctorOf(t *testing.T, home *program.Home) (r report, code int) {
	t.Helper()
	out := home.Run(t, "doctor", "--json")
	if err := json.Unmarshal(out.Stdout, &r); err != nil {
		t.Fatalf("doctor = %d, %q, %q: %v", out.Code, out.Stdout, out.Stderr, err)
	}
	return r, out.Code
}

const (
	request1 = `"toolCall":{"toolCallId":"t1","title":"Write a.txt","kind":"edit","status":"pending"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}],"native":{"sessionId":"asks"}}`
	asks1    = "25eaaf11-a105-4e7a-a17e-7a4468b06022"
	asks2    = "0c07f8a0-33ce-42c4-a1d3-6cab895b36a9"
)

// asksHistory is the history of session asks, as it is shown: of the crashed
// database all, but for the answer that settling gives.
var asksHistory = []string{
	`{"durability":"durable","sessionId":"asks","sequence":1,"timestamp":"2026-11-30T21:04:54.280Z","acpVersion":1,"type":"user_message_chunk","content":{"type":"text","text":"please [[ask]]"},"messageId":"af7a0a97-28c4-4962-8ee8-3e0ec55e9fdc"}`,
	`{"durability":"durable","sessionId":"asks","sequence":2,"timestamp":"2026-11-30T21:04:54.289Z","acpVersion":1,"type":"permission_request","requestId":"` + asks1 + `",` + request1,
	`{"durability":"durable","sessionId":"asks","sequence":3,"timestamp":"2026-11-30T21:04:54.391Z","acpVersion":1,"type":"permission_response","requestId":"` + asks1 + `","status":"accepted","outcome":{"outcome":"selected","optionId":"allow"}}`,
	`{"durability":"durable","sessionId":"asks","sequence":4,"timestamp":"2026-11-30T21:04:54.459Z","acpVersion":1,"type":"agent_message_chunk","messageId":"m2","content":{"type":"text","text":"word1 "}}`,
	`{"durability":"durable","sessionId":"asks","sequence":5,"timestamp":"2026-11-30T21:05:07.643Z","acpVersion":1,"type":"user_message_chunk","content":{"type":"text","text":"unanswered [[ask]]"},"messageId":"76b95df8-d7a5-46d0-ada5-88f0903031cc"}`,
	`{"durability":"durable","sessionId":"asks","sequence":6,"timestamp":"2026-11-30T21:05:07.645Z","acpVersion":1,"type":"permission_request","requestId":"` + asks2 + `",` + request1,
}

// unicodeText is a text in both databases: other scripts, a character outside of
// the basic plane and a line separator.
const unicodeText = "unicode 读 ≤ 😀 \u2028 end"

// TestS2_5_AgentOSDatabases opens what AgentOS wrote with the real binary: it is
// migrated with its data, what was running is settled, everything can be read,
// and not a byte of a row is another one that need not be.
func TestS2_5_AgentOSDatabases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		main, asks   int // events
		settled      bool
		latest, last string // of main
	}{
		{finishedDB, 23, 4, false, "idle", "word1 "},
		{crashedDB, 24, 6, true, "failed", "broken turn [[slow 100 100]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := withStored(t, tt.name)
			before := rowsOf(t, home.DB)
			r, code := doctorOf(t, home)
			if code != 1 || len(r.Findings) != 1 || r.Findings[0].What != "the schema is older than this program's" {
				t.Errorf("doctor before = %d, %+v", code, r)
			}
			if data, err := os.ReadFile(home.DB); err != nil || !bytes.Equal(data, storedBytes(t, tt.name)) {
				t.Errorf("looking changed the file (%v)", err)
			}

			comparePeople(t, home, tt.settled)
			main, asks := historyOf(t, home, "main"), historyOf(t, home, "asks")
			compareWithRows(t, before, "main", main)
			if len(main) != tt.main || parseEvent(t, main[len(main)-1]).text() != tt.last || parseEvent(t, main[20]).text() != unicodeText {
				t.Errorf("history of main has %d events, %q", len(main), short(main))
			}
			if diff := cmp.Diff(asksHistory[:tt.asks], asks[:tt.asks]); diff != "" {
				t.Errorf("history of asks (-want +got):\n%s", diff)
			}
			added := 0
			if tt.settled {
				added = 1
				want := `"sequence":7,"timestamp":"TIME","acpVersion":1,"type":"permission_response","requestId":"` + asks2 +
					`","status":"not_pending","reason":"vm_shutdown","outcome":{"outcome":"cancelled"}}`
				if last := timeless.ReplaceAllString(asks[len(asks)-1], `"timestamp":"TIME"`); !strings.HasSuffix(last, want) {
					t.Errorf("asks was settled with %s", last)
				}
			}
			if len(asks) != tt.asks+added {
				t.Errorf("asks has %d events", len(asks))
			}
			r, code = doctorOf(t, home)
			if code != 0 || !r.Clean || r.Events != tt.main+tt.asks+added {
				t.Errorf("doctor = %d, %+v; want clean", code, r)
			}
			if diff := cmp.Diff(opening(before), changes(before, rowsOf(t, home.DB))); diff != "" {
				t.Errorf("rows of AgentOS that have changed (-want +got):\n%s", diff)
			}
		})
	}
}

// comparePeople looks at the list of sessions and at the settled turns.
func comparePeople(t *testing.T, home *program.Home, settled bool) {
	t.Helper()
	out := home.Run(t, "sessions", "--json")
	if out.Code != 0 || out.Stderr != "" || len(out.Lines()) != 2 {
		t.Fatalf("sessions = %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
	for _, line := range out.Lines() {
		var s struct {
			SessionID, Agent, Cwd, State, PromptID, CreatedAt string
			Error                                             *struct{ Code string }
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		prompts := map[string]string{"main": "53b5ad80-ed16-4311-b192-eec475f40cae", "asks": "745b4d06-8868-4ab2-8eda-b9d9e4233e4c"}
		created := map[string]string{"main": "2026-11-30T21:04:53.695Z", "asks": "2026-11-30T21:04:54.274Z"}
		if s.Agent != "tiny" || s.Cwd != "/home/agentos" || s.CreatedAt != created[s.SessionID] || strings.Contains(line, "example-token") {
			t.Errorf("session %s", line)
		}
		uncertain := s.Error != nil && s.Error.Code == "prompt_delivery_uncertain"
		if settled && (s.State != "failed" || !uncertain || s.PromptID != prompts[s.SessionID]) || !settled && (s.State != "idle" || s.Error != nil) {
			t.Errorf("session %s; settled %v", line, settled)
		}
	}
}

// compareWithRows holds a history against the rows that it is made of, with
// nothing of the project's own reading.
func compareWithRows(t *testing.T, before rows, session string, lines []string) {
	t.Helper()
	for i, line := range lines {
		r, there := before["agentos_core_events"][fmt.Sprintf("'%s' %d", session, i+1)]
		if e := parseEvent(t, line); !there || e.Sequence != int64(i+1) {
			t.Fatalf("%s, event %d: %s", session, i+1, line)
		}
		if r["event_kind"] != "'session_update'" {
			continue
		}
		payload := strings.ReplaceAll(strings.Trim(r["payload_json"], "'"), "''", "'")
		want, err := publicMembers(payload)
		if err != nil {
			t.Fatal(err)
		}
		got, err := members([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		known := slices.Clone(envelope)
		if r["incomplete"] == "1" {
			known = append(known, "incomplete")
		}
		if got = got[len(known):]; !slices.Equal(got, want) {
			t.Errorf("%s, event %d has\n%v\nwant\n%v", session, i+1, got, want)
		}
	}
}

// TestS6_8_HashesOfAgentOS makes the hash of every prompt in the databases anew,
// from the events of its content.
func TestS6_8_HashesOfAgentOS(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{finishedDB: 7, crashedDB: 9} {
		path := filepath.Join(t.TempDir(), "vm.db")
		putStored(t, name, path)
		hashes := 0
		withDatabase(t, path, func(db persistence.Querier) {
			for _, p := range query(t, db, `SELECT session_id, prompt_id, first_input_sequence, input_hash FROM agentos_core_prompts`) {
				hash := acp.InputHash(contentOf(t, db, p[0].(string), p[2].(int64)))
				if hashes++; !bytes.Equal(hash[:], p[3].([]byte)) {
					t.Errorf("%s: prompt %v of %v has hash %x; made anew it is %x", name, p[1], p[0], p[3], hash)
				}
			}
		})
		if hashes != want {
			t.Errorf("%s has %d prompts; want %d", name, hashes, want)
		}
	}
}

// contentOf returns the blocks of a prompt: the content of its user events, which
// have one messageId.
func contentOf(t *testing.T, db persistence.Querier, session string, first int64) (blocks [][]byte) {
	t.Helper()
	sql := fmt.Sprintf(`SELECT payload_json FROM agentos_core_events WHERE session_id = '%s' AND sequence >= %d ORDER BY sequence`, session, first)
	message := ""
	for _, found := range query(t, db, sql) {
		all, err := members([]byte(found[0].(string)))
		if err != nil {
			t.Fatal(err)
		}
		value := map[string]string{}
		for _, m := range all {
			value[m.Key] = m.Value
		}
		if value["sessionUpdate"] != `"user_message_chunk"` || message != "" && value["messageId"] != message {
			break
		}
		message = value["messageId"]
		blocks = append(blocks, []byte(value["content"]))
	}
	return blocks
}

// TestS6_8_KeysOfAgentOS sends the prompts of AgentOS again, under their keys:
// each gives the result that AgentOS stored, and nothing is run.
func TestS6_8_KeysOfAgentOS(t *testing.T) {
	t.Parallel()
	for _, name := range []string{finishedDB, crashedDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := withStored(t, name)
			before := rowsOf(t, home.DB)
			for i := range 5 {
				key := fmt.Sprintf("k%d", i)
				out := home.Run(t, "prompt", "--json", "--key", key, fmt.Sprintf("turn %d [[chunks 7]] [[calls 2]]", i))
				stored := before.of("agentos_core_prompts", row{"idempotency_key": "'" + key + "'"})
				if out.Code != 0 || len(stored) != 1 || len(out.Lines()) != 1 {
					t.Fatalf("%s = %d, %s%s", key, out.Code, out.Stdout, out.Stderr)
				}
				want := strings.Trim(stored[0]["result_json"], "'")
				if got := out.Lines()[0]; got != `{"result":`+want+"}" {
					t.Errorf("%s = %s; want %s", key, got, want)
				}
				out = home.Run(t, "prompt", "--json", "--key", key, "something else")
				if e := lastError(t, out); out.Code != protocol.ExitFailed || e.Code != "idempotency_conflict" {
					t.Errorf("%s with another text = %d, %+v", key, out.Code, e)
				}
			}
			if name == crashedDB {
				out := home.Run(t, "prompt", "--json", "--key", "crash-1", "broken turn [[slow 100 100]]")
				if e := lastError(t, out); out.Code != protocol.ExitDeliveryUncertain || e.Code != "prompt_delivery_uncertain" {
					t.Errorf("crash-1 = %d, %+v", out.Code, e)
				}
			}
			if told := journal(t, home.Agent); len(told) > 0 {
				t.Errorf("an agent was told %v", told)
			}
			if diff := cmp.Diff(opening(before), changes(before, rowsOf(t, home.DB))); diff != "" {
				t.Errorf("rows of AgentOS that have changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestS6_1_AgentOSSessionsGoOn: the agent of AgentOS is not to be had here; with
// another one its sessions go on, below a workspace that stands in for a home
// that is not on this machine.
func TestS6_1_AgentOSSessionsGoOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{finishedDB, crashedDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := withStored(t, name)
			out := home.Run(t, "prompt", "--json", "hello")
			if e := lastError(t, out); out.Code != protocol.ExitNotFound || e.Code != "agent_not_found" {
				t.Errorf("prompt with the agent of AgentOS = %d, %+v", out.Code, e)
			}
			for _, session := range []string{"main", "asks"} {
				before := historyOf(t, home, session)
				out := home.Run(t, "prompt", "--json", "--session", session, "--agent", "scripted", "go on #"+session)
				if out.Code != 0 || !strings.Contains(out.Lines()[len(out.Lines())-1], `{"type":"text","text":"You said: go on #`+session) {
					t.Errorf("prompt of %s = %d, %s%s", session, out.Code, out.Stdout, out.Stderr)
				}
				out = home.Run(t, "prompt", "--json", "--session", session, "again")
				if out.Code != 0 || !strings.Contains(string(out.Stdout), "I have seen #"+session) {
					t.Errorf("second prompt of %s = %d, %s%s", session, out.Code, out.Stdout, out.Stderr)
				}
				after := historyOf(t, home, session)
				if len(after) != len(before)+4 || !slices.Equal(after[:len(before)], before) {
					t.Errorf("history of %s had %d events and has %d", session, len(before), len(after))
				}
			}
			if r, code := doctorOf(t, home); code != 0 || !r.Clean {
				t.Errorf("doctor = %d, %+v", code, r)
			}
		})
	}
}
