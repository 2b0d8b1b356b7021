package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"agentos/actors"
	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// configFlags is the command line of `agentos config`.
type configFlags struct {
	session string
	mode    string
	json    bool
}

func (a *app) configCommand() *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use:   "config [NAME=VALUE...]",
		Short: "Show or set the agent's options and mode in a session",
		Long: `Show the config options and modes that a session's agent has, or set them. Which there are
only the agent knows: its model, how long it thinks, what it asks about. They are kept with
the session and set again whenever its agent is brought back.

Showing starts no agent; setting does, if none is running, and sends it no prompt.`,
		Example: "  agentos config\n  agentos config --session work model=opus\n  agentos config --session work --mode plan\n  agentos config --json | jq .configOptions",
		Args:    checkSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.config(cmd, f, args)
		},
	}
	cmd.Flags().SortFlags = false
	sessionFlag(cmd, &f.session, "whose agent it is about")
	cmd.Flags().StringVar(&f.mode, "mode", "", "set the agent's mode, by its `ID`")
	jsonFlag(cmd, &f.json, "one object with the agent's own values, raw")
	return cmd
}

func checkSettings(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if name, _, ok := strings.Cut(arg, "="); !ok || name == "" {
			return usage("%q is no setting: NAME=VALUE", arg)
		}
	}
	return nil
}

func (a *app) config(cmd *cobra.Command, f configFlags, args []string) error {
	var settings []actors.Setting
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		settings = append(settings, actors.Setting{Option: name, Value: rawjson.AppendString(nil, value)})
	}
	if cmd.Flags().Changed("mode") {
		settings = append(settings, actors.Setting{Mode: f.mode})
	}
	id := protocol.SessionID(f.session)
	return a.changing(cmd, func(ctx context.Context, r *access) error {
		info, err := r.Config(ctx, id)
		for _, s := range settings {
			if err == nil {
				info, err = r.Configure(ctx, id, s)
			}
		}
		if err != nil {
			return err
		}
		a.showConfig(id, info, f.json)
		return nil
	})
}

func (a *app) showConfig(id protocol.SessionID, info actors.ConfigInfo, asJSON bool) {
	if asJSON {
		a.out.Write(append(public.AppendConfig(nil, id, info), '\n'))
		return
	}
	t := table{head: []string{"NAME", "VALUE", "CHOICES"}, give: []give{{16, 0}, {12, 0}, {12, 1}}}
	for _, o := range acp.ConfigOptions(info.Options) {
		value, ok := rawjson.String(o.Current)
		if !ok {
			value = string(o.Current)
		}
		choices := o.Values
		if o.Boolean {
			choices = []string{"true", "false"}
		}
		t.add(cell{text: transcript.Line(o.ID, 80)}, cell{text: transcript.Line(value, 80)}, cell{text: transcript.Line(strings.Join(choices, " "), 400)})
	}
	if modes := acp.ParseModes(info.Modes); len(modes.Available) > 0 {
		t.add(cell{text: "--mode"}, cell{text: transcript.Line(modes.Current, 80)}, cell{text: transcript.Line(strings.Join(modes.Available, " "), 400)})
	}
	if len(t.rows) == 0 {
		a.say("the agent of session " + transcript.Line(string(id), 80) + " has said of no options or modes; they are known once it has run")
		return
	}
	t.print(a.out, a.style)
}
