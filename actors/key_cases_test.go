package actors_test

import (
	"testing"

	"agentos/persistence"
	"agentos/protocol"
)

// TestIR04_KeysOutliveTheirPrompts: a key whose prompt is not kept any more is not
// run again; it says that its result has gone, also for other content. (What takes
// the old prompt away and leaves its key is the test: nothing in the runtime does yet.)
func TestIR04_KeysOutliveTheirPrompts(t *testing.T) {
	r := newRig(t).start()
	for range 2 {
		if _, err := r.vm.Prompt(r.ctx(), keyed("old", "hello")); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.node.Close(r.ctx()); err != nil {
		t.Fatal(err)
	}
	db, err := r.source.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	err = db.Tx(persistence.Tx{Key: "00000000-0000-4000-8000-000000000001", Waves: [][]persistence.Stmt{{
		{SQL: `INSERT INTO agentos_core_prompt_keys (session_id, key, hash, prompt_id, ended_at_ms)
			SELECT session_id, idempotency_key, input_hash, prompt_id, 1 FROM agentos_core_prompts WHERE idempotency_key = 'old' RETURNING 1`,
			Rows: [][]persistence.Value{{}}, Want: 1},
	}, {
		{SQL: `DELETE FROM agentos_core_prompts WHERE idempotency_key = 'old' RETURNING 1`, Rows: [][]persistence.Value{{}}, Want: 1},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r.start()
	if a, err := r.vm.Prompt(r.ctx(), keyed("old", "hello")); protocol.CodeOf(err) != protocol.CodeIdempotencyExpired {
		t.Errorf("the old key: %+v, %v; want idempotency_result_expired", a, err)
	}
	if a, err := r.vm.Prompt(r.ctx(), keyed("old", "other")); protocol.CodeOf(err) != protocol.CodeIdempotencyConflict {
		t.Errorf("the old key with other content: %+v, %v; want idempotency_conflict", a, err)
	}
	if a, err := r.vm.Prompt(r.ctx(), keyed("new", "hello")); err != nil || a.StopReason != "end_turn" {
		t.Errorf("a new key: %+v, %v", a, err)
	}
	sent := 0
	for _, n := range r.agents.sent() {
		sent += n
	}
	if sent != 2 {
		t.Errorf("agents were prompted %d times; want once for each key", sent)
	}
}
