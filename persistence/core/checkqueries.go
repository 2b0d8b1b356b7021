package core

// The reads of Check. Sums are over whole sessions, in the order of the tables'
// keys, and look at no payload.
const (
	checkSessions = `WITH page AS (
	SELECT session_id, state, state_prompt_id, latest_sequence, oldest_retained_sequence,
		retained_event_count, retained_event_bytes
	FROM agentos_core_sessions WHERE session_id > ? AND deleting = 0
	ORDER BY session_id LIMIT ?
), events AS (
	SELECT e.session_id, count(*) AS n, sum(e.payload_bytes) AS bytes,
		min(e.sequence) AS first, max(e.sequence) AS last
	FROM page AS s JOIN agentos_core_events AS e ON e.session_id = s.session_id
	GROUP BY e.session_id
), prompts AS (
	SELECT p.session_id, sum(p.state = 'accepted') AS accepted,
		sum(p.state = 'accepted' AND p.prompt_id = s.state_prompt_id) AS accepted_state,
		sum(p.state IN ('failed', 'cancelled') AND p.prompt_id = s.state_prompt_id) AS failed_state
	FROM page AS s JOIN agentos_core_prompts AS p ON p.session_id = s.session_id
	GROUP BY p.session_id
), records AS (
	SELECT r.session_id, count(*) AS n, sum(r.prompt_id = s.state_prompt_id) AS n_state,
		sum(r.state = 'pending') AS pending,
		sum(r.state = 'pending' AND r.prompt_id = s.state_prompt_id) AS pending_state
	FROM page AS s JOIN agentos_core_permission_records AS r ON r.session_id = s.session_id
	GROUP BY r.session_id
)
SELECT s.session_id, s.state, s.state_prompt_id, s.latest_sequence, s.oldest_retained_sequence,
	s.retained_event_count, s.retained_event_bytes,
	coalesce(e.n, 0), coalesce(e.bytes, 0), coalesce(e.first, 0), coalesce(e.last, 0),
	coalesce(p.accepted, 0), coalesce(p.accepted_state, 0), coalesce(p.failed_state, 0),
	coalesce(r.pending, 0), coalesce(r.pending_state, 0), coalesce(r.n, 0), coalesce(r.n_state, 0)
FROM page AS s
LEFT JOIN events AS e ON e.session_id = s.session_id
LEFT JOIN prompts AS p ON p.session_id = s.session_id
LEFT JOIN records AS r ON r.session_id = s.session_id
ORDER BY s.session_id`

	checkTotals = `SELECT
	sessions, (SELECT count(*) FROM agentos_core_sessions),
	prompts, (SELECT count(*) FROM agentos_core_prompts),
	pending, (SELECT count(*) FROM agentos_core_permission_records WHERE state = 'pending'),
	outcomes, (SELECT count(*) FROM agentos_core_permission_outcomes)
FROM agentos_core_totals`
)

// leftover makes the query for rows of table without a session.
func leftover(table string) string {
	return `SELECT t.session_id, count(*) FROM ` + table + ` AS t
WHERE NOT EXISTS (SELECT 1 FROM agentos_core_sessions AS s WHERE s.session_id = t.session_id)
GROUP BY t.session_id ORDER BY t.session_id LIMIT ?`
}

var leftoverTables = []struct{ name, sql string }{
	{"events", `SELECT coalesce(k.session_id, 'number ' || t.session_key), count(*) FROM agentos_core_event_log AS t
LEFT JOIN agentos_core_session_keys AS k ON k.session_key = t.session_key
WHERE NOT EXISTS (SELECT 1 FROM agentos_core_sessions AS s WHERE s.session_id = k.session_id)
GROUP BY t.session_key ORDER BY t.session_key LIMIT ?`},
	{"session numbers", leftover("agentos_core_session_keys")},
	{"prompts", leftover("agentos_core_prompts")},
	{"permission records", leftover("agentos_core_permission_records")},
	{"permission outcomes", leftover("agentos_core_permission_outcomes")},
	{"open parts", leftover("agentos_core_open_parts")},
	{"prompt keys", leftover("agentos_core_prompt_keys")},
	{"queued prompts", leftover("agentos_core_prompt_queue")},
}
