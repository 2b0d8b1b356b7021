package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/acp"
)

// put asks one question until it is answered or taken back. It reports whether
// there is any use in asking another one.
func (a *asker) put(q *question) bool {
	p, err := acp.ParsePermission(q.payload)
	if err != nil || len(p.Options) == 0 {
		a.say("? the agent asks something that has no answer; Ctrl-C cancels the turn\n")
		return true
	}
	if q.afterTalk {
		a.discard()
	}
	a.line("? " + a.style.Bold(transcript.Asked(q.payload)) + a.style.Dim(a.others()))
	a.say("%s", a.style.Request(q.payload))
	for i, o := range p.Options {
		a.line(fmt.Sprintf("  %d) %s", i+1, optionName(o)))
	}
	for {
		a.prompted(true)
		a.say("  choose 1 to %d: ", len(p.Options))
		line, err := a.read(q.over)
		switch {
		case q.over.Err() != nil:
			a.endLine()
			a.line("  " + a.style.Bad("no answer is needed any more"))
			return true
		case err != nil:
			a.nobody()
			return false
		}
		a.prompted(false)
		if o, ok := choose(p.Options, line); ok {
			a.permit(q, o)
			return true
		}
		a.line("  " + a.style.Bad(refusal(line)))
	}
}

// discard drops what was typed before now.
func (a *asker) discard() {
	control(a.tty, dropTyped)
	_, _ = a.in.Discard(a.in.Buffered()) // that much is there
}

// refusal says why a line is no answer.
func refusal(line string) string {
	if line = strings.TrimSpace(line); line == "" {
		return "there is no default; Ctrl-C cancels the turn"
	}
	return transcript.Line(strconv.Quote(line), 40) + " is none of them; Ctrl-C cancels the turn"
}

// others says how many questions wait behind the one that is asked.
func (a *asker) others() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.left - 1; n > 0 {
		return fmt.Sprintf("  (%d more)", n)
	}
	return ""
}

func optionName(o acp.Option) string {
	if name := transcript.Line(transcript.Visible(o.Name), 80); name != "" {
		return name
	}
	return transcript.Line(transcript.Visible(o.ID), 80)
}

// choose finds the option that the person means by its number, id or name. There
// is no default: an empty line chooses nothing.
func choose(options []acp.Option, line string) (acp.Option, bool) {
	line = strings.TrimSpace(line)
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], true
	}
	for _, o := range options {
		if line != "" && (line == o.ID || strings.EqualFold(line, o.Name)) {
			return o, true
		}
	}
	return acp.Option{}, false
}

// read waits for a line, or for the end of over.
func (a *asker) read(over context.Context) (string, error) {
	woken := make(chan struct{})
	stop := context.AfterFunc(over, func() {
		defer close(woken)
		_ = a.tty.SetReadDeadline(time.Unix(1, 0)) // where it cannot be done the read lasts until the person types
	})
	line, err := a.in.ReadString('\n')
	if !stop() {
		<-woken
		_ = a.tty.SetReadDeadline(time.Time{})
	}
	return line, err
}

// permit gives the answer. One that comes too late is no mistake of the person's.
func (a *asker) permit(q *question, o acp.Option) {
	ctx, cancel := context.WithTimeout(context.Background(), silenceNotice)
	defer cancel()
	answer, err := a.vm.Permit(ctx, a.session, q.request, o.ID)
	switch {
	case err != nil:
		a.line("  " + a.style.Bad("not answered: "+transcript.Line(err.Error(), 200)))
	case answer.Status == protocol.OutcomeNotPending:
		a.line("  " + a.style.Dim("too late: "+strings.ReplaceAll(string(answer.Reason), "_", " ")))
	default:
		a.line("  " + a.style.Bold(optionName(o)))
	}
}
