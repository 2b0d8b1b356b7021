package acp

import (
	"crypto/sha256"
	"unicode/utf8"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// Blocks takes the content of a prompt, which may come from anywhere, apart.
// Each block is an object with a string type; kinds are not judged. The error
// is a *protocol.Error with CodeInvalidPrompt.
//
// A block of valid content can be wrapped once more and still be stored: the
// array has already used up the level that the chunk around it needs.
func Blocks(raw []byte) ([][]byte, error) {
	if !utf8.Valid(raw) {
		return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "prompt content is not UTF-8")
	}
	if err := rawjson.Check(raw); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "prompt content is not usable: %w", err)
	}
	if rawjson.Kind(raw) != '[' {
		return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "prompt content is an array of content blocks, this is something else")
	}
	var blocks [][]byte
	for block := range rawjson.Elements(raw) {
		if _, ok := rawjson.GetString(block, "type"); !ok {
			return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "content block %d is not an object with a type", len(blocks))
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "a prompt has at least one content block")
	}
	return blocks, nil
}

// TextBlock returns a text content block.
func TextBlock(text string) []byte {
	out := append(make([]byte, 0, len(text)+32), `{"type":"text","text":`...)
	return append(rawjson.AppendString(out, text), '}')
}

// UserChunk returns the update that a content block of a prompt is stored as
// (S6.2), in the member order of earlier databases.
func UserChunk(block []byte, messageID string) []byte {
	out := append(make([]byte, 0, len(block)+len(messageID)+80), `{"sessionUpdate":"user_message_chunk","content":`...)
	out = append(append(out, block...), `,"messageId":`...)
	return append(rawjson.AppendString(out, messageID), '}')
}

// InputHash returns what an idempotency key is compared by: SHA-256 of the
// canonical form of the content (S6.8). It is in databases: it never changes.
func InputHash(blocks [][]byte) [32]byte {
	h := sha256.New()
	h.Write([]byte(`{"formatVersion":1,"content":[`))
	var canonical []byte
	for i, block := range blocks {
		canonical = canonical[:0]
		if i > 0 {
			canonical = append(canonical, ',')
		}
		canonical = rawjson.AppendCanonical(canonical, block)
		h.Write(canonical)
	}
	h.Write([]byte("]}"))
	return [32]byte(h.Sum(nil))
}
