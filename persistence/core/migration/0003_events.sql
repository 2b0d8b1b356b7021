-- Events name their session by a number. An id of 36 characters stood in every
-- event and in its index entry, which was more than half of what an event cost
-- beside its payload; and the payload's size is what SQLite knows of it anyway.

CREATE TABLE agentos_core_session_keys (
	session_key INTEGER PRIMARY KEY,
	session_id TEXT NOT NULL UNIQUE CHECK (length(session_id) BETWEEN 1 AND 256)
) STRICT;

INSERT INTO agentos_core_session_keys (session_id) SELECT session_id FROM agentos_core_sessions ORDER BY session_id;

-- Events of no session are shown by nothing; those that a damaged database has are
-- kept all the same, for whoever repairs it.
INSERT INTO agentos_core_session_keys (session_id)
SELECT DISTINCT e.session_id FROM agentos_core_events AS e
WHERE NOT EXISTS (SELECT 1 FROM agentos_core_session_keys AS k WHERE k.session_id = e.session_id);

CREATE TABLE agentos_core_event_log (
	session_key INTEGER NOT NULL,
	sequence INTEGER NOT NULL CHECK (sequence BETWEEN 1 AND 9007199254740991),
	occurred_at_ms INTEGER NOT NULL CHECK (occurred_at_ms >= 0),
	acp_protocol_version INTEGER NOT NULL CHECK (acp_protocol_version >= 1),
	event_kind TEXT NOT NULL CHECK (event_kind IN ('session_update', 'permission_request', 'permission_response')),
	correlation_id TEXT CHECK (correlation_id IS NULL OR length(correlation_id) BETWEEN 1 AND 256),
	payload_json TEXT NOT NULL CHECK (json_valid(payload_json)),
	outcome_status TEXT,
	terminal_reason TEXT CHECK (
		terminal_reason IS NULL
		OR terminal_reason IN ('already_resolved', 'prompt_cancelled', 'adapter_exited', 'session_deleted', 'vm_shutdown')
	),
	incomplete INTEGER NOT NULL DEFAULT 0 CHECK (incomplete IN (0, 1)),
	PRIMARY KEY (session_key, sequence),
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

INSERT INTO agentos_core_event_log (
	session_key, sequence, occurred_at_ms, acp_protocol_version, event_kind, correlation_id,
	payload_json, outcome_status, terminal_reason, incomplete
)
SELECT k.session_key, e.sequence, e.occurred_at_ms, e.acp_protocol_version, e.event_kind, e.correlation_id,
	e.payload_json, e.outcome_status, e.terminal_reason, e.incomplete
FROM agentos_core_session_keys AS k
JOIN agentos_core_events AS e ON e.session_id = k.session_id
ORDER BY k.session_key, e.sequence;

DROP TABLE agentos_core_events;

-- The history as it always was, for whoever reads it.
CREATE VIEW agentos_core_events AS
SELECT k.session_id, e.sequence, e.occurred_at_ms, e.acp_protocol_version, e.event_kind, e.correlation_id,
	e.payload_json, octet_length(e.payload_json) AS payload_bytes, e.outcome_status, e.terminal_reason, e.incomplete
FROM agentos_core_session_keys AS k
JOIN agentos_core_event_log AS e ON e.session_key = k.session_key;
