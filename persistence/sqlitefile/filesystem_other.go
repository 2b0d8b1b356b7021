//go:build !linux

package sqlitefile

// networkFileSystem knows no file system by name here.
func networkFileSystem(string) (string, error) { return "", nil }
