package scripted

import (
	"fmt"
	"io"
	"strings"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/wire"
)

// The directives that decide how a turn ends, and those that misbehave.

func runWait(t *turn, _ string) error {
	<-t.ctx.Done()
	return errStop
}

func runStop(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	t.stop = arg
	return nil
}

func runError(_ *turn, arg string) error {
	code, err := script.Integers(arg, 1)
	if err != nil {
		return err
	}
	return &wire.Error{Code: code[0], Message: "the prompt asked for this error", Data: []byte(`{"directive":"error"}`)}
}

func runExit(t *turn, arg string) error {
	code, err := script.Count(arg)
	if err != nil || code > 255 {
		return script.ErrUsage
	}
	t.agent.quit(code)
	return errStop
}

func runHang(t *turn, arg string) error {
	switch arg {
	case "hard":
		t.agent.stubborn.Store(true)
	case "":
	default:
		return script.ErrUsage
	}
	t.agent.deaf.Store(true)
	<-t.agent.ctx.Done()
	return errStop
}

func runHalf(t *turn, _ string) error {
	t.agent.conn.Half(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + wire.Quote(t.session.id) + `,"upda`)
	t.agent.quit(1)
	return errStop
}

func runNoise(t *turn, _ string) error {
	t.agent.conn.Line("this line is not JSON")
	return nil
}

func runDrop(t *turn, _ string) error { return t.agent.conn.Drop() }

// runStderr writes lines of 80 bytes, many at once; it blocks as long as nobody
// reads.
func runStderr(t *turn, arg string) error {
	n, err := script.Count(arg)
	if err != nil {
		return err
	}
	lines := strings.Repeat(strings.Repeat("e", 79)+"\n", 800)
	for left := n; left > 0; left -= len(lines) {
		if _, err := io.WriteString(t.agent.stderr, lines[max(0, len(lines)-left):]); err != nil {
			return fmt.Errorf("write to standard error: %w", err)
		}
	}
	return nil
}
