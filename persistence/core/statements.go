package core

// The statements that write. Each is for one row of arguments, has its
// parameters in the order of its row builder in rows.go, and changes one table,
// so that a handle can make one statement for many rows of any of them.
//
// A compare-and-set returns a row when it hit. Inserts that can meet a row of
// somebody else do nothing then and return no row: how a driver reports a
// broken constraint differs, a missing row does not.
const (
	// sessionKey finds the number of a session; its parameter is the session's id.
	sessionKey = `(SELECT session_key FROM agentos_core_session_keys WHERE session_id = ?)`

	insertSession = `INSERT INTO agentos_core_sessions (
	session_id, agent, launch_json, cwd, permission_policy, skip_os_instructions, additional_instructions,
	additional_directories_json, env_json, mcp_servers_json,
	state, state_prompt_id, state_started_at_ms,
	acp_session_id, prompted, armed, restored_by, previous_acp_json, capabilities_json, agent_info_json,
	config_revision, config_options_json, title, metadata_json,
	latest_sequence, oldest_retained_sequence, retained_event_count, retained_event_bytes,
	created_at_ms, updated_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING 1`

	// advanceSession is what every batch costs: the columns that change with
	// every turn and event, and the compare-and-set.
	advanceSession = `UPDATE agentos_core_sessions SET
	state = ?, state_prompt_id = ?, state_started_at_ms = ?,
	latest_sequence = ?, retained_event_count = ?, retained_event_bytes = ?, updated_at_ms = ?
WHERE session_id = ? AND latest_sequence = ? AND state = ? AND state_prompt_id IS ? AND deleting = 0
RETURNING 1`

	// extendSession is advanceSession for a batch in which no prompt begins or ends:
	// the session's activity stays where it is. Setting the column to the value it
	// has would move the row within its index all the same, which is a quarter of
	// what the update costs.
	extendSession = `UPDATE agentos_core_sessions SET
	state = ?, state_prompt_id = ?, state_started_at_ms = ?,
	latest_sequence = ?, retained_event_count = ?, retained_event_bytes = ?
WHERE session_id = ? AND latest_sequence = ? AND state = ? AND state_prompt_id IS ? AND deleting = 0 AND updated_at_ms = ?
RETURNING 1`

	// The columns that change with an adapter or its settings have updates of
	// their own: most batches leave them alone, and some of them are long.
	bindAdapter = `UPDATE agentos_core_sessions SET
	acp_session_id = ?, prompted = ?, armed = ?, restored_by = ?, previous_acp_json = ?,
	capabilities_json = ?, agent_info_json = ?
WHERE session_id = ? RETURNING 1`

	changeProfile = `UPDATE agentos_core_sessions SET
	config_revision = ?, config_options_json = ?, title = ?, metadata_json = ?
WHERE session_id = ? RETURNING 1`

	changeLaunch = `UPDATE agentos_core_sessions SET agent = ?, launch_json = ? WHERE session_id = ? RETURNING 1`

	markDeleted = `UPDATE agentos_core_sessions SET deleting = 1 WHERE session_id = ? RETURNING 1`

	// nameSession gives a session the number that its events have instead of its id.
	nameSession = `INSERT INTO agentos_core_session_keys (session_id) VALUES (?) ON CONFLICT DO NOTHING RETURNING 1`

	insertEvent = `INSERT INTO agentos_core_event_log (
	session_key, sequence, occurred_at_ms, acp_protocol_version, event_kind, correlation_id,
	payload_json, outcome_status, terminal_reason, incomplete
) VALUES (` + sessionKey + `, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	insertPrompt = `INSERT INTO agentos_core_prompts (
	session_id, prompt_id, idempotency_key, input_hash, state, result_json, error_json,
	first_input_sequence, last_output_sequence, created_at_ms, updated_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING 1`

	endPrompt = `UPDATE agentos_core_prompts SET
	state = ?, result_json = ?, error_json = ?, last_output_sequence = ?, updated_at_ms = ?
WHERE session_id = ? AND prompt_id = ? AND state = 'accepted' RETURNING 1`

	insertRecord = `INSERT INTO agentos_core_permission_records (
	session_id, request_id, prompt_id, request_kind, state, request_json, response_json,
	terminal_reason, terminal_sequence, created_at_ms, updated_at_ms
) VALUES (?, ?, ?, 'permission', ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING 1`

	closeRecord = `UPDATE agentos_core_permission_records SET
	state = ?, response_json = ?, terminal_reason = ?, terminal_sequence = ?, updated_at_ms = ?
WHERE session_id = ? AND request_id = ? AND state = 'pending' RETURNING 1`

	// deletePending takes away a record that the group closes and whose prompt
	// it ends: its outcome is written by insertOutcome, so that nothing waits for
	// an update of a row that is deleted next.
	deletePending = `DELETE FROM agentos_core_permission_records
WHERE session_id = ? AND request_id = ? AND state = 'pending' RETURNING 1`

	insertOutcome = `INSERT INTO agentos_core_permission_outcomes (
	session_id, request_id, terminal_reason, terminal_at_ms
) VALUES (?, ?, ?, ?)`

	// The records that earlier transactions closed become outcomes with the end
	// of their prompt, and are counted as such. Both only read records that are
	// closed already, and deleteClosed follows in the next wave.
	copyOutcomes = `INSERT INTO agentos_core_permission_outcomes (session_id, request_id, terminal_reason, terminal_at_ms)
SELECT session_id, request_id, terminal_reason, updated_at_ms FROM agentos_core_permission_records
WHERE session_id = ? AND prompt_id = ? AND state <> 'pending'`

	countOutcomes = `UPDATE agentos_core_totals SET outcomes = outcomes + (
	SELECT count(*) FROM agentos_core_permission_records
	WHERE session_id = ? AND prompt_id = ? AND state <> 'pending'
) WHERE singleton = 1 RETURNING 1`

	deleteClosed = `DELETE FROM agentos_core_permission_records
WHERE session_id = ? AND prompt_id = ? AND state <> 'pending'`

	insertQueued = `INSERT INTO agentos_core_prompt_queue (
	session_id, queue_id, position, content, hash, key, created_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING 1`

	editQueued = `UPDATE agentos_core_prompt_queue SET content = ?, hash = ?
WHERE session_id = ? AND queue_id = ? RETURNING 1`

	deleteQueued = `DELETE FROM agentos_core_prompt_queue WHERE session_id = ? AND queue_id = ? RETURNING 1`

	addTotals = `UPDATE agentos_core_totals SET
	sessions = sessions + ?, prompts = prompts + ?, pending = pending + ?, outcomes = outcomes + ?
WHERE singleton = 1 RETURNING 1`
)
