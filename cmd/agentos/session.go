package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/public"
)

func (a *app) sessionShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show [ID]",
		Short:   "Show one session",
		Long:    "Show one session (default: main). It starts no agent, and shows neither environment nor MCP servers: those hold secrets.",
		Example: "  agentos sessions show work\n  agentos sessions show work --json | jq .state",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reading(cmd, func(ctx context.Context, vm machine) error {
				s, err := vm.Session(ctx, sessionArg(args))
				if err != nil {
					return err
				}
				if asJSON {
					a.out.Write(append(public.AppendSession(nil, s), '\n'))
					return nil
				}
				a.showSession(s)
				return nil
			})
		},
	}
	jsonFlag(cmd, &asJSON, "one object")
	return cmd
}

func sessionArg(args []string) protocol.SessionID {
	if len(args) == 0 {
		return protocol.DefaultSession
	}
	return protocol.SessionID(args[0])
}

func (a *app) showSession(s protocol.SessionInfo) {
	title := ""
	if s.Title != nil {
		title = *s.Title
	}
	state := string(s.State)
	if s.Prompt != "" {
		state += ", prompt " + string(s.Prompt)
	}
	failure := ""
	if len(s.Error) > 0 {
		failure = public.ParseErrorObject(s.Error).Error()
	}
	lines := [][2]string{
		{"session", string(s.ID)}, {"title", title}, {"agent", s.Agent}, {"cwd", s.Cwd},
	}
	for _, dir := range s.AdditionalDirectories {
		lines = append(lines, [2]string{"and", dir})
	}
	lines = append(lines, [2]string{"state", state}, [2]string{"error", failure},
		[2]string{"events", fmt.Sprintf("%d to %d, %s of payloads", s.OldestRetainedSequence, s.LatestSequence, plural(s.RetainedBytes, "byte"))},
		[2]string{"created", s.CreatedAt.String()}, [2]string{"updated", s.UpdatedAt.String()})
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(a.out, "%-8s %s\n", line[0], transcript.Line(line[1], 1000))
		}
	}
}

func (a *app) sessionUnloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unload ID",
		Short: "Interrupt a session's turn and stop its agent",
		Long: `Interrupt the turn of a session, if one runs, and stop its agent with everything the agent
has started. The history stays, and the next prompt brings the agent back. A session that
runs nothing is no error.`,
		Example: "  agentos sessions unload work",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				return r.Unload(ctx, protocol.SessionID(args[0]))
			})
		},
	}
}

func (a *app) sessionDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a session with its history",
		Long: `Delete a session: interrupt its turn, stop its agent, and take its history away. It is gone
at once; its rows are removed in the background, also after a crash. There is no way
back. What does not exist is no error.`,
		Example: "  agentos sessions delete work",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := protocol.SessionID(args[0])
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				if _, err := r.Session(ctx, id); protocol.CodeOf(err) == protocol.CodeSessionNotFound {
					a.note("there is no session " + args[0])
				}
				return r.Delete(ctx, id)
			})
		},
	}
}
