package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"agentos/protocol"
)

func (a *app) permitCommand() *cobra.Command {
	var session string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "permit REQUEST OPTION",
		Short: "Answer a question of an agent",
		Long: `Answer a permission request of a session's agent, from any terminal: REQUEST is its
requestId, OPTION the optionId of one of its options. agentos watch and agentos history
--json show both. The first answer counts, whoever gives it; one that comes too late says
so, and how the request has ended, and is no failure.

Exit codes: 0 answered, or too late; 2 if the option was not offered, which uses nothing
up; 4 if the session had no such request.`,
		Example: `  agentos permit 01a22f4d-084f-730b-bf04-62715031fca4 allow
  agentos permit --session work 01a22f4d-084f-730b-bf04-62715031fca4 reject --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				answer, err := r.Permit(ctx, protocol.SessionID(session), protocol.RequestID(args[0]), args[1])
				if err != nil {
					return err
				}
				return a.permitted(answer, asJSON)
			})
		},
	}
	cmd.Flags().SortFlags = false
	sessionFlag(cmd, &session, "whose agent asks")
	jsonFlag(cmd, &asJSON, `{"status":"accepted"}, or {"status":"not_pending","reason"}`)
	return cmd
}

func (a *app) permitted(answer protocol.PermissionAnswer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(a.out).Encode(struct {
			Status protocol.OutcomeStatus `json:"status"`
			Reason protocol.Reason        `json:"reason,omitempty"`
		}{answer.Status, answer.Reason})
	}
	text := string(answer.Status)
	if answer.Reason != "" {
		text += " (" + string(answer.Reason) + ")"
	}
	fmt.Fprintln(a.out, text)
	return nil
}
