-- The core tables of AgentOS 0.2.x: the same columns in the same order and the
-- same CHECKs, so that either program can use a database the other one made.
--
-- All times are milliseconds since the Unix epoch. Sequences and revisions end
-- at 2^53 - 1, the largest integer that every JSON reader keeps exact.

-- One row a session: its state, what it was opened with, what its adapter last
-- said about itself, and counters over its events.
CREATE TABLE agentos_core_sessions (
	session_id TEXT PRIMARY KEY CHECK (length(session_id) BETWEEN 1 AND 256),
	agent TEXT NOT NULL CHECK (length(agent) BETWEEN 1 AND 256),
	acp_session_id TEXT,
	state TEXT NOT NULL CHECK (state IN ('idle', 'running', 'waiting', 'failed')),
	state_prompt_id TEXT,
	state_started_at_ms INTEGER,
	cwd TEXT NOT NULL CHECK (substr(cwd, 1, 1) = '/'),
	permission_policy TEXT NOT NULL CHECK (permission_policy IN ('allow_all', 'reject_all', 'ask')),
	skip_os_instructions INTEGER NOT NULL CHECK (skip_os_instructions IN (0, 1)),
	additional_instructions TEXT,
	additional_directories_json TEXT NOT NULL
		CHECK (json_valid(additional_directories_json) AND json_type(additional_directories_json) = 'array'),
	env_json TEXT NOT NULL CHECK (json_valid(env_json) AND json_type(env_json) = 'object'),
	mcp_servers_json TEXT NOT NULL CHECK (json_valid(mcp_servers_json) AND json_type(mcp_servers_json) = 'array'),
	capabilities_json TEXT CHECK (capabilities_json IS NULL OR json_valid(capabilities_json)),
	agent_info_json TEXT CHECK (agent_info_json IS NULL OR json_valid(agent_info_json)),
	config_revision INTEGER NOT NULL DEFAULT 0 CHECK (config_revision BETWEEN 0 AND 9007199254740991),
	config_options_json TEXT NOT NULL DEFAULT '[]'
		CHECK (json_valid(config_options_json) AND json_type(config_options_json) = 'array'),
	title TEXT,
	metadata_json TEXT CHECK (metadata_json IS NULL OR json_valid(metadata_json)),
	latest_sequence INTEGER NOT NULL DEFAULT 0 CHECK (latest_sequence BETWEEN 0 AND 9007199254740991),
	oldest_retained_sequence INTEGER NOT NULL DEFAULT 1 CHECK (oldest_retained_sequence BETWEEN 1 AND 9007199254740991),
	retained_event_count INTEGER NOT NULL DEFAULT 0 CHECK (retained_event_count >= 0),
	retained_event_bytes INTEGER NOT NULL DEFAULT 0 CHECK (retained_event_bytes >= 0),
	created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
	updated_at_ms INTEGER NOT NULL CHECK (updated_at_ms >= created_at_ms),
	CHECK (
		(state = 'idle' AND state_prompt_id IS NULL AND state_started_at_ms IS NULL)
		OR (state IN ('running', 'waiting', 'failed') AND state_prompt_id IS NOT NULL AND state_started_at_ms IS NOT NULL)
	)
) STRICT;

-- The history: what was said, byte for byte, in an envelope of scalars.
CREATE TABLE agentos_core_events (
	session_id TEXT NOT NULL,
	sequence INTEGER NOT NULL CHECK (sequence BETWEEN 1 AND 9007199254740991),
	occurred_at_ms INTEGER NOT NULL CHECK (occurred_at_ms >= 0),
	acp_protocol_version INTEGER NOT NULL CHECK (acp_protocol_version >= 1),
	event_kind TEXT NOT NULL CHECK (event_kind IN ('session_update', 'permission_request', 'permission_response')),
	correlation_id TEXT CHECK (correlation_id IS NULL OR length(correlation_id) BETWEEN 1 AND 256),
	payload_json TEXT NOT NULL CHECK (json_valid(payload_json)),
	payload_bytes INTEGER NOT NULL CHECK (payload_bytes = length(CAST(payload_json AS BLOB))),
	outcome_status TEXT,
	terminal_reason TEXT CHECK (
		terminal_reason IS NULL
		OR terminal_reason IN ('already_resolved', 'prompt_cancelled', 'adapter_exited', 'session_deleted', 'vm_shutdown')
	),
	PRIMARY KEY (session_id, sequence),
	CHECK (
		(event_kind = 'session_update'
			AND correlation_id IS NULL AND outcome_status IS NULL AND terminal_reason IS NULL)
		OR (event_kind = 'permission_request'
			AND correlation_id IS NOT NULL AND outcome_status IS NULL AND terminal_reason IS NULL)
		OR (event_kind = 'permission_response'
			AND correlation_id IS NOT NULL AND outcome_status IN ('accepted', 'not_pending')
			AND ((outcome_status = 'accepted' AND terminal_reason IS NULL)
				OR (outcome_status = 'not_pending' AND terminal_reason IS NOT NULL)))
	)
) STRICT;

