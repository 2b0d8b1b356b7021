package protocol

// The codes. Each has its row in Codes.
const (
	CodeInvalidArgument         Code = "invalid_argument"
	CodeInvalidPrompt           Code = "invalid_prompt"
	CodeInvalidSessionID        Code = "invalid_session_id"
	CodeInvalidPermissionPolicy Code = "invalid_permission_policy"
	CodeInvalidPermissionOption Code = "invalid_permission_option"
	CodeInvalidHistoryCursor    Code = "invalid_history_cursor"
	CodeInvalidSessionCursor    Code = "invalid_session_cursor"
	CodeInvalidConfigValue      Code = "invalid_config_value"

	CodeSessionBusy Code = "session_busy"
	CodeVMInUse     Code = "vm_in_use"

	CodeSessionNotFound Code = "session_not_found"
	CodeVMNotFound      Code = "vm_not_found"
	CodeRequestNotFound Code = "request_not_found"
	CodeAgentNotFound   Code = "agent_not_found"

	CodePermissionRequired Code = "permission_required"

	CodePromptDeliveryUncertain Code = "prompt_delivery_uncertain"

	CodeSessionConflict         Code = "session_conflict"
	CodeSessionRestoreFailed    Code = "session_restore_failed"
	CodePolicyUnsatisfied       Code = "permission_policy_unsatisfied"
	CodeIdempotencyConflict     Code = "idempotency_conflict"
	CodeIdempotencyExpired      Code = "idempotency_result_expired"
	CodePromptInterrupted       Code = "prompt_interrupted"
	CodeHistoryCursorExpired    Code = "history_cursor_expired"
	CodeHistoryLimit            Code = "history_limit"
	CodeSessionListLimit        Code = "session_list_limit"
	CodeHistoryEventsLimit      Code = "acp_history_events_limit"
	CodeHistoryBytesLimit       Code = "acp_history_bytes_limit"
	CodeSessionsLimit           Code = "acp_sessions_limit"
	CodePromptsSessionLimit     Code = "acp_prompts_per_session_limit"
	CodePromptsVMLimit          Code = "acp_prompts_per_vm_limit"
	CodePermissionsSessionLimit Code = "acp_pending_permissions_per_session_limit"
	CodePermissionsVMLimit      Code = "acp_pending_permissions_per_vm_limit"
	CodePromptBytesLimit        Code = "acp_prompt_bytes_limit"
	CodePromptBlocksLimit       Code = "acp_prompt_blocks_limit"
	CodeResourceLimit           Code = "resource_limit"
	CodeSQLiteResultLimit       Code = "sqlite_result_limit"
	CodeStorageError            Code = "session_storage_error"
	CodeStorageUnavailable      Code = "session_storage_unavailable"
	CodeStorageOutcomeUnknown   Code = "storage_outcome_unknown"
	CodeStorageReadOnly         Code = "storage_read_only"
	CodeStorageFull             Code = "storage_full"
	CodeFutureSchema            Code = "future_schema"
	CodeCorruptSchema           Code = "corrupt_schema"
	CodeNotAVMDatabase          Code = "not_a_vm_database"
	CodeVMFenced                Code = "vm_fenced"
	CodeVMFailed                Code = "vm_failed"
	CodeCwdMissing              Code = "cwd_missing"
	CodeUnsupportedByAgent      Code = "unsupported_by_agent"
	CodeAgentError              Code = "agent_error"
	CodeAuthRequired            Code = "auth_required"
	CodeAdapterNotInstalled     Code = "adapter_not_installed"
	CodeAdapterExited           Code = "adapter_exited"
	CodeACPProtocolError        Code = "acp_protocol_error"
	CodeACPTimeout              Code = "acp_timeout"
	CodeACPTeardownTimeout      Code = "acp_teardown_timeout"
	CodeShuttingDown            Code = "shutting_down"
	CodeInternal                Code = "internal"
	CodeQueueLimit              Code = "acp_queued_prompts_per_session_limit"
)

// Exit codes of the command line (cli.md).
const (
	ExitOK                 = 0
	ExitFailed             = 1
	ExitUsage              = 2
	ExitBusy               = 3
	ExitNotFound           = 4
	ExitPermissionRequired = 5
	ExitDeliveryUncertain  = 6
	ExitInterrupted        = 130
)

// CodeInfo is what every border needs to know about a code.
type CodeInfo struct {
	Code      Code
	When      string // one clause: it is returned when ...
	Retryable bool   // the same call can succeed later without a change to it
	Exit      int    // exit code of the command line
	HTTP      int    // status over HTTP
}

