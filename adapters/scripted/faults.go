package scripted

import (
	"fmt"
	"io"
	"strings"
)

// The directives that decide how a turn ends, and those that misbehave.

func runWait(t *turn, _ string) error {
	<-t.ctx.Done()
	return errStop
}

func runStop(t *turn, arg string) error {
	if arg == "" {
		return errUsage
	}
	t.stop = arg
	return nil
}

func runError(_ *turn, arg string) error {
	code, err := integers(arg, 1)
	if err != nil {
		return err
	}
	return &rpcError{Code: code[0], Message: "the prompt asked for this error", Data: []byte(`{"directive":"error"}`)}
}

func runExit(t *turn, arg string) error {
	code, err := count(arg)
	if err != nil || code > 255 {
		return errUsage
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
		return errUsage
	}
	t.agent.deaf.Store(true)
	<-t.agent.ctx.Done()
	return errStop
}

func runHalf(t *turn, _ string) error {
	t.agent.conn.write([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + quote(t.session.id) + `,"upda`))
	t.agent.quit(1)
	return errStop
}

func runNoise(t *turn, _ string) error {
	t.agent.conn.line("this line is not JSON")
	return nil
}

func runDrop(t *turn, _ string) error { return t.agent.conn.drop() }

// runStderr writes lines of at most 80 bytes; it blocks as long as nobody reads.
func runStderr(t *turn, arg string) error {
	n, err := count(arg)
	if err != nil {
		return err
	}
	const width = 80
	line := strings.Repeat("e", width-1) + "\n"
	for left := n; left > 0; left -= width {
		if _, err := io.WriteString(t.agent.stderr, line[max(0, width-left):]); err != nil {
			return fmt.Errorf("write to standard error: %w", err)
		}
	}
	return nil
}
