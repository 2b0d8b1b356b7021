-- What our sessions keep beyond AgentOS: custom agents, how an adapter session
-- came to be, what was on its way when the runtime died, idempotency keys that
-- outlive their prompts, a queue, and counters over the whole VM.

-- The command of an agent that is not in the catalog: argv, and the names of
-- the environment variables it inherits.
ALTER TABLE agentos_core_sessions ADD COLUMN launch_json TEXT CHECK (
	launch_json IS NULL
	OR (json_valid(launch_json) AND json_type(launch_json) = 'object' AND json_type(launch_json, '$.argv') IS 'array')
);

-- The adapter session still needs its continuation.
ALTER TABLE agentos_core_sessions ADD COLUMN armed INTEGER NOT NULL DEFAULT 0 CHECK (
	armed = 0 OR (armed = 1 AND acp_session_id IS NOT NULL)
);

-- The adapter session was prompted at least once.
ALTER TABLE agentos_core_sessions ADD COLUMN prompted INTEGER NOT NULL DEFAULT 0 CHECK (
	prompted = 0 OR (prompted = 1 AND acp_session_id IS NOT NULL)
);

ALTER TABLE agentos_core_sessions ADD COLUMN restored_by TEXT CHECK (
	restored_by IS NULL OR restored_by IN ('live', 'resume', 'load', 'continuation', 'new')
);

-- Adapter session ids of before, never thrown away.
ALTER TABLE agentos_core_sessions ADD COLUMN previous_acp_json TEXT NOT NULL DEFAULT '[]' CHECK (
	json_valid(previous_acp_json) AND json_type(previous_acp_json) = 'array'
);

-- The session is deleted; what is left of its rows is being swept.
ALTER TABLE agentos_core_sessions ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1));

-- Sweeps that a crash interrupted are found without a scan.
CREATE INDEX agentos_core_sessions_deleting ON agentos_core_sessions (session_id) WHERE deleting = 1;

-- The event was stored by recovery: more may have been shown than it holds.
ALTER TABLE agentos_core_events ADD COLUMN incomplete INTEGER NOT NULL DEFAULT 0 CHECK (incomplete IN (0, 1));

-- What is known of a run of chunks before its event is stored, a part a
-- checkpoint. The transaction that stores the event deletes the parts.
CREATE TABLE agentos_core_open_parts (
	session_id TEXT NOT NULL CHECK (length(session_id) BETWEEN 1 AND 256),
	run TEXT NOT NULL CHECK (length(run) BETWEEN 1 AND 256),
	part INTEGER NOT NULL CHECK (part BETWEEN 1 AND 9007199254740991),
	acp_protocol_version INTEGER NOT NULL CHECK (acp_protocol_version >= 1),
	payload TEXT NOT NULL CHECK (json_valid(payload)),
	PRIMARY KEY (session_id, run, part)
) STRICT;

-- Idempotency keys of prompts whose rows were pruned. Without an outcome it is
-- only known that the key was used.
CREATE TABLE agentos_core_prompt_keys (
	session_id TEXT NOT NULL CHECK (length(session_id) BETWEEN 1 AND 256),
	key TEXT NOT NULL CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 256),
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	prompt_id TEXT NOT NULL CHECK (length(prompt_id) BETWEEN 1 AND 256),
	outcome TEXT CHECK (outcome IS NULL OR (json_valid(outcome) AND json_type(outcome) = 'object')),
	ended_at_ms INTEGER NOT NULL CHECK (ended_at_ms >= 0),
	PRIMARY KEY (session_id, key)
) STRICT;

-- The oldest keys of a session, for pruning.
CREATE INDEX agentos_core_prompt_keys_by_age ON agentos_core_prompt_keys (session_id, ended_at_ms, key);

-- Prompts that wait for their turn. They have no events yet, so their content
-- is here.
CREATE TABLE agentos_core_prompt_queue (
	session_id TEXT NOT NULL CHECK (length(session_id) BETWEEN 1 AND 256),
	queue_id TEXT NOT NULL CHECK (length(queue_id) BETWEEN 1 AND 256),
	position INTEGER NOT NULL CHECK (position BETWEEN 1 AND 9007199254740991),
	content TEXT NOT NULL CHECK (json_valid(content) AND json_type(content) = 'array'),
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	key TEXT CHECK (key IS NULL OR length(CAST(key AS BLOB)) BETWEEN 1 AND 256),
	created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
	PRIMARY KEY (session_id, queue_id),
	UNIQUE (session_id, position),
	UNIQUE (session_id, key)
) STRICT;

-- Counters over the VM, so that its limits need no count.
CREATE TABLE agentos_core_totals (
	singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
	sessions INTEGER NOT NULL CHECK (sessions >= 0),
	prompts INTEGER NOT NULL CHECK (prompts >= 0),
	pending INTEGER NOT NULL CHECK (pending >= 0),
	outcomes INTEGER NOT NULL CHECK (outcomes >= 0)
) STRICT;

INSERT INTO agentos_core_totals (singleton, sessions, prompts, pending, outcomes) VALUES (
	1,
	(SELECT count(*) FROM agentos_core_sessions),
	(SELECT count(*) FROM agentos_core_prompts),
	(SELECT count(*) FROM agentos_core_permission_records WHERE state = 'pending'),
	(SELECT count(*) FROM agentos_core_permission_outcomes)
);

-- AgentOS does not say whether an adapter session was ever prompted. Any prompt
-- of the session counts: taken wrongly for prompted, an adapter session that is
-- gone costs one more attempt; taken wrongly for unprompted, one that is there
-- would be given up at the first error.
UPDATE agentos_core_sessions SET prompted = 1
WHERE acp_session_id IS NOT NULL
	AND EXISTS (SELECT 1 FROM agentos_core_prompts AS p WHERE p.session_id = agentos_core_sessions.session_id);

-- Counters of sessions follow the event rows (S12.3). The latest sequence never
-- goes back: numbers that were given out stay used.
UPDATE agentos_core_sessions SET
	latest_sequence = c.latest,
	oldest_retained_sequence = c.oldest,
	retained_event_count = c.events,
	retained_event_bytes = c.bytes
FROM (
	SELECT
		s.session_id AS id,
		count(e.sequence) AS events,
		coalesce(sum(e.payload_bytes), 0) AS bytes,
		max(s.latest_sequence, coalesce(max(e.sequence), 0)) AS latest,
		min(coalesce(min(e.sequence), s.latest_sequence + 1), 9007199254740991) AS oldest
	FROM agentos_core_sessions AS s
	LEFT JOIN agentos_core_events AS e ON e.session_id = s.session_id
	GROUP BY s.session_id
) AS c
WHERE c.id = session_id
	AND (latest_sequence, oldest_retained_sequence, retained_event_count, retained_event_bytes)
		IS NOT (c.latest, c.oldest, c.events, c.bytes);
