package sqlitefile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// unsafeFileSystems are those that leave out, or have been seen to break, the
// locks and the shared memory of a write-ahead log.
var unsafeFileSystems = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x01021997: "9P",
	0x65735546: "FUSE", // virtiofs says so too
	0x5346414f: "AFS",
	0x00c36400: "Ceph",
	0x786f4256: "VirtualBox shared folder",
	0xbacbacbc: "VMware shared folder",
}

// networkFileSystem returns the name of the file system below dir if it is one
// on which a database is not safe, else "".
func networkFileSystem(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("ask for the file system of %s: %w", dir, err)
	}
	return unsafeFileSystems[uint32(st.Type)], nil
}