-- Prompts: what makes a second call with the same key the same prompt, and how
-- each ended. Their content is in the user events.
CREATE TABLE agentos_core_prompts (
	session_id TEXT NOT NULL,
	prompt_id TEXT NOT NULL,
	idempotency_key TEXT,
	input_hash BLOB NOT NULL CHECK (length(input_hash) = 32),
	state TEXT NOT NULL CHECK (state IN ('accepted', 'completed', 'failed', 'cancelled')),
	result_json TEXT CHECK (result_json IS NULL OR json_valid(result_json)),
	error_json TEXT CHECK (error_json IS NULL OR json_valid(error_json)),
	first_input_sequence INTEGER CHECK (first_input_sequence BETWEEN 1 AND 9007199254740991),
	last_output_sequence INTEGER CHECK (last_output_sequence BETWEEN 1 AND 9007199254740991),
	created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
	updated_at_ms INTEGER NOT NULL CHECK (updated_at_ms >= created_at_ms),
	PRIMARY KEY (session_id, prompt_id),
	UNIQUE (session_id, idempotency_key),
	CHECK (
		(state = 'completed' AND result_json IS NOT NULL AND error_json IS NULL)
		OR (state IN ('failed', 'cancelled') AND error_json IS NOT NULL AND result_json IS NULL)
		OR (state = 'accepted' AND result_json IS NULL AND error_json IS NULL)
	)
) STRICT;

-- Permission requests of the running turn.
CREATE TABLE agentos_core_permission_records (
	session_id TEXT NOT NULL,
	request_id TEXT NOT NULL,
	prompt_id TEXT NOT NULL,
	request_kind TEXT NOT NULL CHECK (request_kind = 'permission'),
	state TEXT NOT NULL CHECK (state IN ('pending', 'responded', 'terminal')),
	request_json TEXT NOT NULL CHECK (json_valid(request_json)),
	response_json TEXT CHECK (response_json IS NULL OR json_valid(response_json)),
	terminal_reason TEXT CHECK (
		terminal_reason IS NULL
		OR terminal_reason IN ('accepted', 'already_resolved', 'prompt_cancelled', 'adapter_exited', 'session_deleted', 'vm_shutdown')
	),
	terminal_sequence INTEGER CHECK (terminal_sequence BETWEEN 1 AND 9007199254740991),
	created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
	updated_at_ms INTEGER NOT NULL CHECK (updated_at_ms >= created_at_ms),
	PRIMARY KEY (session_id, request_id),
	CHECK (
		(state = 'pending' AND response_json IS NULL AND terminal_reason IS NULL AND terminal_sequence IS NULL)
		OR (state = 'responded' AND response_json IS NOT NULL AND terminal_reason IS NOT NULL)
		OR (state = 'terminal' AND terminal_reason IS NOT NULL)
	)
) STRICT;

-- How the permission requests of earlier turns ended, for answers that come late.
CREATE TABLE agentos_core_permission_outcomes (
	session_id TEXT NOT NULL,
	request_id TEXT NOT NULL,
	terminal_reason TEXT NOT NULL CHECK (
		terminal_reason IN ('accepted', 'already_resolved', 'prompt_cancelled', 'adapter_exited', 'session_deleted', 'vm_shutdown')
	),
	terminal_at_ms INTEGER NOT NULL CHECK (terminal_at_ms >= 0),
	PRIMARY KEY (session_id, request_id)
) STRICT;

-- The session list, newest activity first.
CREATE INDEX agentos_core_sessions_by_activity ON agentos_core_sessions (updated_at_ms DESC, session_id);

-- The oldest prompts that have ended, for pruning.
CREATE INDEX agentos_core_prompts_by_state ON agentos_core_prompts (state, updated_at_ms, session_id, prompt_id);

-- A session runs one prompt at a time, and recovery finds it without a scan.
CREATE UNIQUE INDEX agentos_core_prompts_one_active ON agentos_core_prompts (session_id) WHERE state = 'accepted';

-- The permission requests of a turn, at its end.
CREATE INDEX agentos_core_permission_records_by_prompt ON agentos_core_permission_records (session_id, prompt_id);

-- The oldest outcomes, for pruning.
CREATE INDEX agentos_core_permission_outcomes_by_age
	ON agentos_core_permission_outcomes (terminal_at_ms, session_id, request_id);
