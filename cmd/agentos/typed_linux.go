package main

import "golang.org/x/sys/unix"

// dropTyped drops what was typed and not read, the begun line too.
func dropTyped(fd int) {
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // a terminal that is gone ends the reading too
}
