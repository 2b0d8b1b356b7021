// Package schema brings one VM's database to the schema that this program
// works with (S2).
//
// A database has several owners. Each has its own tables, named with its own
// prefix, its own one-row version table and its own ladder of steps, and knows
// nothing of the others. Inspect reads and judges the versions of all owners
// before anything is written; Run then takes the steps that are missing, each
// in one transaction together with its version.
//
// It never looks at what is in the tables, never touches a table outside of the
// owners' namespaces, and never uses user_version or any pragma that writes.
//
// # Concurrency
//
// Nothing here keeps state. Inspect and Run block on the database and are
// called by whoever opens it, one after the other.
package schema

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Owner is one component with tables of its own.
type Owner struct {
	Name         string // as errors show it: "core"
	VersionTable string // "agentos_core_schema_version"
	Prefix       string // every table and index of the owner starts with it: "agentos_core_"
	Steps        []Step // the ladder, from version 1, without a gap; append only once released
}

// Step is one rung of a ladder.
type Step struct {
	Version int
	Stmts   []string // run in order, in one transaction with the version row
}

// top is the version that the owner's ladder ends at.
func (o Owner) top() int { return len(o.Steps) }

// validate finds the mistakes a programmer can make with an Owner.
func (o Owner) validate() error {
	if o.Name == "" || o.Prefix == "" || !strings.HasPrefix(o.VersionTable, o.Prefix) || !identifier(o.VersionTable) {
		return fmt.Errorf("owner %q: version table %q and prefix %q do not go together", o.Name, o.VersionTable, o.Prefix)
	}
	if len(o.Steps) == 0 {
		return fmt.Errorf("owner %q has no steps", o.Name)
	}
	for i, s := range o.Steps {
		if s.Version != i+1 {
			return fmt.Errorf("owner %q: step %d has version %d", o.Name, i+1, s.Version)
		}
		if len(s.Stmts) == 0 {
			return fmt.Errorf("owner %q: step %d is empty", o.Name, i+1)
		}
	}
	return nil
}

// identifier reports whether name can stand in SQL unquoted: version tables are
// named by their owners, and a parameter cannot stand for a table.
func identifier(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == "" && name[0] > '9'
}

// Ladder reads steps from the files migration/NNNN_name.sql of fsys, which an
// owner embeds. It panics if they are not a ladder: that is a mistake in the
// program, found by any test.
func Ladder(fsys fs.FS) []Step {
	names, err := fs.Glob(fsys, "migration/*.sql")
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	steps := make([]Step, 0, len(names))
	for i, name := range names { // Glob sorts
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || len(number) != 4 || version != i+1 {
			panic(fmt.Sprintf("schema: %s is not step %04d", name, i+1))
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			panic(fmt.Sprintf("schema: %v", err))
		}
		steps = append(steps, Step{Version: version, Stmts: split(string(text))})
	}
	return steps
}

// split cuts a file into statements. A statement ends at a semicolon that ends
// a line; a comment has lines of its own and is dropped, so that databases do
// not carry it in their schema. That is all of SQL that the ladders need; a
// trigger would need more.
func split(text string) []string {
	var stmts []string
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if bare := strings.TrimSpace(line); bare == "" || strings.HasPrefix(bare, "--") {
			continue
		}
		last, ends := strings.CutSuffix(line, ";")
		lines = append(lines, last)
		if ends {
			stmts = append(stmts, strings.Join(lines, "\n"))
			lines = nil
		}
	}
	if len(lines) > 0 {
		panic(fmt.Sprintf("schema: the last statement has no semicolon: %q", lines[0]))
	}
	return stmts
}
