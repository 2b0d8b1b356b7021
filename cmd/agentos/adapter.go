package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"agentos/adapters/guard"
	"agentos/adapters/scripted"
)

// umaskFlag tells the guard which umask the adapter gets. It is ours, not the
// guard's: it comes first and is taken off.
const umaskFlag = "--umask="

// adapterProcess runs what takes the process over, before anything else of this
// program has touched it. handled is false for every other command.
func adapterProcess(args []string) (code int, handled bool) {
	if len(args) < 2 || args[0] != "adapter" {
		return 0, false
	}
	switch args[1] {
	case "guard":
		args = args[2:]
		if len(args) > 0 && strings.HasPrefix(args[0], umaskFlag) {
			if mask, err := strconv.ParseUint(strings.TrimPrefix(args[0], umaskFlag), 8, 9); err == nil {
				syscall.Umask(int(mask))
			}
			args = args[1:]
		}
		return guard.Main(args), true
	case "scripted":
		return scripted.Main(args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv), true
	}
	return 0, false
}

// takeOver is adapterProcess behind a flag of the whole program, --vm for
// instance, which means nothing to it.
func takeOver(which string) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		code, _ := adapterProcess(append([]string{"adapter", which}, args...))
		return exitStatus(code)
	}
}

// adapterCommand is for the help and the rare takeOver: adapterProcess has run
// the rest.
func (a *app) adapterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adapter",
		Short: "Run the built-in agent",
		Long: `The built-in ACP agent, which needs no network and no model. It is the agent of
sessions that name no other; by hand it is good for trying an ACP client.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "scripted [FLAGS]",
			Short: "Speak ACP on stdin and stdout, always the same way",
			Long: `Speak the Agent Client Protocol on stdin and stdout, one JSON-RPC message a line.
agentos adapter scripted --help lists its flags and what a prompt can ask of it.`,
			Example: `  agentos adapter scripted --help
  agentos prompt '[[think]] [[tool grep]] [[chunks 5]]'`,
			DisableFlagParsing:    true,
			DisableFlagsInUseLine: true,
			RunE:                  takeOver("scripted"),
		},
		&cobra.Command{
			Use: "guard", Short: "Stand between the runtime and an adapter", Hidden: true, DisableFlagParsing: true,
			RunE: takeOver("guard"),
		},
	)
	return cmd
}
