//go:build !linux

package door

import "net"

// peer does not know: the modes of the socket and its directory keep others out.
func peer(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }
