package persistence

import (
	"agentos/protocol"
)

// Err turns an error of Tx or Query into the *protocol.Error that a caller is
// shown (S14): one code for each thing that a person can do about it. The error
// given stays in the chain, so AsError and Definite see through the result.
//
// An error that is no *Error comes back as it is: the context's own errors, a
// *protocol.Error, nil.
func Err(err error) error {
	e := AsError(err)
	if e == nil || protocol.CodeOf(err) != protocol.CodeInternal {
		return err
	}
	code, message := publicError(e)
	return (&protocol.Error{Code: code, Message: message}).Because(err)
}

// publicError never quotes the driver: its text may hold paths and values.
func publicError(e *Error) (protocol.Code, string) {
	if e.Outcome == Unknown {
		return protocol.CodeStorageOutcomeUnknown,
			"the database did not say whether it stored the last write; read what is stored before trying again"
	}
	switch e.Class {
	case ClassFull:
		return protocol.CodeStorageFull,
			"the disk or quota below the VM's database is full; free space and try again, nothing was stored"
	case ClassReadOnly:
		return protocol.CodeStorageReadOnly,
			"the VM's database cannot be written; check the owner and mode of its file and of its directory"
	case ClassResultLimit:
		return protocol.CodeSQLiteResultLimit,
			"the answer is larger than limits.sqlite.maxResultBytes; ask for less at a time or raise it"
	case ClassTooLarge:
		return protocol.CodeResourceLimit,
			"one value is larger than the VM's database takes at once"
	case ClassIO, ClassClosed, ClassBusy:
		return protocol.CodeStorageUnavailable,
			"the VM's database cannot be reached at the moment; try again"
	case ClassCorrupt:
		return protocol.CodeStorageError,
			"the VM's database is damaged; run agentos doctor, and restore a backup if it agrees"
	default:
		return protocol.CodeStorageError,
			"the VM's database refused the request; nothing was stored"
	}
}
