package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentos/persistence"
	"agentos/protocol"
)

// Every class has its code, and no message quotes the driver.
func TestS14_Err(t *testing.T) {
	for _, tc := range []struct {
		outcome persistence.Outcome
		class   persistence.Class
		want    protocol.Code
	}{
		{persistence.NotCommitted, persistence.ClassMismatch, protocol.CodeStorageError},
		{persistence.NotCommitted, persistence.ClassConstraint, protocol.CodeStorageError},
		{persistence.NotCommitted, persistence.ClassFull, protocol.CodeStorageFull},
		{persistence.NotCommitted, persistence.ClassIO, protocol.CodeStorageUnavailable},
		{persistence.NotCommitted, persistence.ClassReadOnly, protocol.CodeStorageReadOnly},
		{persistence.NotCommitted, persistence.ClassBusy, protocol.CodeStorageUnavailable},
		{persistence.NotCommitted, persistence.ClassCorrupt, protocol.CodeStorageError},
		{persistence.NotCommitted, persistence.ClassResultLimit, protocol.CodeSQLiteResultLimit},
		{persistence.NotCommitted, persistence.ClassTooLarge, protocol.CodeResourceLimit},
		{persistence.NotCommitted, persistence.ClassClosed, protocol.CodeStorageUnavailable},
		{persistence.NotCommitted, persistence.ClassOther, protocol.CodeStorageError},
		{persistence.Unknown, persistence.ClassIO, protocol.CodeStorageOutcomeUnknown},
		{persistence.Unknown, persistence.ClassFull, protocol.CodeStorageOutcomeUnknown},
	} {
		cause := &persistence.Error{Outcome: tc.outcome, Class: tc.class, Err: errors.New("secret")}
		err := persistence.Err(fmt.Errorf("write: %w", cause))
		e := protocol.AsError(err, "")
		if e.Code != tc.want || strings.Contains(e.Message, "secret") || persistence.AsError(err) != cause {
			t.Errorf("Err(%v) = %v; want %s, without the driver's text, with the error in its chain", cause, err, tc.want)
		}
		if again := persistence.Err(err); again != err {
			t.Errorf("Err of its own result = %v", again)
		}
	}
}

func TestErr_LeavesOthersAlone(t *testing.T) {
	for _, err := range []error{nil, context.Canceled, errors.New("other"), protocol.Errorf(protocol.CodeVMFenced, "fenced")} {
		if got := persistence.Err(err); got != err {
			t.Errorf("Err(%v) = %v", err, got)
		}
	}
	wrapped := protocol.Errorf(protocol.CodeVMFenced, "fenced").Because(&persistence.Error{Class: persistence.ClassMismatch})
	if got := persistence.Err(wrapped); got != error(wrapped) {
		t.Errorf("Err(%v) = %v; want the code it had", wrapped, got)
	}
}
