package sqlitefile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// startTime returns when a process began, in clock ticks since boot, or 0 where
// the system does not say.
func startTime(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseStartTime(stat)
}

// parseStartTime takes field 22. The second field is the program's name in
// parentheses and may hold spaces and parentheses itself.
func parseStartTime(stat []byte) uint64 {
	const field, afterName = 22, 3
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0
	}
	rest := bytes.Fields(stat[end+1:])
	if len(rest) <= field-afterName {
		return 0
	}
	n, err := strconv.ParseUint(string(rest[field-afterName]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
