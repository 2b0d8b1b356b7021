package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"agentos/protocol"
)

// app is one run of the program: the console and what every command has.
type app struct {
	*console
	vm       string
	logLevel string
	umask    int // the person's own
}

// run does what args ask for. Its errors are what console.end shows.
func run(c *console, args []string) error {
	if code, handled := adapterProcess(args); handled {
		return exitStatus(code)
	}
	// Without a handler a write to a closed stdout would kill the process in the
	// middle of a turn; an ignored signal would be inherited by agents.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Whatever this program makes is its person's alone (S15); agents get the
	// umask back.
	a := &app{console: c, umask: syscall.Umask(0o077)}
	err := a.root(args).Execute()
	if err != nil && wantsJSON(args) {
		return jsonFailure{err}
	}
	return err
}

// wantsJSON looks for --json itself: the command line may be too wrong to be
// parsed, and a program that reads the answer has a right to JSON all the same.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "agentos",
		Version:       versionText(),
		Short:         "Sessions with coding agents that survive",
		Long:          rootHelp,
		Args:          noSuchCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("agentos {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(helpCommand(root))
	cobra.EnableCommandSorting = false // they are listed in the order of use
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&a.vm, "vm", "", "`VM` to use: a name, or the path of its .db file (default $AGENTOS_VM, else \"default\")")
	flags.StringVar(&a.logLevel, "log-level", "", "`LEVEL` of the log on stderr: debug, info, warn, error, off (default $AGENTOS_LOG, else warn)")
	root.AddCommand(a.promptCommand(), a.watchCommand(), a.permitCommand(), a.cancelCommand(),
		a.historyCommand(), a.sessionsCommand(), a.queueCommand(), a.configCommand(), a.agentsCommand(),
		a.doctorCommand(), a.vmCommand(), a.benchCommand(), a.adapterCommand(), a.versionCommand())
	wrap(root)
	return root
}

// noSuchCommand refuses what is no command, and says which one is nearly meant.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q", args[0])
}

// helpCommand is `agentos help`; cobra's own takes a wrong name for success.
func helpCommand(root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Example: "  agentos help prompt",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == nil || len(rest) > 0 {
				return usage("there is no command %q; see agentos --help", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag() // so that it is listed
			return cmd.Help()
		},
	}
	wrap(cmd)
	return cmd
}

// wrap makes every mistake on the command line an error with a code and the way
// to the help.
func wrap(cmd *cobra.Command) {
	explain := func(err error) error {
		var pe *protocol.Error
		if err == nil || errors.As(err, &pe) {
			return err
		}
		text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n\n", "\n")
		return usage("%s; see %s --help", text, cmd.CommandPath())
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return explain(err) })
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return explain(check(cmd, args)) }
	}
	for _, sub := range cmd.Commands() {
		wrap(sub)
	}
}

// place finds the VM of this run.
func (a *app) place(cmd *cobra.Command) (place, error) {
	if cmd.Flags().Changed("vm") {
		return locate(a.vm)
	}
	if vm := os.Getenv("AGENTOS_VM"); vm != "" {
		return locate(vm)
	}
	return locate(defaultVM)
}

func jsonFlag(cmd *cobra.Command, to *bool, what string) {
	cmd.Flags().BoolVar(to, "json", false, what+", for programs")
}

func sessionFlag(cmd *cobra.Command, to *string, what string) {
	cmd.Flags().StringVar(to, "session", string(protocol.DefaultSession), "`ID` of the session "+what)
}

const rootHelp = `agentos runs coding agents in sessions that survive. A session is a conversation with
an agent that speaks the Agent Client Protocol. It is kept in a database, so that neither
a crash nor a reboot ends it: the next prompt goes on where it stopped.

A first session, with the agent that is built in (no network, no account):

  agentos prompt 'remember #blue'
  agentos prompt 'which tags have you seen?'
  agentos history

With a real agent:

  agentos agents                                   which there are, how to install them
  agentos prompt --session work --agent claude 'explain this repository'
  agentos prompt --session mine -- my-agent --acp  any other program that speaks ACP

Where everything is: a VM is one SQLite file, $AGENTOS_DATA/vms/NAME/vm.db, where
AGENTOS_DATA is $XDG_DATA_HOME/agentos or ~/.local/share/agentos if it is not set. The
file holds prompts, answers and the environment of agents in plain text, and only you
can read it: keep it and its backups so.

Exit codes: 0 done (a cancelled turn too), 1 failed, 2 wrong use, 3 busy or in use, 4 not
found, 5 a permission needs a person, 6 it is not known how far the agent came, 130
interrupted.`
