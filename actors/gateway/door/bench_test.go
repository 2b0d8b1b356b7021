package door_test

import (
	"os"
	"testing"

	"agentos/actors/gateway/door"
)

func BenchmarkListen(b *testing.B) {
	dir, err := os.MkdirTemp("", "door-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for b.Loop() {
		l, err := door.Listen(dir, "key")
		if err != nil {
			b.Fatal(err)
		}
		_ = l.Close()
	}
}
