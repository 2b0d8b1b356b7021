-- Which process may write. Every opening takes the next epoch; every write
-- transaction leaves its key, if the epoch is still its own.
CREATE TABLE agentos_actor_fence (
	singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
	epoch INTEGER NOT NULL CHECK (epoch BETWEEN 0 AND 9007199254740991),
	-- Who took the epoch, for people.
	owner_json TEXT NOT NULL CHECK (json_valid(owner_json) AND json_type(owner_json) = 'object'),
	-- The last write transaction that committed; empty before the first.
	last_key TEXT NOT NULL CHECK (length(last_key) <= 256)
) STRICT;

INSERT INTO agentos_actor_fence (singleton, epoch, owner_json, last_key) VALUES (1, 0, '{}', '');

-- Settings of the VM, limits for instance. A setting without a row has its default.
CREATE TABLE agentos_actor_settings (
	name TEXT PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 256),
	value_json TEXT NOT NULL CHECK (json_valid(value_json))
) STRICT;
