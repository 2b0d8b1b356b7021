//go:build !linux

package main

import "golang.org/x/sys/unix"

// dropTyped drops what was typed and not read, the begun line too.
func dropTyped(fd int) {
	const input = 1                                        // FREAD
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, input) // a terminal that is gone ends the reading too
}
