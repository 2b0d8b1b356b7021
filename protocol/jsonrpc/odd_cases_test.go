package jsonrpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol/jsonrpc"
	"agentos/protocol/rawjson"
)

// anyValue draws the text of a JSON value of one line; the kinds are those of
// rawjson.Kind.
func anyValue(kinds string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return drawValue(t, kinds, 3) })
}

func drawValue(t *rapid.T, kinds string, depth int) string {
	if depth == 0 {
		kinds = "nt0\""
	}
	spaces := rapid.SampledFrom([]string{"", "", " ", "\t"}).Draw(t, "space")
	switch rapid.SampledFrom(strings.Split(kinds, "")).Draw(t, "kind") {
	case "n":
		return spaces + "null"
	case "t":
		return spaces + rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
	case "0":
		return spaces + rapid.SampledFrom([]string{"0", "-0", "7", "1.5", "1e2", "-1E-2", "0.0", "9007199254740993", "1e999"}).Draw(t, "number")
	case "\"":
		return spaces + string(rawjson.AppendString(nil, rapid.StringN(0, 8, -1).Draw(t, "string")))
	case "[":
		return spaces + "[" + strings.Join(drawAll(t, depth), ",") + "]"
	default:
		var members []string
		for i, v := range drawAll(t, depth) {
			name := rapid.SampledFrom([]string{"jsonrpc", "id", "method", "params", "result", "error", "level"}).Draw(t, "name")
			members = append(members, fmt.Sprintf(`"%s%d":%s`, name, i, v))
		}
		return spaces + "{" + strings.Join(members, ",") + "}"
	}
}

func drawAll(t *rapid.T, depth int) (all []string) {
	for range rapid.IntRange(0, 3).Draw(t, "values") {
		all = append(all, drawValue(t, "nt0\"[{", depth-1))
	}
	return all
}

// TestFR01_AnyLineThatIsNoObject: whatever JSON stands on a line of its own, if it
// is no object the line is counted and skipped, and the answer behind it counts.
func TestFR01_AnyLineThatIsNoObject(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`
	skipped := func(t tb, lines []string) {
		t.Helper()
		got := play(t, 1, jsonrpc.Options{}, []byte(strings.Join(append(lines, answer), "\n")+"\n"))
		if diff := cmp.Diff([]string{`answer 1 {"protocolVersion":1}`}, got.Events); diff != "" {
			t.Fatalf("events: -want +got\n%s", diff)
		}
		if n := got.Stats.Of(jsonrpc.NotMessage) + got.Stats.Of(jsonrpc.Batch); n != int64(len(lines)) {
			t.Fatalf("%d lines were counted; want %d: %q", n, len(lines), lines)
		}
	}
	skipped(t, []string{"null", "[]", "7", `"hi"`, "true"})
	rapid.Check(t, func(t *rapid.T) {
		skipped(t, rapid.SliceOfN(anyValue("nt0\"["), 1, 12).Draw(t, "lines"))
	})
}

// TestFR03_AnyID: a request with an id that is a string or an integer is delivered
// with that id as it was spelled, and answered with it; with any other it is
// refused, and nothing is taken for a notification.
func TestFR03_AnyID(t *testing.T) {
	check := func(t tb, id string) {
		t.Helper()
		id = strings.TrimLeft(id, " \t")
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{}}`, id)
		got := play(t, 0, jsonrpc.Options{}, []byte(request+"\n"))
		var want outcome
		if kind := id[0]; kind == '"' || (kind == '-' || '0' <= kind && kind <= '9') && !strings.ContainsAny(id, ".eE") {
			want.Events = []string{"request " + id + " session/prompt {}"}
		} else {
			want.Replies = []string{refused}
		}
		if diff := cmp.Diff(want.Events, got.Events); diff != "" {
			t.Fatalf("id %s: events: -want +got\n%s", id, diff)
		}
		if diff := cmp.Diff(want.Replies, append([]string(nil), got.Replies...)); diff != "" {
			t.Fatalf("id %s: replies: -want +got\n%s", id, diff)
		}
	}
	for _, id := range []string{"null", "true", "1.5", "[1]", "{}", `"a-1"`, "1", `"1"`} {
		check(t, id)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, anyValue("nt0\"[{").Draw(t, "id")) })
}

