// Package mask takes secrets out of text that an adapter printed, before the
// text goes into an error, a log or a details member.
//
// It knows the values of the environment variables that are named like secrets,
// and the shapes in which credentials are usually printed. It is a net, not a
// wall: a secret of an unknown shape under an unknown name passes. It never
// keeps text and never masks history, which is stored as received.
//
// A Mask is immutable; its methods may be called by any goroutine.
package mask

import (
	"regexp"
	"sort"
	"strings"
)

// With is what stands where a secret stood.
const With = "[masked]"

// minBytes is the shortest value that counts as a secret: masking every "1"
// because a variable holds it would leave no text.
const minBytes = 6

// secretName matches names of variables whose values are secrets.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|credential|auth|cookie|private`)

// shapes are credentials as they are printed. The first group, if it took part,
// is kept.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}`),
	regexp.MustCompile(`(://)[^/\s:@]*:[^/\s@]+@`),
	regexp.MustCompile(`\b()(?:sk|pk|rk|xai|gsk|gh[pousr]|github_pat|glpat|xox[abeprs]|npm|hf|ya29)[-_.][A-Za-z0-9_.-]{10,}`),
	regexp.MustCompile(`\b()(?:AIza[A-Za-z0-9_-]{20,}|A[KS]IA[0-9A-Z]{12,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+)`),
	regexp.MustCompile(`(?i)((?:api[-_ ]?key|access[-_]?key|token|secret|password|passwd|authorization|cookie)["']?\s*[:=]\s*["']?)[^\s"',;&\[]{6,}`),
}

// Mask masks the secrets of one adapter.
type Mask struct {
	values []string // longest first, so that one which holds another is masked whole
}

// New returns a Mask that knows the values of env ("NAME=VALUE") whose names
// say that they are secret.
func New(env []string) Mask {
	var m Mask
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if len(value) >= minBytes && secretName.MatchString(name) {
			m.values = append(m.values, value)
		}
	}
	sort.Slice(m.values, func(i, j int) bool { return len(m.values[i]) > len(m.values[j]) })
	return m
}

// Text returns text with its secrets replaced by With.
func (m Mask) Text(text string) string {
	for _, value := range m.values {
		text = strings.ReplaceAll(text, value, With)
	}
	for _, shape := range shapes {
		text = shape.ReplaceAllString(text, "${1}"+With)
	}
	return text
}
