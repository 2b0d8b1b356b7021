// Package vfs is the filesystem owner of a VM's database. It holds the owner's
// ladder, so that every database has the filesystem tables of AgentOS 0.2.x
// from its first opening and a version that is judged with the other owners'.
//
// It never reads or changes what is in those tables: what AgentOS stored in
// them stays as it is.
//
// # Concurrency
//
// The package is data only.
package vfs

import (
	"embed"

	"agentos/persistence/schema"
)

//go:embed migration/*.sql
var migrations embed.FS

// Owner owns the tables agentos_fs_* (S2.5).
var Owner = schema.Owner{
	Name:         "filesystem",
	VersionTable: "agentos_fs_schema_version",
	Prefix:       "agentos_fs_",
	Steps:        schema.Ladder(migrations),
}
