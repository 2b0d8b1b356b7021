-- The filesystem tables of AgentOS 0.2.x. AgentOS keeps the whole tree of a
-- namespace as one encoded text, cut into chunks; a head names the generation
-- of chunks that counts. File content is in blocks, found by the tree.

CREATE TABLE agentos_fs_metadata_heads (
	namespace TEXT PRIMARY KEY CHECK (length(namespace) > 0),
	generation INTEGER NOT NULL CHECK (generation >= 0),
	chunk_count INTEGER NOT NULL CHECK (chunk_count >= 0),
	byte_length INTEGER NOT NULL CHECK (byte_length >= 0)
) STRICT;

CREATE TABLE agentos_fs_metadata_chunks (
	namespace TEXT NOT NULL CHECK (length(namespace) > 0),
	generation INTEGER NOT NULL CHECK (generation >= 0),
	chunk_index INTEGER NOT NULL CHECK (chunk_index >= 0),
	content BLOB NOT NULL,
	PRIMARY KEY (namespace, generation, chunk_index)
) STRICT;

CREATE TABLE agentos_fs_blocks (
	namespace TEXT NOT NULL CHECK (length(namespace) > 0),
	block_key TEXT NOT NULL CHECK (length(block_key) > 0),
	content BLOB NOT NULL,
	PRIMARY KEY (namespace, block_key)
) STRICT;
