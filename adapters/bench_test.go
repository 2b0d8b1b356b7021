//go:build linux

package adapters

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// The cost of a guard: from start to the first answer, and the end.
func BenchmarkStartAndStop(b *testing.B) {
	env := append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(os.Args[0], "fake", "good")
			cmd.Env = env
			in, err := cmd.StdinPipe()
			if err != nil {
				b.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n"); err != nil {
				b.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				b.Fatal(err)
			}
			if err := in.Close(); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guarded", func(b *testing.B) {
		for b.Loop() {
			c, err := Start(b.Context(), Spec{Name: "fake", Argv: []string{os.Args[0], "fake", "good"}, Env: env, Dir: "/"}, Options{Guard: guardCommand()})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Request(b.Context(), "initialize", nil, Patience{}); err != nil {
				b.Fatal(err)
			}
			if err := c.Stop(GraceFor("fake")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// One call and its answer over a running adapter.
func BenchmarkRequest(b *testing.B) {
	c, err := Start(b.Context(), Spec{Name: "fake", Argv: []string{os.Args[0], "fake", "good"}, Env: os.Environ(), Dir: "/"}, Options{Guard: guardCommand()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Request(b.Context(), "initialize", nil, SetupPatience()); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Stop(Grace{}); err != nil {
		b.Fatal(err)
	}
}
