package main

import (
	"context"

	"github.com/spf13/cobra"

	"agentos/protocol"
)

func (a *app) cancelCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "cancel [PROMPT]",
		Short: "Cancel the turn that a session runs",
		Long: `Cancel the turn that a session runs, from any terminal: the agent is told, what it still
says is kept, and whoever waits for the turn gets its end. With the promptId of a turn
only that one is cancelled. A turn that has ended already is no error, and a session that
runs nothing neither.

Exit codes: 0 told, 4 if there is no such VM or session.`,
		Example: "  agentos cancel\n  agentos cancel --session work 01a22f4d-084f-730b-bf04-62715031fca4",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, prompt := protocol.SessionID(session), protocol.PromptID("")
			if len(args) == 1 {
				prompt = protocol.PromptID(args[0])
			}
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				if _, err := r.Session(ctx, id); err != nil {
					return err
				}
				return r.Cancel(ctx, id, prompt)
			})
		},
	}
	sessionFlag(cmd, &session, "whose turn it is")
	return cmd
}
