package scripted

import "agentos/adapters/scripted/script"

// directive is something a prompt may ask for, written [[name args]].
type directive struct {
	name string
	args string // as the help shows them
	help string
	// speaks: its last text carries the sentence about the tags, if no other
	// directive that speaks comes after it. A turn in which none speaks ends
	// with a message of its own for it. [[raw]] counts as speaking and leaves the
	// sentence out, so that a prompt that ends with it controls every byte.
	speaks bool
	// wholeLine: it reaches to the last ]] of its line, and its argument is
	// taken byte for byte.
	wholeLine bool
	// run does it. script.ErrUsage: the argument is not understood, which the reply
	// says before it goes on; errStop: the turn ends here; an *wire.Error: the
	// turn fails with it.
	run func(t *turn, arg string) error
}

// directives are all of them, in the order of the help.
var directives = []directive{
	{name: "chunks", args: "N", speaks: true, run: runChunks, help: "N deltas of text at once"},
	{name: "slow", args: "N MS", speaks: true, run: runSlow, help: "N deltas of text, MS milliseconds apart"},
	{name: "big", args: "BYTES", speaks: true, run: runBig, help: "one delta with exactly that many bytes of text"},
	{name: "think", run: runThink, help: "a thought, in two deltas"},
	{name: "late", args: "MS", run: runLate, help: "one more delta, that many milliseconds after the answer"},
	{name: "usage", speaks: true, run: runUsage, help: "a usage_update in the middle of a message"},
	{name: "title", args: "TEXT", run: runTitle, help: "gives the session that title"},
	{name: "raw", args: "JSON", speaks: true, wholeLine: true, run: runRaw, help: "that update, byte for byte, to the last ]] of the line"},

	{name: "tool", args: "NAME", run: runTool, help: "a tool call with two updates"},
	{name: "calls", args: "N", run: runCalls, help: "N finished tool calls"},
	{name: "ask", args: "[bare]", speaks: true, run: runAsk, help: "a permission request (allow, allow_always, reject, reject_always), then says which option was given; bare: for a tool call nobody was told of"},
	{name: "asks", args: "N", speaks: true, run: runAsks, help: "N permission requests at once, then says which option each was given"},

	{name: "write", args: "PATH TEXT", speaks: true, run: runWrite, help: "writes a file through the client"},
	{name: "read", args: "PATH", speaks: true, run: runRead, help: "reads a file through the client and says what is in it"},
	{name: "sh", args: "COMMAND", speaks: true, run: runShell, help: "runs a command in a terminal of the client and says how it ended"},
	{name: "session", speaks: true, run: runSession, help: "says what the client opened the session with"},
	{name: "env", args: "NAME", speaks: true, run: runEnv, help: "says whether that environment variable is set, and to what"},

	{name: "wait", run: runWait, help: "pauses until the turn is cancelled, then answers properly"},
	{name: "stop", args: "REASON", run: runStop, help: "makes that the stop reason of the turn"},
	{name: "error", args: "CODE", run: runError, help: "answers with that JSON-RPC error"},
	{name: "exit", args: "CODE", run: runExit, help: "ends the process with that exit code"},
	{name: "hang", args: "[hard]", run: runHang, help: "ignores everything from now on, cancel too; hard: the end of input and SIGTERM as well"},
	{name: "half", run: runHalf, help: "writes half a line and ends the process"},
	{name: "noise", run: runNoise, help: "writes a line that is not JSON"},
	{name: "drop", run: runDrop, help: "closes its output and stays alive"},
	{name: "stderr", args: "BYTES", run: runStderr, help: "writes that many bytes to its standard error"},
}

// findDirective returns the directive of that name, or nil.
func findDirective(name string) *directive {
	for i := range directives {
		if directives[i].name == name {
			return &directives[i]
		}
	}
	return nil
}

// form is the directive as it is written.
func (d *directive) form() string {
	if d.args == "" {
		return "[[" + d.name + "]]"
	}
	return "[[" + d.name + " " + d.args + "]]"
}

// formOf says how far the directive of that name reaches.
func formOf(name string) script.Form {
	d := findDirective(name)
	switch {
	case d == nil:
		return script.Unknown
	case d.wholeLine:
		return script.Whole
	}
	return script.Closed
}
