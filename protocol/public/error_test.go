package public_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"agentos/protocol"
	"agentos/protocol/public"
)

// What is stored with a failed prompt is what is shown later (S14).
func TestErrorObject_S14_RoundTrip(t *testing.T) {
	for _, row := range protocol.Codes {
		e := protocol.Errorf(row.Code, "it <happened> %d \"times\"", 3).With("data", json.RawMessage(`{"b": 1.10,"a":"<"}`)).With("n", int64(7)).With("s", "x")
		stored := public.ErrorObject(e)
		if !json.Valid(stored) {
			t.Fatalf("%s: %s is not JSON", row.Code, stored)
		}
		back := public.ParseErrorObject(stored)
		if back.Code != e.Code || back.Message != e.Message {
			t.Errorf("back = %+v; want %+v", back, e)
		}
		if again := public.ErrorObject(back); string(again) != string(stored) {
			t.Errorf("again %s\nwant  %s", again, stored)
		}
		var shape struct {
			Error struct {
				Code, Message string
				Retryable     *bool
				Details       map[string]any
			}
		}
		if err := json.Unmarshal(public.AppendError(nil, e), &shape); err != nil {
			t.Fatal(err)
		}
		if shape.Error.Retryable == nil || *shape.Error.Retryable != row.Retryable || len(shape.Error.Details) != 3 {
			t.Errorf("%s: shape = %+v", row.Code, shape)
		}
	}
}

func TestParseErrorObject_OldAndDamaged(t *testing.T) {
	for _, c := range []struct {
		in      string
		code    protocol.Code
		message string
		details int
	}{
		{`{"code":"prompt_interrupted","message":"stopped"}`, protocol.CodePromptInterrupted, "stopped", 0},
		{`{"code":"from_the_future","message":"m","retryable":true,"details":{"a":1}}`, "from_the_future", "m", 1},
		{`{"code":"internal","details":null}`, protocol.CodeInternal, "", 0},
		{`null`, protocol.CodeInternal, "the stored error cannot be read", 0},
		{`{"message":"m"}`, protocol.CodeInternal, "the stored error cannot be read", 0},
		{``, protocol.CodeInternal, "the stored error cannot be read", 0},
	} {
		e := public.ParseErrorObject([]byte(c.in))
		if e.Code != c.code || e.Message != c.message || len(e.Details) != c.details {
			t.Errorf("ParseErrorObject(%s) = %+v", c.in, e)
		}
	}
}

// The cause, which may hold secrets, is never written; odd details never lose
// the error.
func TestErrorObject_OddDetails(t *testing.T) {
	e := &protocol.Error{Code: protocol.CodeInternal, Message: "m", Cause: errors.New("sk-secret"), Details: map[string]any{
		"nan": math.NaN(), "bad": json.RawMessage(`{"a":`), "raw": json.RawMessage(" [1,\n2] "), "nil": nil, "list": []string{"<"},
	}}
	const want = `{"code":"internal","message":"m","retryable":false,"details":{"bad":"{\"a\":","list":["<"],"nan":"NaN","nil":null,"raw":[1, 2]}}`
	if got := string(public.ErrorObject(e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
