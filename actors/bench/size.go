package bench

import (
	"fmt"
	"os"

	"agentos/protocol"
)

// rowBytes is what an event may take beside its payload.
const rowBytes = 90

var bytesMeasure = Measure{Name: "bytes", run: bytesPerEvent, Works: []Work{{
	Name: "bytes-short-id", Unit: "bytes", Target: Target{AtMost: 1},
	About: fmt.Sprintf("What the database grows by with an event, of 100 to 600 bytes, in the session main. Against its payload + %d.", rowBytes),
}, {
	Name: "bytes-long-id", Unit: "bytes", Target: Target{AtMost: 1},
	About: "The same in a session whose id has 36 characters.",
}}}

// bytesPerEvent stores many events and looks how large the file is. Nothing of it
// depends on time.
func bytesPerEvent(t *trial) ([]figure, error) {
	var figures []figure
	for _, id := range []protocol.SessionID{"main", "019ad7a4-41f0-7c3b-9d52-6f0a8be31c77"} {
		f, err := t.growth(id)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// growth is the size of an event in the database of the session id.
func (t *trial) growth(id protocol.SessionID) (figure, error) {
	a := newAuthor(id)
	empty, err := t.fileBytes(a, nil)
	if err != nil {
		return figure{}, err
	}
	a = newAuthor(id)
	// Rows of one size would fill pages better or worse than what really comes.
	payloads := make([][]byte, max(1000, t.config.events(1)/10))
	sum := 0
	for i := range payloads {
		payloads[i] = update(1 + i*7%28)
		sum += len(payloads[i])
	}
	full, err := t.fileBytes(a, payloads)
	if err != nil {
		return figure{}, err
	}
	n := float64(len(payloads))
	value, payload := float64(full-empty)/n, float64(sum)/n
	return figure{
		value: value, ratio: value / (payload + rowBytes),
		against: fmt.Sprintf("payload of %.0f + %d bytes (ours + %.0f)", payload, rowBytes, value-payload),
	}, nil
}

// fileBytes is the size of the database of a session with these events.
func (t *trial) fileBytes(a *author, payloads [][]byte) (int64, error) {
	path, _, err := t.database("bytes", []*author{a}, func(write func(...protocol.Batch) error) error {
		for len(payloads) > 0 {
			n := min(len(payloads), 100)
			if err := write(a.append(payloads[:n]...)); err != nil {
				return err
			}
			payloads = payloads[n:]
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path) // closed, so the write-ahead log is in it
	if err != nil {
		return 0, fmt.Errorf("find database: %w", err)
	}
	return info.Size(), nil
}