// Codes is the one table of error codes (S14), in order of their exit codes.
// Append only.
var Codes = []CodeInfo{
	{CodeInvalidArgument, "an argument is missing, malformed or out of range", false, ExitUsage, 400},
	{CodeInvalidPrompt, "a prompt is empty or not an array of content blocks", false, ExitUsage, 400},
	{CodeInvalidSessionID, "a session id is empty, too long or not text", false, ExitUsage, 400},
	{CodeInvalidPermissionPolicy, "a policy is none of ask, allow_all, reject_all", false, ExitUsage, 400},
	{CodeInvalidPermissionOption, "an option was not among those offered", false, ExitUsage, 400},
	{CodeInvalidHistoryCursor, "a history cursor is above the latest sequence or negative", false, ExitUsage, 400},
	{CodeInvalidSessionCursor, "a session list cursor was not made by this runtime", false, ExitUsage, 400},
	{CodeInvalidConfigValue, "a config option does not take that value", false, ExitUsage, 400},

	{CodeSessionBusy, "a session is running another prompt", true, ExitBusy, 409},
	{CodeVMInUse, "another process holds the VM", true, ExitBusy, 409},

	{CodeSessionNotFound, "no session has that id", false, ExitNotFound, 404},
	{CodeVMNotFound, "no VM has that name", false, ExitNotFound, 404},
	{CodeRequestNotFound, "no permission request or queued prompt has that id", false, ExitNotFound, 404},
	{CodeAgentNotFound, "the catalog has no agent of that name", false, ExitNotFound, 404},

	{CodePermissionRequired, "the turn needs a permission and nobody can be asked", false, ExitPermissionRequired, 409},

	{CodePromptDeliveryUncertain, "the runtime died in the turn; the prompt is not sent again by itself", true, ExitDeliveryUncertain, 409},

	{CodeSessionConflict, "a session exists with another setting than the one given", false, ExitFailed, 409},
	{CodeSessionRestoreFailed, "the adapter could not bring its session back", true, ExitFailed, 502},
	{CodePolicyUnsatisfied, "the adapter offered no option that the policy may pick", false, ExitFailed, 409},
	{CodeIdempotencyConflict, "a key was used before with other content", false, ExitFailed, 409},
	{CodeIdempotencyExpired, "a key was used before and its result is no longer kept", false, ExitFailed, 410},
	{CodePromptInterrupted, "the session was unloaded or the VM stopped in the turn", true, ExitFailed, 409},
	{CodeHistoryCursorExpired, "events after the cursor were pruned", false, ExitFailed, 410},
	{CodeHistoryLimit, "more history entries were asked for than a page may have", false, ExitFailed, 400},
	{CodeSessionListLimit, "more sessions were asked for than a page may have", false, ExitFailed, 400},
	{CodeHistoryEventsLimit, "one write has more events than a history may keep", false, ExitFailed, 413},
	{CodeHistoryBytesLimit, "one write has more bytes than a history may keep", false, ExitFailed, 413},
	{CodeSessionsLimit, "the VM has as many sessions as it may", false, ExitFailed, 429},
	{CodePromptsSessionLimit, "the session has as many prompts as it may and none can be pruned", false, ExitFailed, 429},
	{CodePromptsVMLimit, "the VM has as many prompts as it may and none can be pruned", false, ExitFailed, 429},
	{CodePermissionsSessionLimit, "the session has as many pending permissions as it may", false, ExitFailed, 429},
	{CodePermissionsVMLimit, "the VM has as many pending permissions as it may", false, ExitFailed, 429},
	{CodePromptBytesLimit, "a prompt is larger than limits.acp.maxPromptBytes", false, ExitFailed, 413},
	{CodePromptBlocksLimit, "a prompt has more blocks than limits.acp.maxPromptBlocks", false, ExitFailed, 413},
	{CodeQueueLimit, "the session has as many queued prompts as it may", true, ExitFailed, 429},
	{CodeResourceLimit, "one value or the output of one turn is larger than its limit", false, ExitFailed, 413},
	{CodeSQLiteResultLimit, "one read is larger than limits.sqlite.maxResultBytes", false, ExitFailed, 413},
	{CodeStorageError, "the database refused a write or a read", true, ExitFailed, 500},
	{CodeStorageUnavailable, "the database cannot be reached", true, ExitFailed, 503},
	{CodeStorageOutcomeUnknown, "it is not known whether a write was stored; read before trying again", true, ExitFailed, 503},
	{CodeStorageReadOnly, "the database cannot be written", true, ExitFailed, 507},
	{CodeStorageFull, "the disk is full", true, ExitFailed, 507},
	{CodeFutureSchema, "the database was written by a newer version", false, ExitFailed, 500},
	{CodeCorruptSchema, "a schema version in the database is damaged", false, ExitFailed, 500},
	{CodeNotAVMDatabase, "the file is not a VM database", false, ExitFailed, 422},
	{CodeVMFenced, "another process has taken the VM over", false, ExitFailed, 409},
	{CodeVMFailed, "the VM failed too often and was stopped", true, ExitFailed, 503},
	{CodeCwdMissing, "the working directory does not exist", false, ExitFailed, 422},
	{CodeUnsupportedByAgent, "the agent does not support what was asked", false, ExitFailed, 422},
	{CodeAgentError, "the agent answered with an error", true, ExitFailed, 502},
	{CodeAuthRequired, "the agent wants its user to sign in", false, ExitFailed, 401},
	{CodeAdapterNotInstalled, "the agent's program was not found", false, ExitFailed, 424},
	{CodeAdapterExited, "the agent's process ended", true, ExitFailed, 502},
	{CodeACPProtocolError, "the agent broke the Agent Client Protocol", false, ExitFailed, 502},
	{CodeACPTimeout, "the agent did not answer in time", true, ExitFailed, 504},
	{CodeACPTeardownTimeout, "the agent's processes did not end in time", true, ExitFailed, 504},
	{CodeShuttingDown, "the runtime is stopping", true, ExitFailed, 503},
	{CodeInternal, "a bug or an unforeseen failure; its id is in the log", false, ExitFailed, 500},
}

// Info returns the row of c, and the row of CodeInternal for a code that has
// none (one from a newer peer).
func (c Code) Info() CodeInfo {
	for _, row := range Codes {
		if row.Code == c {
			return row
		}
	}
	return CodeInfo{Code: c, When: "a code this version does not know", Exit: ExitFailed, HTTP: 500}
}
