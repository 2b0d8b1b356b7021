package adapters

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// tail keeps the newest bytes of a stream. Its memory is its size, whatever is
// written: adapters have printed 50 MB.
type tail struct {
	mu   sync.Mutex
	ring []byte
	at   int   // where the next byte goes
	all  int64 // bytes ever written
}

func newTail(size int) *tail { return &tail{ring: make([]byte, size)} }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all += int64(n)
	if len(p) > len(t.ring) {
		p = p[len(p)-len(t.ring):]
	}
	for len(p) > 0 {
		copied := copy(t.ring[t.at:], p)
		p = p[copied:]
		t.at = (t.at + copied) % len(t.ring)
	}
	return n, nil
}

// String returns what is kept as valid UTF-8. If something was lost it begins
// at a line, or at least at a word: half a line at the front could be the rest
// of a secret that can no longer be recognized as one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all <= int64(len(t.ring)) {
		return valid(t.ring[:t.all])
	}
	text := string(t.ring[t.at:]) + string(t.ring[:t.at])
	cut := strings.IndexByte(text, '\n')
	if cut < 0 || cut == len(text)-1 {
		cut = strings.IndexAny(text, " \t")
	}
	return valid([]byte(text[cut+1:]))
}

func valid(b []byte) string {
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:] // the rest of a character that was cut
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// newest returns the last lines of text that fit in limit bytes, or the last
// characters if the last line alone is longer.
func newest(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if cut := strings.IndexByte(text, '\n'); cut >= 0 && cut < len(text)-1 {
		return text[cut+1:]
	}
	return valid([]byte(text))
}

// lastLine returns the last line of text that is not blank, cut to what fits in
// a message.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	const limit = 200
	if len(line) > limit {
		line = strings.ToValidUTF8(line[:limit], "") + "..."
	}
	return line
}
