package script

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Block is what is read of a content block.
type Block struct {
	Kind string // its type
	Text string // of a text block or an embedded text resource
}

// ParseBlocks reads the blocks of a prompt. The error says which is bad, for the
// client to be told.
func ParseBlocks(content []json.RawMessage) ([]Block, error) {
	if len(content) == 0 {
		return nil, errors.New("the prompt is empty")
	}
	blocks := make([]Block, len(content))
	for i, raw := range content {
		b, err := parseBlock(raw)
		if err != nil {
			return nil, fmt.Errorf("prompt block %d: %w", i, err)
		}
		blocks[i] = b
	}
	return blocks, nil
}

// parseBlock reads a content block. Blocks of an unknown kind are welcome
// whatever they hold: whoever tests exact payloads needs an agent that takes them.
func parseBlock(raw json.RawMessage) (Block, error) {
	var head struct {
		Type     string
		Text     json.RawMessage
		Resource json.RawMessage
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Block{}, errors.New("not a content block")
	}
	b := Block{Kind: head.Type}
	switch head.Type {
	case "":
		return Block{}, errors.New("a content block without a type")
	case "text":
		var text *string
		if json.Unmarshal(head.Text, &text) != nil || text == nil {
			return Block{}, errors.New("a text block without text")
		}
		b.Text = *text
	case "resource":
		var resource struct{ Text string }
		if err := json.Unmarshal(head.Resource, &resource); err != nil {
			return Block{}, errors.New("a resource block without a resource")
		}
		b.Text = resource.Text
	}
	return b, nil
}

// Texts returns the texts of content, and passes over what has none.
func Texts(content []json.RawMessage) []string {
	var texts []string
	for _, raw := range content {
		if b, err := parseBlock(raw); err == nil && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}
