package acp

// Version is the version of the protocol that these views are of.
const Version = 1

// Methods of the agent.
const (
	MethodInitialize      = "initialize"
	MethodAuthenticate    = "authenticate"
	MethodNew             = "session/new"
	MethodLoad            = "session/load"
	MethodResume          = "session/resume"
	MethodClose           = "session/close"
	MethodList            = "session/list"
	MethodPrompt          = "session/prompt"
	MethodCancel          = "session/cancel" // a notification
	MethodSetMode         = "session/set_mode"
	MethodSetConfigOption = "session/set_config_option"
)

// Methods of the client.
const (
	MethodUpdate            = "session/update" // a notification
	MethodRequestPermission = "session/request_permission"
)

// Error codes of JSON-RPC and ACP.
const (
	CodeParseError         int64 = -32700
	CodeInvalidRequest     int64 = -32600
	CodeMethodNotFound     int64 = -32601
	CodeInvalidParams      int64 = -32602
	CodeInternalError      int64 = -32603
	CodeAuthRequired       int64 = -32000
	CodeNotFoundLegacy     int64 = -32001 // what older agents answer for a session they do not know
	CodeNotFound           int64 = -32002 // a resource, most of all a session
	CodeUnsupportedVersion int64 = -32022 // version 2 agents only
	CodeRequestCancelled   int64 = -32800
)
