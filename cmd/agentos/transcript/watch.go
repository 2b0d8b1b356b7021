package transcript

import "io"

// NewWatch is NewLive for somebody who has not typed the prompt: it is shown, too.
func NewWatch(w io.Writer, s Style) *Live {
	l := NewLive(w, s)
	l.input = false
	return l
}
