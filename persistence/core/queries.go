package core

// The columns that scan reads, in its order. The aliases are s for sessions, p
// for prompts, r for permission records and e for events.
const (
	sessionColumns = `s.session_id, s.agent, s.launch_json, s.cwd, s.permission_policy, s.skip_os_instructions,
	s.additional_instructions, s.additional_directories_json, s.env_json, s.mcp_servers_json,
	s.state, s.state_prompt_id, s.state_started_at_ms,
	s.acp_session_id, s.prompted, s.armed, s.restored_by, s.previous_acp_json, s.capabilities_json, s.agent_info_json,
	s.config_revision, s.config_options_json, s.title, s.metadata_json,
	s.latest_sequence, s.oldest_retained_sequence, s.retained_event_count, s.retained_event_bytes,
	s.created_at_ms, s.updated_at_ms`

	promptColumns = `p.prompt_id, p.idempotency_key, p.input_hash, p.state, p.result_json, p.error_json,
	p.first_input_sequence, p.last_output_sequence, p.created_at_ms, p.updated_at_ms`

	recordColumns = `r.request_id, r.prompt_id, r.state, r.request_json, r.response_json,
	r.terminal_reason, r.terminal_sequence, r.created_at_ms, r.updated_at_ms`

	eventColumns = `e.sequence, e.occurred_at_ms, e.acp_protocol_version, e.event_kind, e.correlation_id,
	e.payload_json, e.outcome_status, e.terminal_reason, e.incomplete`

	// pageColumns are eventColumns for many rows. What a driver does for each
	// column is what a page costs, so what most events do not have is one column,
	// and the payload comes as the bytes that it is wanted as.
	pageColumns = `e.sequence, e.occurred_at_ms, e.acp_protocol_version, CAST(e.payload_json AS BLOB),
	CASE WHEN e.event_kind <> 'session_update' OR e.incomplete THEN
		json_object('kind', e.event_kind, 'request', e.correlation_id, 'status', e.outcome_status,
			'reason', e.terminal_reason, 'incomplete', e.incomplete) END`
)

