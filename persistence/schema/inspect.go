package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentos/persistence"
	"agentos/protocol"
)

// Plan is what Inspect found, and so what Run has to do.
type Plan struct {
	New    bool // the database had no table at all, but for the host's own
	Owners []Position
}

// Position is where one owner's ladder stands.
type Position struct {
	Owner    Owner
	Found    int  // version in the database; 0 if none
	Recorded bool // the version table is there
}

// Steps returns how many steps are missing, over all owners.
func (p Plan) Steps() int {
	n := 0
	for _, o := range p.Owners {
		n += o.Owner.top() - o.Found
	}
	return n
}

// maxSchemaBytes bounds the list of table names. A host may have many tables of
// its own; a list this long is no list of tables.
const maxSchemaBytes = 16 << 20

// Inspect reads the versions of all owners and judges them, and writes nothing.
//
// Errors are *protocol.Error: CodeFutureSchema for a version above the ladder,
// CodeCorruptSchema for a version table that does not hold exactly one sound
// version or is missing beside tables of its owner, CodeNotAVMDatabase if there
// are tables but no version table of any owner. The first two carry the details
// owner, found and supported. A ladder that is malformed is a plain error.
//
// It runs inside Source.Open, before the handle has written anything, so that a
// database that is refused stays as it is, byte for byte (S2.4).
func Inspect(q persistence.Querier, owners []Owner) (Plan, error) {
	for _, o := range owners {
		if err := o.validate(); err != nil {
			return Plan{}, fmt.Errorf("inspect schema: %w", err)
		}
	}
	tables, err := readTables(q, owners)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{New: len(tables) == 0}
	known := false
	for _, o := range owners {
		_, has := tables[o.VersionTable]
		known = known || has
	}
	if !plan.New && !known {
		return Plan{}, protocol.Errorf(protocol.CodeNotAVMDatabase,
			"the database has tables, but none that say it belongs to a VM; name a VM's database or a new file")
	}
	versions, err := readVersions(q, owners, tables)
	if err != nil {
		return Plan{}, err
	}
	for _, o := range owners {
		at, err := judge(o, tables, versions[o.VersionTable])
		if err != nil {
			return Plan{}, err
		}
		plan.Owners = append(plan.Owners, at)
	}
	return plan, nil
}

// table is what is known of one table or view.
type table struct {
	kind    string
	columns string // names joined by commas; version tables only
	strict  bool   // version tables only
}

// versionColumns is the shape of every version table.
const versionColumns = "singleton,schema_version"

// readTables returns every table and view that is neither SQLite's nor the
// host's. The host of an actor database keeps tables of its own in it, some of
// them from before the first opening by us, and they are nobody's business here.
func readTables(q persistence.Querier, owners []Owner) (map[string]table, error) {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(owners)), ", ")
	args := make([]persistence.Value, len(owners))
	for i, o := range owners {
		args[i] = o.VersionTable
	}
	rows, err := q.Query(context.Background(), persistence.Query{
		SQL: `SELECT m.name, m.type, v.columns, v.strict
FROM sqlite_schema AS m
LEFT JOIN (
	SELECT s.name,
		(SELECT group_concat(c.name) FROM pragma_table_info(s.name) AS c) AS columns,
		(SELECT max(l.strict) FROM pragma_table_list(s.name) AS l WHERE l.schema = 'main') AS strict
	FROM sqlite_schema AS s
	WHERE s.name IN (` + marks + `) AND s.type = 'table'
) AS v ON v.name = m.name
WHERE m.type IN ('table', 'view')
	AND m.name NOT GLOB 'sqlite[_]*' AND m.name NOT GLOB '[_]rivet*' AND m.name NOT GLOB '[_][_]rivet*'`,
		Args:     args,
		MaxBytes: maxSchemaBytes,
	})
	if err != nil {
		return nil, openError(err)
	}
	tables := make(map[string]table, len(rows))
	for _, row := range rows {
		name, _ := row[0].(string)
		t := table{}
		t.kind, _ = row[1].(string)
		t.columns, _ = row[2].(string)
		strict, _ := row[3].(int64)
		t.strict = strict == 1
		tables[name] = t
	}
	return tables, nil
}

