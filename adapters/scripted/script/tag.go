package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A tag starts anywhere, so that one behind an escaped newline in quoted JSON
// (\n#tag) is found too.
var tagPattern = regexp.MustCompile(`#[\pL\pN_][\pL\pN_-]*`)

// MaxTags bounds how many tags are remembered, maxNamed how many are named.
const (
	MaxTags  = 10_000
	maxNamed = 200
)

// AddTags appends the tags of text that are not yet there, in order, to at most
// MaxTags.
func AddTags(tags []string, text string) []string {
	for _, tag := range tagPattern.FindAllString(text, -1) {
		if len(tags) < MaxTags && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// Seen is the sentence that proves what context the agent has.
func Seen(tags []string) string {
	switch {
	case len(tags) == 0:
		return "I have seen no tags yet."
	case len(tags) > maxNamed:
		return fmt.Sprintf("I have seen %s and %d more.", strings.Join(tags[:maxNamed], " "), len(tags)-maxNamed)
	}
	return "I have seen " + strings.Join(tags, " ") + "."
}
