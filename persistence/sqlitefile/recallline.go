package sqlitefile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"agentos/persistence"
)

// answer is what one question was answered with.
type answer struct {
	Key  string     `json:"key"` // see keyOf
	Rows [][]string `json:"rows"`
}

// keepRow returns a row as texts, each of which begins with the kind of its value,
// and false for a row with a value that does not come back from JSON as it was.
func keepRow(values []persistence.Value) (kept []string, ok bool) {
	kept = make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			kept[i] = "n"
		case int64:
			kept[i] = "i" + strconv.FormatInt(v, 10)
		case string:
			if !utf8.ValidString(v) {
				return nil, false
			}
			kept[i] = "t" + v
		default:
			return nil, false
		}
	}
	return kept, true
}

// backRow is the opposite of keepRow.
func backRow(kept []string) (values []persistence.Value, ok bool) {
	values = make([]persistence.Value, len(kept))
	for i, text := range kept {
		if text == "" {
			return nil, false
		}
		switch kind, rest := text[0], text[1:]; kind {
		case 'n':
		case 'i':
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				return nil, false
			}
			values[i] = n
		case 't':
			values[i] = rest
		default:
			return nil, false
		}
	}
	return values, true
}

// keyOf names a question: the hash of all that decides its answer.
func keyOf(q persistence.Query) (key string, ok bool) {
	args, ok := keepRow(q.Args)
	if !ok {
		return "", false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %s", q.MaxBytes, args, q.SQL))
	return hex.EncodeToString(sum[:16]), true
}

// maxRecallBytes bounds what is kept in, and read from, a lock file.
const maxRecallBytes = 32 << 10

// The lines of a lock file that nobody holds: a recall, with no pid, so that it
// is no holder's, and the hash of that line.
type recallLine struct {
	Recall *recall `json:"recall"`
}

// encode returns the lines of a recall, and nil for none and for one that cannot
// be kept.
func (r *recall) encode() []byte {
	if r == nil {
		return nil
	}
	line, err := json.Marshal(recallLine{r})
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(line)
	line = fmt.Appendf(line, "\n%x\n", sum)
	if len(line) > maxRecallBytes {
		return nil
	}
	return line
}

// parseRecall returns nil for whatever is not, to the last byte, what encode made.
func parseRecall(lines []byte) *recall {
	const tail = 1 + 2*sha256.Size + 1
	if len(lines) <= tail || len(lines) > maxRecallBytes {
		return nil
	}
	line := lines[:len(lines)-tail]
	if fmt.Sprintf("\n%x\n", sha256.Sum256(line)) != string(lines[len(line):]) {
		return nil
	}
	var l recallLine
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	return l.Recall
}
