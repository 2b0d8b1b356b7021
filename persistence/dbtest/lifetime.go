package dbtest

import (
	"context"
	"errors"
	"testing"

	"agentos/persistence"
)

var lifetimeCases = []testCase{
	{"S2_4_InspectComesFirst", inspectComesFirst},
	{"S2_4_InspectRefuses", inspectRefuses},
	{"DataSurvivesClosing", dataSurvivesClosing},
	{"AfterClose", afterClose},
	{"IdleKeepsWorking", idleKeepsWorking},
}

func inspectComesFirst(t *testing.T, b *bench) {
	src := b.source(t)
	called := 0
	db, err := src.Open(func(q persistence.Querier) error {
		called++
		wantRows(t, q, [][]persistence.Value{{int64(0)}}, countTables)
		return nil
	})
	if err != nil || called != 1 {
		t.Fatalf("Open = %v after %d inspections; want one", err, called)
	}
	mustTx(t, db, wave(one(createItems)))
	mustTx(t, db, wave(items(1, 3)...))
	mustClose(t, db)
	db, err = src.Open(func(q persistence.Querier) error {
		wantRows(t, q, [][]persistence.Value{{int64(3)}}, countItems)
		return nil
	})
	if err != nil {
		t.Fatalf("Open again = %v", err)
	}
	mustClose(t, db)
}

func inspectRefuses(t *testing.T, b *bench) {
	src := b.source(t)
	refuse := func(persistence.Querier) error { return errRefused }
	if db, err := src.Open(refuse); !errors.Is(err, errRefused) || db != nil {
		t.Fatalf("Open = %v, %v; want the inspection's error", db, err)
	}
	db := open(t, src)
	mustTx(t, db, wave(one(createItems)))
	mustClose(t, db)
	if _, err := src.Open(refuse); !errors.Is(err, errRefused) {
		t.Fatalf("Open = %v; want the inspection's error", err)
	}
	db = open(t, src)
	wantRows(t, db, [][]persistence.Value{{int64(0)}}, countItems)
	mustClose(t, db)
}

func dataSurvivesClosing(t *testing.T, b *bench) {
	src := b.source(t)
	db := open(t, src)
	mustTx(t, db, wave(one(createItems)))
	for i := range 5 {
		mustTx(t, db, wave(items(i*10, i*10+9)...))
		mustClose(t, db)
		db = open(t, src)
		wantRows(t, db, [][]persistence.Value{{int64(i+1) * 10}}, countItems)
	}
	mustClose(t, db)
}

func afterClose(t *testing.T, b *bench) {
	src := b.source(t)
	db := open(t, src)
	mustTx(t, db, wave(one(createItems)))
	rows(t, db, countItems)
	mustClose(t, db)
	refused(t, db, persistence.ClassClosed, wave(items(1, 1)...))
	_, err := db.Query(context.Background(), persistence.Query{SQL: countItems})
	wantClass(t, err, persistence.ClassClosed)
	wantClass(t, db.Idle(), persistence.ClassClosed)
	db = open(t, src)
	wantRows(t, db, [][]persistence.Value{{int64(0)}}, countItems)
	mustClose(t, db)
}

func idleKeepsWorking(t *testing.T, b *bench) {
	db := b.db(t)
	for i := range int64(4) {
		if err := db.Idle(); err != nil {
			t.Fatalf("Idle = %v", err)
		}
		mustTx(t, db, wave(one(addItem, i, nil, int64(1))))
		if err := db.Idle(); err != nil {
			t.Fatalf("Idle = %v", err)
		}
		wantRows(t, db, [][]persistence.Value{{i + 1}}, countItems)
	}
}
