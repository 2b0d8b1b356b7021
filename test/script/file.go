package script

import (
	"fmt"
	"strings"
)

const dashes = "----"

// part is one block of a file, or one group of comment lines between blocks
// (then commands is empty and hasOutput false).
type part struct {
	line      int      // of the first line, from 1
	input     []string // the lines as they stand, comments among them
	commands  []command
	hasOutput bool   // a line of dashes was there
	output    string // whole lines, each ended by a newline
}

// command is one line to run.
type command struct {
	line int // from 1
	text string
	args []string // at least one
}

// parse cuts a file into its parts. Errors carry name and line.
func parse(name, data string) ([]part, error) {
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	var parts []part
	for at := 0; at < len(lines); {
		if strings.TrimSpace(lines[at]) == "" {
			at++
			continue
		}
		p, next, err := parsePart(name, lines, at)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		at = next
	}
	return parts, nil
}

// parsePart reads the part that starts at lines[at] and returns the index
// behind it.
func parsePart(name string, lines []string, at int) (part, int, error) {
	p := part{line: at + 1}
	for at < len(lines) && lines[at] != dashes && strings.TrimSpace(lines[at]) != "" {
		p.input = append(p.input, lines[at])
		if !strings.HasPrefix(strings.TrimSpace(lines[at]), "#") {
			args, err := Split(lines[at])
			if err != nil {
				return p, 0, fmt.Errorf("%s:%d: %w", name, at+1, err)
			}
			p.commands = append(p.commands, command{line: at + 1, text: lines[at], args: args})
		}
		at++
	}
	if at == len(lines) || lines[at] != dashes {
		return p, at, nil
	}
	if len(p.commands) == 0 {
		return p, 0, fmt.Errorf("%s:%d: output without a command before it", name, at+1)
	}
	p.hasOutput = true
	output, next, err := parseOutput(name, lines, at+1)
	p.output = output
	return p, next, err
}

// parseOutput reads the output that starts at lines[at], plain or fenced.
func parseOutput(name string, lines []string, at int) (string, int, error) {
	var out strings.Builder
	if at < len(lines) && lines[at] == dashes {
		opened := at + 1
		for at++; at+1 < len(lines); at++ {
			closes := at+2 == len(lines) || lines[at+2] == ""
			if lines[at] == dashes && lines[at+1] == dashes && closes {
				return out.String(), at + 2, nil
			}
			out.WriteString(lines[at] + "\n")
		}
		return "", 0, fmt.Errorf("%s:%d: the output's fence is not closed by two lines of dashes", name, opened)
	}
	for ; at < len(lines) && lines[at] != ""; at++ {
		out.WriteString(lines[at] + "\n")
	}
	return out.String(), at, nil
}

// format writes parts back, one blank line between them. It is the inverse of
// parse for files whose blank lines are regular.
func format(parts []part) string {
	var out strings.Builder
	for i, p := range parts {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, line := range p.input {
			out.WriteString(line + "\n")
		}
		if !p.hasOutput {
			continue
		}
		if needsFence(p.output) {
			fence := dashes + "\n" + dashes + "\n"
			out.WriteString(fence + p.output + fence)
			continue
		}
		out.WriteString(dashes + "\n" + p.output)
	}
	return out.String()
}

// hasFence reports whether output would close its own fence early, so that it
// cannot stand in a file.
func hasFence(output string) bool { return strings.Contains(output, dashes+"\n"+dashes+"\n\n") }

func needsFence(output string) bool {
	return strings.HasPrefix(output, "\n") || strings.Contains(output, "\n\n") || strings.HasPrefix(output, dashes+"\n")
}
