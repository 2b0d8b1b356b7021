package core

import (
	"embed"

	"agentos/persistence/schema"
)

//go:embed migration/*.sql
var migrations embed.FS

// Owner owns the tables agentos_core_* (S2.2). Step 1 is the schema of AgentOS
// 0.2.x, the others are ours (S3).
var Owner = schema.Owner{
	Name:         "core",
	VersionTable: "agentos_core_schema_version",
	Prefix:       "agentos_core_",
	Steps:        schema.Ladder(migrations),
}
