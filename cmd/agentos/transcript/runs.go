package transcript

import (
	"hash/maphash"

	"agentos/protocol"
	"agentos/protocol/acp"
)

// runs knows how much of each open run was printed.
type runs map[protocol.RunID]*printed

// printed is a prefix of a run's text.
type printed struct {
	identity paragraph
	bytes    int64
	sum      maphash.Hash // of the prefix
}

func identity(u acp.Update) paragraph {
	return paragraph{u.Chunk, u.MessageID, u.HasMessageID}
}

// piece returns what is to be printed of a delta: nothing of what was printed
// before, and nothing at all behind a gap, which the run's event fills.
func (r runs) piece(run protocol.RunID, id paragraph, offset int64, text string) string {
	p := r[run]
	if p == nil {
		p = &printed{identity: id}
		r[run] = p
	}
	if offset > p.bytes || offset+int64(len(text)) <= p.bytes {
		return ""
	}
	text = text[p.bytes-offset:]
	p.bytes += int64(len(text))
	p.sum.WriteString(text)
	return text
}

// rest returns what is to be printed of the event that closes a run, and forgets
// the run. An event that was read from the database names no run: it belongs to
// the open one if that is of the same message and a prefix of it.
func (r runs) rest(run protocol.RunID, id paragraph, text string) string {
	if run == "" {
		run = r.find(id, text)
	}
	p := r[run]
	delete(r, run)
	if p == nil {
		return text
	}
	return text[min(p.bytes, int64(len(text))):]
}

func (r runs) find(id paragraph, text string) protocol.RunID {
	for run, p := range r {
		if p.identity != id || p.bytes > int64(len(text)) {
			continue
		}
		var sum maphash.Hash
		sum.SetSeed(p.sum.Seed())
		sum.WriteString(text[:p.bytes])
		if sum.Sum64() == p.sum.Sum64() {
			return run
		}
	}
	return ""
}
