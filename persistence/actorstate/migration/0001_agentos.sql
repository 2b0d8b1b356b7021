-- The actor tables of AgentOS 0.2.x.

-- Tokens that let somebody see a port of the VM for a while.
CREATE TABLE agentos_actor_preview_tokens (
	token TEXT PRIMARY KEY CHECK (length(token) = 48 AND token NOT GLOB '*[^0-9a-f]*'),
	port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
	created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
	expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms)
) STRICT;

CREATE INDEX agentos_actor_preview_tokens_by_expiry ON agentos_actor_preview_tokens (expires_at_ms);

-- Mounts that were added after the VM was made.
CREATE TABLE agentos_actor_dynamic_mounts (
	path TEXT PRIMARY KEY CHECK (substr(path, 1, 1) = '/'),
	descriptor_json TEXT NOT NULL CHECK (json_valid(descriptor_json) AND json_type(descriptor_json) = 'object')
) STRICT;

-- Software that was linked into the VM after it was made.
CREATE TABLE agentos_actor_linked_software (
	path TEXT PRIMARY KEY CHECK (substr(path, 1, 1) = '/'),
	descriptor_json TEXT NOT NULL CHECK (json_valid(descriptor_json) AND json_type(descriptor_json) = 'object')
) STRICT;
