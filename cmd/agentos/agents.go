package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"agentos/adapters"
	"agentos/adapters/catalog"
)

// agentInfo is an entry of the catalog as it is on this machine.
type agentInfo struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	BuiltIn   bool     `json:"builtIn"`
	Installed bool     `json:"installed"`
	Version   *string  `json:"version"` // null: not installed, or it does not say
	Install   *string  `json:"install"` // null: nothing to install
	Launch    []string `json:"launch"`
	Home      *string  `json:"home"`
}

func (a *app) agentsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents that are known, and how to install them",
		Long: `List the agents that --agent takes: which are installed here, and the command that
installs the others. Any other program that speaks ACP goes behind --. An agent signs in
with its own program, or with the API key variables that it knows, which are passed on.`,
		Example: "  agentos agents\n  agentos agents --json | jq -r 'select(.installed).name'",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.agents(asJSON)
		},
	}
	jsonFlag(cmd, &asJSON, "one agent a line")
	return cmd
}

func (a *app) agents(asJSON bool) error {
	lookPath := adapters.LookPath(os.Environ())
	t := table{
		head: []string{"AGENT", "NAME", "INSTALLED", "COMMAND"},
		give: []give{{0, 0}, {12, 1}, {0, 0}, {12, 2}},
	}
	var missing []agentInfo
	for _, entry := range catalog.All() {
		info := describeAgent(entry, lookPath)
		if asJSON {
			if err := json.NewEncoder(a.out).Encode(info); err != nil {
				return err
			}
			continue
		}
		t.add(cell{text: info.Name}, cell{text: info.Title}, a.installed(info), cell{text: strings.Join(info.Launch, " ")})
		if !info.Installed && info.Install != nil {
			missing = append(missing, info)
		}
	}
	if asJSON {
		return nil
	}
	t.print(a.out, a.style)
	a.howToInstall(missing)
	a.say("")
	a.say("Any other program that speaks ACP:")
	fmt.Fprintln(a.err, "  agentos prompt --session NAME 'TEXT' -- COMMAND ARGS...")
	return nil
}

// howToInstall lists commands to copy: each is one line, whatever the width of
// the terminal, and where that is too narrow the name stands above.
func (a *app) howToInstall(missing []agentInfo) {
	if len(missing) == 0 {
		return
	}
	name, line := 0, 0
	for _, info := range missing {
		name = max(name, len(info.Name))
		line = max(line, len(*info.Install))
	}
	fmt.Fprintf(a.out, "\n%s\n", a.style.Dim("TO INSTALL"))
	for _, info := range missing {
		if width := a.style.Width(); width > 0 && name+gap+line > width {
			fmt.Fprintf(a.out, "%s\n  %s\n", info.Name, *info.Install)
			continue
		}
		fmt.Fprintf(a.out, "%-*s  %s\n", name, info.Name, *info.Install)
	}
}

func (a *app) installed(info agentInfo) cell {
	switch {
	case info.BuiltIn:
		return cell{"built in", a.style.Good}
	case !info.Installed:
		return cell{"no", a.style.Dim}
	case info.Version == nil:
		return cell{"yes", a.style.Good}
	}
	return cell{*info.Version, a.style.Good}
}

func describeAgent(entry catalog.Entry, lookPath func(string) (string, error)) agentInfo {
	info := agentInfo{Name: entry.Name, Title: entry.Title, BuiltIn: entry.BuiltIn, Launch: entry.Launch[0].Argv}
	if argv, ok := entry.Resolve(lookPath); ok {
		info.Installed = true
		if !entry.BuiltIn {
			info.Launch = argv
		}
	}
	if version, ok := entry.InstalledVersion(lookPath); ok {
		info.Version = &version
	}
	if entry.BuiltIn {
		version := versionText()
		info.Version = &version
	}
	if install := entry.Install(); install != "" {
		info.Install = &install
	}
	if entry.Home != "" {
		info.Home = &entry.Home
	}
	return info
}
