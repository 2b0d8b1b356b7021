package script

import (
	"errors"
	"strconv"
	"strings"
)

// ErrUsage says that the argument of a directive is not understood.
var ErrUsage = errors.New("argument not understood")

// maxNumber bounds every number of an argument, so that no directive runs away
// by a digit too many.
const maxNumber = 1_000_000_000

// Integers reads an argument of exactly n integers; ErrUsage otherwise.
func Integers(arg string, n int) ([]int, error) {
	fields := strings.Fields(arg)
	if len(fields) != n {
		return nil, ErrUsage
	}
	numbers := make([]int, n)
	for i, f := range fields {
		number, err := strconv.Atoi(f)
		if err != nil || number > maxNumber || number < -maxNumber {
			return nil, ErrUsage
		}
		numbers[i] = number
	}
	return numbers, nil
}

// Count reads an argument of one integer that is not negative; ErrUsage otherwise.
func Count(arg string) (int, error) {
	n, err := Integers(arg, 1)
	if err != nil || n[0] < 0 {
		return 0, ErrUsage
	}
	return n[0], nil
}
