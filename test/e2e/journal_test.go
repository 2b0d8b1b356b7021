package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// seen is one text that the scripted agent was prompted with.
type seen struct {
	session string // the agent's own
	text    string
}

// journal reads what the scripted agent has been told, from its private files.
func journal(t *testing.T, dir string) []seen {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []seen
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var record struct {
				Type    string
				Content []struct{ Text string }
			}
			if !bytes.HasSuffix(line, []byte("\n")) {
				continue // the agent was killed while it wrote
			}
			if err := json.Unmarshal(line, &record); err != nil {
				t.Fatalf("read the agent's journal: %v", err)
			}
			if record.Type != "prompt" {
				continue
			}
			for _, block := range record.Content {
				all = append(all, seen{filepath.Base(file), block.Text})
			}
		}
	}
	return all
}

// journalBytes is how much the agent has written so far.
func journalBytes(dir string) (n int64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0 // it has not begun to write
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// times counts how often the agent was told a text.
func times(all []seen, text string) int {
	n := 0
	for _, s := range all {
		if s.text == text {
			n++
		}
	}
	return n
}