// TestFR03_IDsThatLookAlike: "1" and 1 are two requests, each answered in its own
// type, in whatever order.
func TestFR03_IDsThatLookAlike(t *testing.T) {
	asked := make(chan jsonrpc.ID, 3)
	p := newPair(t, func(m jsonrpc.Message) { asked <- m.ID }, jsonrpc.Options{})
	p.send(`{"jsonrpc":"2.0","id":"1","method":"m"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":"a-1","method":"m"}`)
	var ids []jsonrpc.ID
	for range 3 {
		ids = append(ids, await(t, asked, "request"))
	}
	for _, n := range []int{1, 2, 0} {
		if err := p.peer.Reply(ids[n], []byte(fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	p.want(`{"jsonrpc":"2.0","id":1,"result":1}`)
	p.want(`{"jsonrpc":"2.0","id":"a-1","result":2}`)
	p.want(`{"jsonrpc":"2.0","id":"1","result":0}`)
}

// answerTo is the end of the call whose answer a line is, if that line is lost.
func answerTo(line string) string {
	for _, id := range []string{"1", "2"} {
		if !strings.Contains(line, `"method"`) && (strings.Contains(line, `"id":`+id+`,`) || strings.HasSuffix(line, `"id":`+id+`}`)) {
			return "damaged " + id + " junk"
		}
	}
	return ""
}

// TestFR06_TwoWritersInOneLine puts a whole line into the middle of another one.
// Both are lost; nobody gets an answer that is not theirs, and from the next line
// feed on everything is as it was sent.
func TestFR06_TwoWritersInOneLine(t *testing.T) {
	torn := func(t tb, outer, inner string, at int) {
		t.Helper()
		const traffic = `{"jsonrpc":"2.0","method":"session/update","params":{"n":1}}` + "\n" + `{"jsonrpc":"2.0","id":3,"result":"mine"}`
		got := play(t, 3, jsonrpc.Options{}, []byte(outer[:at]+inner+"\n"+outer[at:]+"\n"+traffic+"\n"))
		var kept []string
		for _, e := range got.Events {
			switch lost := answerTo(outer) == e || answerTo(inner) == e; {
			case lost: // it fails at once if it could be seen, else at its deadline
			case e == "none 1", e == "none 2":
			default:
				kept = append(kept, e)
			}
		}
		if diff := cmp.Diff([]string{`note session/update {"n":1}`, `answer 3 "mine"`}, kept); diff != "" {
			t.Fatalf("%s torn at %d: -want +got\n%s", outer, at, diff)
		}
		if n := got.Stats.Of(jsonrpc.Junk); n != 2 {
			t.Fatalf("%s torn at %d: %d damaged lines were counted; want 2", outer, at, n)
		}
	}
	lines := []string{
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"text":"a \"b\" {c}"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`,
		`{"id":2,"error":{"code":-32603,"message":"x"},"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","result":{"a":[1,{"id":1}]},"id":2}`,
		`{"jsonrpc":"2.0","id":"a-1","method":"session/request_permission","params":{"options":[]}}`,
	}
	torn(t, `{"jsonrpc":"2.0","method":"session/update"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, len(`{"jsonrpc":"2.0","meth`))
	rapid.Check(t, func(t *rapid.T) {
		outer, inner := rapid.SampledFrom(lines).Draw(t, "outer"), rapid.SampledFrom(lines).Draw(t, "inner")
		torn(t, outer, inner, rapid.IntRange(1, len(outer)-1).Draw(t, "at"))
	})
}
