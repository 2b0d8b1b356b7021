package guard

// Control is the descriptor of the guard's end of the control stream. Reports
// go out on it and commands come in, one a line.
const Control = 3

// Command is what the runtime may ask of the guard.
type Command string

// The commands.
const (
	// CommandTerm sends SIGTERM to the adapter's process group.
	CommandTerm Command = "term"
	// CommandKill sends SIGKILL to the adapter's group and every descendant.
	CommandKill Command = "kill"
)

// Stage says how far a start came.
type Stage string

// The stages.
const (
	StageDir     Stage = "dir"     // changing into the working directory
	StageProgram Stage = "program" // finding the program
	StageStart   Stage = "start"   // running it
)

// Report is one line of JSON from the guard. The first tells of the start:
// PID, or Error. After a start one with Exit follows when the adapter has
// ended, and one with Done when nothing of it is left. An end of the stream
// without Done means that the guard was killed.
type Report struct {
	PID       int    `json:"pid,omitempty"`
	PGID      int    `json:"pgid,omitempty"`
	StartTime uint64 `json:"startTime,omitempty"` // as in process.Process; 0 where it is not known

	Error string `json:"error,omitempty"`
	Errno int    `json:"errno,omitempty"`
	Stage Stage  `json:"stage,omitempty"`

	Exit   *int   `json:"exit,omitempty"`   // 128 and the signal's number for a signal
	Signal string `json:"signal,omitempty"` // its name, "killed" for instance

	Done bool `json:"done,omitempty"`
	Left int  `json:"left,omitempty"` // with Done: descendants that SIGKILL did not end in time
}