// openError tells a file that is no database from one that cannot be read now.
func openError(err error) error {
	const notADatabase = 26 // SQLITE_NOTADB
	var driver interface{ Code() int }
	if errors.As(err, &driver) && driver.Code()&0xff == notADatabase {
		return protocol.Errorf(protocol.CodeNotAVMDatabase,
			"the file is not a SQLite database; name a VM's database or a new file").Because(err)
	}
	return persistence.Err(err)
}

// readVersions returns up to two rows of every version table of the right
// shape: two are enough to know that there are too many.
func readVersions(q persistence.Querier, owners []Owner, tables map[string]table) (map[string][][]persistence.Value, error) {
	var parts []string
	for _, o := range owners {
		if tables[o.VersionTable].columns == versionColumns {
			parts = append(parts, fmt.Sprintf(
				"SELECT * FROM (SELECT '%s', singleton, schema_version FROM %s LIMIT 2)", o.VersionTable, o.VersionTable))
		}
	}
	versions := make(map[string][][]persistence.Value)
	if len(parts) == 0 {
		return versions, nil
	}
	rows, err := q.Query(context.Background(), persistence.Query{SQL: strings.Join(parts, "\nUNION ALL\n"), MaxBytes: maxSchemaBytes})
	if err != nil {
		return nil, persistence.Err(err)
	}
	for _, row := range rows {
		name, _ := row[0].(string)
		versions[name] = append(versions[name], row[1:])
	}
	return versions, nil
}

// judge decides where one owner stands, or that it cannot be used.
func judge(o Owner, tables map[string]table, rows [][]persistence.Value) (Position, error) {
	t, recorded := tables[o.VersionTable]
	if !recorded {
		for name := range tables {
			if strings.HasPrefix(name, o.Prefix) {
				return Position{}, corrupt(o, nil, fmt.Sprintf("has the table %s but no version table", name))
			}
		}
		return Position{Owner: o}, nil
	}
	if t.kind != "table" || t.columns != versionColumns {
		return Position{}, corrupt(o, nil, "has a version table of another shape")
	}
	if len(rows) != 1 {
		return Position{}, corrupt(o, nil, "has a version table with no row or with several")
	}
	if one, ok := rows[0][0].(int64); !ok || one != 1 {
		return Position{}, corrupt(o, nil, "has a version row that is not row 1")
	}
	found, ok := rows[0][1].(int64)
	switch {
	case !ok:
		return Position{}, corrupt(o, describe(rows[0][1]), "has a version that is not an integer")
	case found < 0:
		return Position{}, corrupt(o, found, "has a negative version")
	case found > int64(o.top()):
		return Position{}, protocol.Errorf(protocol.CodeFutureSchema,
			"the %s tables have schema version %d and this program knows versions up to %d; use a newer program for this database",
			o.Name, found, o.top()).With("owner", o.Name).With("found", found).With("supported", o.top())
	case !t.strict:
		return Position{}, corrupt(o, found, "has a version table that is not STRICT")
	}
	return Position{Owner: o, Found: int(found), Recorded: true}, nil
}

// corrupt makes the error for a version that cannot be relied on.
func corrupt(o Owner, found any, what string) error {
	return protocol.Errorf(protocol.CodeCorruptSchema,
		"the %s owner %s (supported: versions up to %d); nothing was changed, restore a backup of the database",
		o.Name, what, o.top()).With("owner", o.Name).With("found", found).With("supported", o.top())
}

// describe names a version that is no integer, without a value of any length.
func describe(v persistence.Value) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		return fmt.Sprintf("%g", v)
	case string:
		return fmt.Sprintf("%.32q", v)
	default:
		return "a blob"
	}
}
