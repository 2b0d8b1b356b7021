package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// promptContent is the prompt as content blocks: the argument, or stdin.
func (a *app) promptContent(args []string) ([]byte, error) {
	text, err := a.promptText(args)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "the prompt is empty")
	}
	if !utf8.ValidString(text) {
		return nil, protocol.Errorf(protocol.CodeInvalidPrompt, "the prompt is not UTF-8 text")
	}
	return append(rawjson.AppendString([]byte(`[{"type":"text","text":`), text), "}]"...), nil
}

func (a *app) promptText(args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	if len(args) == 0 && isTerminal(a.in) {
		return "", protocol.Errorf(protocol.CodeInvalidPrompt, "there is no prompt: agentos prompt TEXT, or - to read it from stdin")
	}
	// One byte more than is allowed, so that the runtime refuses it by name.
	limit := protocol.DefaultLimits().PromptBytes + 1
	text, err := io.ReadAll(io.LimitReader(a.in, limit))
	if err != nil {
		return "", fmt.Errorf("read the prompt from stdin: %w", err)
	}
	// The line end that every program puts behind its output is not meant.
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}
