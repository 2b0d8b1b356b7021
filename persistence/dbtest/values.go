package dbtest

import (
	"math"
	"strings"
	"testing"

	"agentos/persistence"
)

// whitespaceJSON is JSON that does not survive being decoded and encoded.
const whitespaceJSON = "{ \"b\" : 1 ,\r\n\t\"a\":[ ],\"b\":1.0e0, \"k\":\"\\ud800 \\u0000 \\/\" }  "

var valuesCases = []testCase{
	{"RoundTrip", roundTrip},
	{"AsArgumentsOfAQuery", asArgumentsOfAQuery},
	{"CallersBytesAreTheCallers", callersBytesAreTheCallers},
	{"NoOtherTypes", noOtherTypes},
}

func roundTrip(t *testing.T, b *bench) {
	values := []struct {
		v     persistence.Value
		class string
	}{
		{nil, "null"},
		{int64(0), "integer"}, {int64(1), "integer"}, {int64(-1), "integer"},
		{int64(math.MaxInt64), "integer"}, {int64(math.MinInt64), "integer"}, {int64(1<<53 + 1), "integer"},
		{0.5, "real"}, {1.0, "real"}, {math.MaxFloat64, "real"}, {math.SmallestNonzeroFloat64, "real"}, {math.Inf(-1), "real"},
		{"", "text"}, {"text", "text"}, {"123", "text"}, {"nul \x00 in text \x00", "text"}, {"\x00", "text"},
		{"line\u2028separator\u2029 \U0001F600 e\u0301", "text"}, {`\ud800 \udfff`, "text"}, {whitespaceJSON, "text"}, {"2026-01-02 03:04:05", "text"},
		{strings.Repeat("five MiB of text ", 5<<20/17), "text"},
		{[]byte{}, "blob"}, {[]byte{0}, "blob"}, {[]byte("text"), "blob"}, {[]byte{0xff, 0xfe, 0x00}, "blob"},
	}
	db := b.db(t)
	st := persistence.Stmt{SQL: addCell}
	var want [][]persistence.Value
	for i, v := range values {
		st.Rows = append(st.Rows, []persistence.Value{int64(i), v.v})
		want = append(want, []persistence.Value{int64(i), v.v, v.class})
	}
	mustTx(t, db, wave(st))
	wantRows(t, db, want, allCells)
	// The other way round, over what the statements have bound before.
	mustTx(t, db, wave(one(`DELETE FROM cells`)))
	for i, j := 0, len(st.Rows)-1; i < j; i, j = i+1, j-1 {
		st.Rows[i][1], st.Rows[j][1] = st.Rows[j][1], st.Rows[i][1]
	}
	mustTx(t, db, wave(st))
	for i := range want {
		want[i][1], want[i][2] = values[len(values)-1-i].v, values[len(values)-1-i].class
	}
	wantRows(t, db, want, allCells)
}

func asArgumentsOfAQuery(t *testing.T, b *bench) {
	db := b.db(t)
	for _, v := range []persistence.Value{nil, int64(math.MinInt64), 0.1, "a\x00b", []byte{}, []byte{0}, whitespaceJSON} {
		wantRows(t, db, [][]persistence.Value{{v}}, `SELECT ?`, v)
	}
}

func callersBytesAreTheCallers(t *testing.T, b *bench) {
	db := b.db(t)
	blob := []byte("before")
	mustTx(t, db, wave(one(addCell, int64(1), blob)))
	copy(blob, "AFTER!")
	first := rows(t, db, allCells)
	copy(first[0][1].([]byte), "mine..")
	wantRows(t, db, [][]persistence.Value{{int64(1), []byte("before"), "blob"}}, allCells)
}

func noOtherTypes(t *testing.T, b *bench) {
	db := b.db(t)
	for _, v := range []persistence.Value{1, uint64(1), true, []string{"a"}} {
		refused(t, db, persistence.ClassOther, wave(one(addCell, int64(1), v)))
	}
	wantRows(t, db, nil, allCells)
}
