package jsonrpc

import (
	"strconv"

	"agentos/protocol/rawjson"
)

// envelope is the raw members of a line that matter here; nil means absent. Of
// duplicates the last one counts.
type envelope struct {
	version, id, method, params, result, err []byte
	// seenMethod and seenAnswer are for damaged lines: the key was there, even
	// if its value is cut off.
	seenMethod, seenAnswer bool
}

// scan reads the envelope of a line. A damaged one is read up to the damage.
func scan(text []byte) envelope {
	var e envelope
	for m := range rawjson.Prefix(text) {
		switch {
		case m.Is("jsonrpc"):
			e.version = m.Value
		case m.Is("id"):
			e.id = m.Value
		case m.Is("method"):
			e.method, e.seenMethod = m.Value, true
		case m.Is("params"):
			e.params = m.Value
		case m.Is("result"):
			e.result, e.seenAnswer = m.Value, true
		case m.Is("error"):
			e.err, e.seenAnswer = m.Value, true
		}
	}
	return e
}

func (e envelope) isV2() bool { return rawjson.IsString(e.version, "2.0") }

const versionMember = `{"jsonrpc":"2.0"`

// frame is one line to be written, in pieces so that a large raw value is not
// copied. The line feed is part of tail.
type frame struct {
	head, body, tail []byte
	call             ID // the call it is the request of; "" for anything else
}

func (f frame) size() int64 { return int64(len(f.head) + len(f.body) + len(f.tail)) }

// body makes a raw value fit for a line: one that has line feeds between its
// tokens is copied with spaces in their place.
func body(raw []byte) []byte {
	if rawjson.OneLine(raw) {
		return raw
	}
	return rawjson.AppendLine(make([]byte, 0, len(raw)), raw)
}

func requestFrame(id ID, method string, params []byte) frame {
	head := append(make([]byte, 0, 64+len(method)), versionMember...)
	if id != "" {
		head = append(append(head, `,"id":`...), id...)
	}
	head = rawjson.AppendString(append(head, `,"method":`...), method)
	if params == nil {
		return frame{head: head, tail: []byte("}\n"), call: id}
	}
	head = append(head, `,"params":`...)
	return frame{head: head, body: body(params), tail: []byte("}\n"), call: id}
}

func resultFrame(id ID, result []byte) frame {
	if result == nil {
		result = []byte("null")
	}
	head := append(make([]byte, 0, 40+len(id)), versionMember...)
	head = append(append(head, `,"id":`...), id...)
	return frame{head: append(head, `,"result":`...), body: body(result), tail: []byte("}\n")}
}

func errorFrame(id ID, e *Error) frame {
	head := append(make([]byte, 0, 80+len(id)+len(e.Message)), versionMember...)
	head = append(append(head, `,"id":`...), id...)
	head = append(head, `,"error":`...)
	if e.Raw != nil {
		return frame{head: head, body: body(e.Raw), tail: []byte("}\n")}
	}
	head = appendInt(append(head, `{"code":`...), e.Code)
	head = rawjson.AppendString(append(head, `,"message":`...), e.Message)
	if e.Data == nil {
		return frame{head: head, tail: []byte("}}\n")}
	}
	return frame{head: append(head, `,"data":`...), body: body(e.Data), tail: []byte("}}\n")}
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
