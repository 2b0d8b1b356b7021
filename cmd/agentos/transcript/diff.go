package transcript

import "strings"

// Bounds of a comparison: how many pairs of lines are compared before all of it
// counts as replaced, and how many lines stay around a change.
const (
	comparedPairs = 1 << 20
	contextLines  = 2
)

// diffLine is one line of a comparison. Its mark is '-', '+', ' ' for one that
// both have, or '…' for one line or more that both have and that are left out.
type diffLine struct {
	mark rune
	text string
}

// compare compares two texts line by line and counts what was added and removed.
func compare(before, after string) (all []diffLine, added, removed int) {
	a, b := lines(before), lines(after)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for _, line := range a[:start] {
		all = append(all, diffLine{' ', line})
	}
	all = append(all, middle(a[start:len(a)-end], b[start:len(b)-end])...)
	for _, line := range a[len(a)-end:] {
		all = append(all, diffLine{' ', line})
	}
	for _, l := range all {
		switch l.mark {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return all, added, removed
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// middle compares by the longest common subsequence; of texts that are too long
// for that everything is replaced.
func middle(a, b []string) (all []diffLine) {
	var common [][]int32 // of a[i:] and b[j:]
	if len(a)*len(b) <= comparedPairs {
		common = longest(a, b)
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case common != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, diffLine{' ', a[i]})
			i++
			j++
		case j == len(b) || i < len(a) && (common == nil || common[i+1][j] >= common[i][j+1]):
			all = append(all, diffLine{'-', a[i]})
			i++
		default:
			all = append(all, diffLine{'+', b[j]})
			j++
		}
	}
	return all
}

func longest(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// changes leaves out what is far from every change.
func changes(all []diffLine) (near []diffLine) {
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.mark == ' ' {
			continue
		}
		for j := max(0, i-contextLines); j <= min(len(all)-1, i+contextLines); j++ {
			keep[j] = true
		}
	}
	for i, l := range all {
		switch {
		case keep[i]:
			near = append(near, l)
		case i == 0 || keep[i-1]:
			near = append(near, diffLine{mark: '…'})
		}
	}
	return near
}
