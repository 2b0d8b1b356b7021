// Package actorstate is the actor owner of a VM's database: what belongs to the
// VM and not to one of its sessions or files. Its heart is the fence, which
// says which process may write and which transaction committed last (S2.6).
//
// It never touches the tables of another owner and decides nothing: it makes
// statements and reads rows.
//
// # Concurrency
//
// The functions keep no state. TakeFence runs where Tx may run, ReadFence where
// Query may.
package actorstate

import (
	"embed"

	"agentos/persistence/schema"
)

//go:embed migration/*.sql
var migrations embed.FS

// Owner owns the tables agentos_actor_* (S2.5).
var Owner = schema.Owner{
	Name:         "actor",
	VersionTable: "agentos_actor_schema_version",
	Prefix:       "agentos_actor_",
	Steps:        schema.Ladder(migrations),
}
