package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"agentos/persistence"
)

// ClassOf returns the class of an error of the driver's.
func ClassOf(err error) persistence.Class {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return persistence.ClassOther
	}
	switch e.Code() & 0xff { // the rest says which file or constraint
	case codes.SQLITE_FULL:
		return persistence.ClassFull
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN:
		return persistence.ClassIO
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return persistence.ClassReadOnly
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
		return persistence.ClassBusy
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH:
		return persistence.ClassConstraint
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return persistence.ClassCorrupt
	case codes.SQLITE_TOOBIG:
		return persistence.ClassTooLarge
	}
	return persistence.ClassOther
}

// NotADatabase reports whether err says that a file is no SQLite database at
// all, as opposed to a damaged one.
func NotADatabase(err error) bool { return primary(err) == codes.SQLITE_NOTADB }

func interrupted(err error) bool { return primary(err) == codes.SQLITE_INTERRUPT }

func primary(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return codes.SQLITE_OK
	}
	return e.Code() & 0xff
}

// rolledBackAlready recognizes the answer to ROLLBACK after SQLite has rolled
// back by itself, as it does when the disk is full. The driver has no call for
// that state and SQLite no code of its own.
func rolledBackAlready(err error) bool {
	return primary(err) == codes.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction is active")
}

func failed(class persistence.Class, err error) *persistence.Error {
	return &persistence.Error{Outcome: persistence.NotCommitted, Class: class, Wave: -1, Stmt: -1, Err: err}
}

func unknown(class persistence.Class, err error) *persistence.Error {
	return &persistence.Error{Outcome: persistence.Unknown, Class: class, Wave: -1, Stmt: -1, Err: err}
}

func errClosed() *persistence.Error {
	return failed(persistence.ClassClosed, errors.New("the database is closed"))
}

// runError describes a statement that failed while it ran.
func runError(sqlText string, err error) *persistence.Error {
	return failed(ClassOf(err), fmt.Errorf("run %q: %w", shorten(sqlText), withoutValues(err)))
}

// harmless are the texts of general errors that quote nothing.
var harmless = []string{"SQL logic error: malformed JSON (1)", "SQL logic error: integer overflow (1)"}

// withoutValues returns err, or an error without its text where the text may
// quote an argument, which may be a secret: a function's complaint (a JSON path,
// a search expression) and what a trigger raises.
func withoutValues(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case codes.SQLITE_ERROR:
		if slices.Contains(harmless, e.Error()) {
			return err
		}
	case codes.SQLITE_CONSTRAINT_TRIGGER, codes.SQLITE_CONSTRAINT_FUNCTION, codes.SQLITE_CONSTRAINT_VTAB:
	default:
		return err
	}
	return fmt.Errorf("SQLite error %d", e.Code())
}

// shorten returns a statement's text as it is shown in errors: one line.
func shorten(sqlText string) string {
	const most = 160
	text := strings.Join(strings.Fields(sqlText), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
