package core

// The statements of a sweep, one table each. Whatever is counted in the totals is
// taken off them in the same transaction.
const (
	deletingSessions = `SELECT session_id FROM agentos_core_sessions WHERE deleting = 1 ORDER BY session_id`

	isDeleting = `SELECT 1 FROM agentos_core_sessions WHERE session_id = ? AND deleting = 1`

	// sweepEvents is where a slice ends: the rows are cheap to find and may be
	// large to free.
	sweepEvents = `SELECT sequence, payload_bytes FROM agentos_core_events WHERE session_id = ? ORDER BY sequence LIMIT ?`

	deleteEvents = `DELETE FROM agentos_core_event_log WHERE session_key = ` + sessionKey + ` AND sequence <= ?`

	sweepPrompts = `SELECT prompt_id FROM agentos_core_prompts WHERE session_id = ? ORDER BY prompt_id LIMIT ?`

	deletePrompt = `DELETE FROM agentos_core_prompts WHERE session_id = ? AND prompt_id = ? RETURNING 1`

	sweepRecords = `SELECT request_id, state = 'pending' FROM agentos_core_permission_records
WHERE session_id = ? ORDER BY request_id LIMIT ?`

	deleteRecord = `DELETE FROM agentos_core_permission_records WHERE session_id = ? AND request_id = ? RETURNING 1`

	sweepOutcomes = `SELECT request_id FROM agentos_core_permission_outcomes WHERE session_id = ? ORDER BY request_id LIMIT ?`

	deleteOutcome = `DELETE FROM agentos_core_permission_outcomes WHERE session_id = ? AND request_id = ? RETURNING 1`

	sweepParts = `SELECT run, part FROM agentos_core_open_parts WHERE session_id = ? ORDER BY run, part LIMIT ?`

	deletePart = `DELETE FROM agentos_core_open_parts WHERE session_id = ? AND run = ? AND part = ? RETURNING 1`

	sweepKeys = `SELECT key FROM agentos_core_prompt_keys WHERE session_id = ? ORDER BY key LIMIT ?`

	deleteKey = `DELETE FROM agentos_core_prompt_keys WHERE session_id = ? AND key = ? RETURNING 1`

	sweepQueue = `SELECT queue_id FROM agentos_core_prompt_queue WHERE session_id = ? ORDER BY queue_id LIMIT ?`

	forgetName = `DELETE FROM agentos_core_session_keys WHERE session_id = ? RETURNING 1`

	deleteSession = `DELETE FROM agentos_core_sessions WHERE session_id = ? AND deleting = 1 RETURNING 1`
)
