package sqlitefile

// Holder is whoever holds the lock of a database.
type Holder struct {
	PID     int
	Command string // the name of the command, no arguments
	Socket  string // the path of the door through which it can be reached; "" if it has none
}

// HolderOf returns who holds the database at path, and false if nobody who is
// alive does, as far as the lock file says. It is for showing: between the answer
// and anything done with it the holder may change.
func HolderOf(path string) (Holder, bool) {
	h, known := readHolder(path + ".lock")
	if !known || !h.alive() || !held(path+".lock") {
		return Holder{}, false
	}
	return Holder{h.PID, h.Command, h.Socket}, true
}

// held reports whether somebody has the lock: a holder that has given it back and
// lives on is none any more.
func held(path string) bool {
	l, err := tryLock(path, lockExisting)
	if err != nil {
		return true // or it cannot be told
	}
	_ = l.release(nil) // of a lock that nothing was done under
	return false
}
