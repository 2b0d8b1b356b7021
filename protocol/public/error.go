package public

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// AppendError appends {"error":{...}}, the last word of a request that failed
// (S14).
func AppendError(dst []byte, e *protocol.Error) []byte {
	return append(appendErrorObject(append(dst, `{"error":`...), e), '}')
}

// ErrorObject returns {"code","message","retryable","details"}, as it is stored
// with a failed prompt. The cause is not in it.
func ErrorObject(e *protocol.Error) []byte { return appendErrorObject(nil, e) }

func appendErrorObject(dst []byte, e *protocol.Error) []byte {
	dst = rawjson.AppendString(append(dst, `{"code":`...), string(e.Code))
	dst = appendText(dst, "message", e.Message)
	dst = fmt.Appendf(dst, `,"retryable":%t,"details":{`, e.Code.Info().Retryable)
	for i, name := range slices.Sorted(maps.Keys(e.Details)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, name), ':')
		dst = appendDetail(dst, e.Details[name])
	}
	return append(dst, "}}"...)
}

// appendDetail appends a detail. Raw ones, like the data of an agent's error,
// are kept as they are; one that is no JSON value is shown as text, so that an
// error is never lost for its details.
func appendDetail(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return rawjson.AppendString(dst, v)
	case json.RawMessage:
		if rawjson.Check(v) == nil {
			return rawjson.AppendLine(dst, bytes.TrimSpace(v))
		}
		return rawjson.AppendString(dst, string(v))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return rawjson.AppendString(dst, fmt.Sprint(value))
	}
	return append(dst, bytes.TrimRight(out.Bytes(), "\n")...)
}

// ParseErrorObject reads what ErrorObject wrote, or what an older runtime
// stored. Details are json.RawMessage. Something that is no such object is
// CodeInternal; it never returns nil.
func ParseErrorObject(raw []byte) *protocol.Error {
	code, ok := rawjson.GetString(raw, "code")
	if !ok || code == "" {
		return &protocol.Error{Code: protocol.CodeInternal, Message: "the stored error cannot be read"}
	}
	e := &protocol.Error{Code: protocol.Code(code)}
	e.Message, _ = rawjson.GetString(raw, "message")
	details, _ := rawjson.Get(raw, "details")
	for m := range rawjson.Members(details) {
		if e.Details == nil {
			e.Details = make(map[string]any)
		}
		e.Details[m.Name()] = json.RawMessage(slices.Clone(m.Value))
	}
	return e
}