// The statements that read.
const (
	// loadSession: the row, the time of its newest event, why its prompt failed,
	// whether anything is queued, and its accepted prompt.
	loadSession = `SELECT ` + sessionColumns + `,
	(SELECT e.occurred_at_ms FROM agentos_core_events AS e
		WHERE e.session_id = s.session_id ORDER BY e.sequence DESC LIMIT 1),
	f.error_json,
	EXISTS (SELECT 1 FROM agentos_core_prompt_queue AS q WHERE q.session_id = s.session_id),
	` + promptColumns + `
FROM agentos_core_sessions AS s
LEFT JOIN agentos_core_prompts AS f
	ON f.session_id = s.session_id AND f.prompt_id = s.state_prompt_id AND s.state = 'failed'
LEFT JOIN agentos_core_prompts AS p
	ON p.session_id = s.session_id AND p.state = 'accepted'
WHERE s.session_id = ? AND s.deleting = 0`

	loadPending = `SELECT ` + recordColumns + `
FROM agentos_core_permission_records AS r
WHERE r.session_id = ? AND r.prompt_id = ? AND r.state = 'pending'
ORDER BY r.created_at_ms, r.rowid`

	loadQueue = `SELECT q.queue_id, q.position, q.content, q.hash, q.key, q.created_at_ms
FROM agentos_core_prompt_queue AS q WHERE q.session_id = ? ORDER BY q.position`

	acceptedSessions = `SELECT p.session_id
FROM agentos_core_prompts AS p
JOIN agentos_core_sessions AS s ON s.session_id = p.session_id AND s.deleting = 0
WHERE p.state = 'accepted'
ORDER BY p.session_id`

	// A page of history that is not too large: a row with the session's bounds,
	// without a payload, and one walk along an index. One statement, so that both
	// are of one moment.
	historyAfter = `SELECT latest_sequence, oldest_retained_sequence, NULL, NULL, NULL
FROM agentos_core_sessions WHERE session_id = ? AND deleting = 0
UNION ALL SELECT * FROM (
	SELECT ` + pageColumns + ` FROM agentos_core_events AS e
	WHERE e.session_id = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?
)`

	historyBefore = `SELECT latest_sequence, oldest_retained_sequence, NULL, NULL, NULL
FROM agentos_core_sessions WHERE session_id = ? AND deleting = 0
UNION ALL SELECT * FROM (
	SELECT ` + pageColumns + ` FROM agentos_core_events AS e
	WHERE e.session_id = ? AND e.sequence < ? ORDER BY e.sequence DESC LIMIT ?
)`

	// One that is too large is chosen by size before any payload is read:
	// octet_length looks at a row's header only.
	largeAfter = `SELECT latest_sequence, oldest_retained_sequence, NULL, NULL, NULL
FROM agentos_core_sessions WHERE session_id = ? AND deleting = 0
UNION ALL SELECT ` + pageColumns + `
FROM (
	SELECT sequence, sum(size) OVER (ORDER BY sequence ROWS UNBOUNDED PRECEDING) - size AS bytes_before
	FROM (
		SELECT sequence, octet_length(payload_json) AS size FROM agentos_core_events
		WHERE session_id = ? AND sequence > ? ORDER BY sequence LIMIT ?
	)
) AS page
JOIN agentos_core_events AS e ON e.session_id = ? AND e.sequence = page.sequence
WHERE page.bytes_before < ?`

	largeBefore = `SELECT latest_sequence, oldest_retained_sequence, NULL, NULL, NULL
FROM agentos_core_sessions WHERE session_id = ? AND deleting = 0
UNION ALL SELECT ` + pageColumns + `
FROM (
	SELECT sequence, sum(size) OVER (ORDER BY sequence DESC ROWS UNBOUNDED PRECEDING) - size AS bytes_before
	FROM (
		SELECT sequence, octet_length(payload_json) AS size FROM agentos_core_events
		WHERE session_id = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?
	)
) AS page
JOIN agentos_core_events AS e ON e.session_id = ? AND e.sequence = page.sequence
WHERE page.bytes_before < ?`

	eventRange = `SELECT ` + eventColumns + `
FROM agentos_core_events AS e
WHERE e.session_id = ? AND e.sequence BETWEEN ? AND ?
ORDER BY e.sequence`

	listSessions = `SELECT s.session_id, s.agent, s.cwd, s.additional_directories_json, s.state, s.state_prompt_id, p.error_json,
	s.latest_sequence, s.oldest_retained_sequence, s.retained_event_count, s.retained_event_bytes,
	s.title, s.created_at_ms, s.updated_at_ms
FROM agentos_core_sessions AS s
LEFT JOIN agentos_core_prompts AS p
	ON p.session_id = s.session_id AND p.prompt_id = s.state_prompt_id AND s.state = 'failed'
WHERE s.deleting = 0 AND s.updated_at_ms <= ? AND (s.updated_at_ms < ? OR s.session_id > ?)
ORDER BY s.updated_at_ms DESC, s.session_id
LIMIT ?`

	promptByID = `SELECT ` + promptColumns + ` FROM agentos_core_prompts AS p WHERE p.session_id = ? AND p.prompt_id = ?`

	promptByKey = `SELECT ` + promptColumns + ` FROM agentos_core_prompts AS p WHERE p.session_id = ? AND p.idempotency_key = ?`

	keyByName = `SELECT hash FROM agentos_core_prompt_keys WHERE session_id = ? AND key = ?`

	recordByID = `SELECT ` + recordColumns + ` FROM agentos_core_permission_records AS r WHERE r.session_id = ? AND r.request_id = ?`

	outcomeByID = `SELECT terminal_reason FROM agentos_core_permission_outcomes WHERE session_id = ? AND request_id = ?`
)
