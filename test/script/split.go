package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Split cuts a line into words by the rules of the package comment. It returns
// an error that names the column (from 1, in bytes) of a quote left open or of
// a bad escape.
func Split(line string) ([]string, error) {
	var words []string
	for i := 0; i < len(line); {
		if isBlank(line[i]) {
			i++
			continue
		}
		word, next, err := readWord(line, i)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		i = next
	}
	return words, nil
}

// readWord reads the word that starts at line[i] and returns it with the index
// behind it.
func readWord(line string, i int) (string, int, error) {
	var word strings.Builder
	for i < len(line) && !isBlank(line[i]) {
		if line[i] != '\'' && line[i] != '"' {
			word.WriteByte(line[i])
			i++
			continue
		}
		text, next, err := readQuoted(line, i)
		if err != nil {
			return "", 0, err
		}
		word.WriteString(text)
		i = next
	}
	return word.String(), i, nil
}

// readQuoted reads the quoted piece whose opening quote is line[i].
func readQuoted(line string, i int) (string, int, error) {
	quote, end := line[i], i+1
	for end < len(line) && line[end] != quote {
		if quote == '"' && line[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(line) {
		return "", 0, fmt.Errorf("quote %c opened in column %d is not closed", quote, i+1)
	}
	if quote == '\'' {
		return line[i+1 : end], end + 1, nil
	}
	text, err := strconv.Unquote(line[i : end+1])
	if err != nil {
		return "", 0, fmt.Errorf("read the quoted text in column %d: %w", i+1, err)
	}
	return text, end + 1, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
