package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// queuedPrompt is one line of `agentos queue list --json`.
type queuedPrompt struct {
	ID        protocol.PromptID `json:"queueId"`
	Position  int64             `json:"position"`
	Content   json.RawMessage   `json:"content"`
	Key       *string           `json:"key"` // null: none
	CreatedAt string            `json:"createdAt"`
}

func (a *app) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show and change the prompts that wait for their turn",
		Long: `Prompts that were sent with agentos prompt --queue while their session was busy. They run
in order, each when the one before has ended. Behind a turn of which it is not known how
far it came, because its process died or was interrupted, the queue is paused until
agentos queue resume.`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.queueListCommand(), a.queueEditCommand(), a.queueRemoveCommand(), a.queueResumeCommand())
	return cmd
}

func (a *app) queueListCommand() *cobra.Command {
	var session string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what waits, in order",
		Example: "  agentos queue list\n  agentos queue list --session work --json | jq -r .queueId",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reading(cmd, func(ctx context.Context, vm machine) error {
				return a.listQueue(ctx, vm, protocol.SessionID(session), asJSON)
			})
		},
	}
	sessionFlag(cmd, &session, "whose queue it is")
	jsonFlag(cmd, &asJSON, "one prompt a line")
	return cmd
}

func (a *app) listQueue(ctx context.Context, vm machine, id protocol.SessionID, asJSON bool) error {
	if _, err := vm.Session(ctx, id); err != nil {
		return err
	}
	list, err := vm.Queue(ctx, id)
	if err != nil {
		return err
	}
	t := table{head: []string{"POSITION", "ID", "QUEUED", "PROMPT"}, give: []give{{0, 3}, {36, 0}, {17, 2}, {12, 1}}}
	for _, q := range list {
		if !asJSON {
			t.add(cell{text: fmt.Sprint(q.Position)}, cell{text: transcript.Line(string(q.ID), 80)}, cell{text: q.CreatedAt.String()}, cell{text: promptLine(q.Content)})
			continue
		}
		line := queuedPrompt{ID: q.ID, Position: q.Position, Content: q.Content, CreatedAt: q.CreatedAt.String()}
		if q.Key != "" {
			line.Key = &q.Key
		}
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
	case len(t.rows) == 0:
		a.say("nothing waits in session " + string(id))
	default:
		t.print(a.out, a.style)
	}
	return nil
}

// promptLine is the text of a prompt on one line.
func promptLine(content []byte) string {
	blocks, err := acp.Blocks(content)
	if err != nil {
		return "?"
	}
	var b strings.Builder
	for _, block := range blocks {
		text, _ := transcript.BlockText(block)
		b.WriteString(text + " ")
	}
	return transcript.Line(strings.TrimSpace(b.String()), 200)
}

// changing runs something that changes what is stored of a session, and makes no
// VM.
func (a *app) changing(cmd *cobra.Command, do func(context.Context, *access) error) error {
	p, err := a.place(cmd)
	if err != nil {
		return err
	}
	signals := listen()
	defer signals.stop()
	ctx, cancel := signals.context(context.Background())
	defer cancel()
	r, err := a.openVM(ctx, cmd.Name(), p, false)
	if err == nil {
		err = do(ctx, r)
		if cerr := r.finish(signals.next()); err == nil {
			err = cerr
		}
	}
	if ctx.Err() != nil {
		return interrupted{}
	}
	return err
}

func (a *app) queueEditCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:     "edit ID TEXT",
		Short:   "Replace the text of a prompt that waits",
		Example: "  agentos queue edit 01a22f4d-084f-730b-bf04-62715031fca4 'fix the tests, and only those'",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			content := append(rawjson.AppendString([]byte(`[{"type":"text","text":`), args[1]), "}]"...)
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				return r.QueueEdit(ctx, protocol.SessionID(session), protocol.PromptID(args[0]), content)
			})
		},
	}
	sessionFlag(cmd, &session, "whose queue it is")
	return cmd
}

func (a *app) queueRemoveCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Take a prompt out of the queue",
		Example: "  agentos queue remove 01a22f4d-084f-730b-bf04-62715031fca4",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				return r.QueueRemove(ctx, protocol.SessionID(session), protocol.PromptID(args[0]))
			})
		},
	}
	sessionFlag(cmd, &session, "whose queue it is")
	return cmd
}

func (a *app) queueResumeCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Go on with the queue, and wait for its end",
		Long: `Go on with a queue that is paused, or whose process has gone, and wait until nothing runs
any more. What the agent says is in agentos history. An interrupt ends the turn that runs;
the rest stays queued.`,
		Example: "  agentos queue resume --session work",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id := protocol.SessionID(session)
			return a.changing(cmd, func(ctx context.Context, r *access) error {
				return a.resumeQueue(ctx, r, id)
			})
		},
	}
	sessionFlag(cmd, &session, "whose queue it is")
	return cmd
}

func (a *app) resumeQueue(ctx context.Context, r *access, id protocol.SessionID) error {
	list, err := r.Queue(ctx, id)
	if err != nil {
		return err
	}
	if err := r.QueueResume(ctx, id); err != nil {
		return err
	}
	if len(list) > 0 {
		a.note("running " + plural(len(list), "queued prompt"))
	}
	if err := r.rest(ctx, id); err != nil {
		return err
	}
	left, err := r.Queue(ctx, id)
	if err == nil && len(left) > 0 {
		err = protocol.Errorf(protocol.CodePromptInterrupted, "%s left in the queue; agentos history shows why, agentos queue resume goes on", plural(len(left), "prompt"))
	}
	return err
}
