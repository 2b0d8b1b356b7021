package main

import (
	"errors"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"agentos/actors"
	"agentos/adapters/catalog"
	"agentos/protocol"
	"agentos/sessions"
)

// promptFlags is the command line of `agentos prompt`.
type promptFlags struct {
	session string
	agent   string
	cwd     string
	addDirs []string
	env     []string
	policy  string
	key     string
	queue   bool
	noWait  bool
	now     bool
	space   string
	json    bool
	quiet   bool
}

const promptHelp = `Run one turn: send TEXT to the agent of a session, show what it says as it comes, and
return when the turn's end is stored. The session and the VM are made if need be.

TEXT is one argument; with - or nothing it is read from stdin. A session keeps the agent,
directories, environment and policy that it was opened with; flags that say otherwise
later are refused (session_conflict), flags left out mean "as it is".

Without --agent a new session gets the built-in scripted agent; what is behind -- is the
command of an agent that is not in the catalog.

When the agent asks for permission and the policy is ask, you are asked on the terminal;
without one the turn ends with exit code 5. Ctrl-C cancels the turn and waits for its end;
a second one stops waiting, and loses nothing that is stored.

If another command has the VM already, the turn runs in its process, with the environment
that one was started in; what is shown here, asked here and cancelled here is the same.`

const promptExamples = `  agentos prompt 'explain this repository'
  agentos prompt --session work --agent claude --cwd ~/src/site 'fix the tests'
  git diff | agentos prompt --quiet - >review.md
  agentos prompt --session mine --env API_KEY -- my-agent --acp
  agentos prompt --json hello | jq -c 'select(.result)'`

func (a *app) promptCommand() *cobra.Command {
	var f promptFlags
	cmd := &cobra.Command{
		Use:     "prompt [TEXT | -] [-- COMMAND ARGS...]",
		Short:   "Run one turn of a session",
		Long:    promptHelp,
		Example: promptExamples,
		Args:    checkPromptArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.prompt(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	sessionFlag(cmd, &f.session, "to prompt; it is opened if it does not exist")
	flags.StringVar(&f.agent, "agent", "", "agent of the catalog, by `NAME`; agentos agents lists them (default "+catalog.Scripted+")")
	flags.StringVar(&f.cwd, "cwd", "", "working `DIR` of the agent (default: this one)")
	flags.StringArrayVar(&f.addDirs, "add-dir", nil, "another `DIR` that the agent may use; repeatable")
	flags.StringArrayVar(&f.env, "env", nil, "`NAME[=VALUE]`: a variable for the agent, NAME alone passes yours on; repeatable")
	flags.StringVar(&f.policy, "policy", string(protocol.PolicyAsk), "what to do when the agent asks for permission: `ask|allow_all|reject_all`")
	flags.StringVar(&f.key, "key", "", "`KEY` of this prompt: sent again with the same TEXT it is not run again, and gives the same result")
	flags.BoolVar(&f.queue, "queue", false, "if the session is busy, wait for its turn in the queue instead of failing")
	flags.BoolVar(&f.noWait, "no-wait", false, "with --queue: say where in the queue it is, and do not show its turn")
	flags.BoolVar(&f.now, "now", false, "pass the prompts that wait in the queue, if none is running")
	flags.StringVar(&f.space, "workspace", "", "`DIR` that stands in for /home/agentos, where AgentOS databases have their sessions (default: beside the database)")
	jsonFlag(cmd, &f.json, "one event a line, then {\"result\":...} or {\"error\":...}")
	flags.BoolVar(&f.quiet, "quiet", false, "print the text of the final message and nothing else")
	return cmd
}

// checkPromptArgs allows one TEXT in front of -- and any command behind it.
func checkPromptArgs(cmd *cobra.Command, args []string) error {
	text, command := splitArgs(cmd, args)
	switch {
	case len(text) > 1:
		return errors.New("the prompt is one argument: put quotes around it")
	case command != nil && len(command) == 0:
		return errors.New("the command of the agent is missing behind --")
	}
	return nil
}

// splitArgs tells what is in front of -- from what is behind it; command is nil
// if there is no --.
func splitArgs(cmd *cobra.Command, args []string) (text, command []string) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args, nil
	}
	return args[:dash], args[dash:]
}

// prompt runs `agentos prompt`. Everything that can be wrong with the command
// line is found before a VM is made.
func (a *app) prompt(cmd *cobra.Command, f promptFlags, args []string) error {
	text, command := splitArgs(cmd, args)
	if f.json && f.quiet {
		return usage("--json and --quiet exclude each other")
	}
	switch {
	case f.noWait && !f.queue:
		return usage("--no-wait goes with --queue")
	case f.noWait && f.quiet:
		return usage("--no-wait and --quiet exclude each other")
	case f.now && f.queue:
		return usage("--now and --queue exclude each other")
	}
	if f.key == "" && cmd.Flags().Changed("key") {
		return usage("--key needs a key of 1 to 256 bytes")
	}
	p, err := a.place(cmd)
	if err != nil {
		return err
	}
	if p.space, err = workspaceDir(f.space); err != nil {
		return err
	}
	open, err := f.opening(cmd, p, command)
	if err != nil {
		return err
	}
	content, err := a.promptContent(text)
	if err != nil {
		return err
	}
	signals := listen()
	defer signals.stop()
	t := &turn{app: a, flags: f, place: p, signals: signals, first: p.new()}
	id := protocol.PromptID(uuid.Must(uuid.NewV7()).String())
	return t.run(actors.Prompt{Session: open.Session, ID: id, Content: content, Key: f.key, Queue: f.queue, Now: f.now, Open: open, IfAsked: sessions.EndTurn})
}
