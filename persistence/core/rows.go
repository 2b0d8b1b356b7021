package core

import (
	"bytes"
	"encoding/json"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// values is one row of arguments.
type values = []persistence.Value

// text is NULL for "": no column of the tables tells the two apart.
func text[T ~string](s T) persistence.Value {
	if s == "" {
		return nil
	}
	return string(s)
}

// raw binds JSON as text, byte for byte; NULL for nil.
func raw(b []byte) persistence.Value {
	if b == nil {
		return nil
	}
	return string(b)
}

// array binds a JSON array as text; nil is the empty one.
func array(b []byte) persistence.Value {
	if b == nil {
		return "[]"
	}
	return string(b)
}

// number is NULL for 0.
func number[T ~int64](n T) persistence.Value {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func flag(b bool) persistence.Value {
	if b {
		return int64(1)
	}
	return int64(0)
}

// encode writes JSON of our own, as readable as it can be: < and & stay.
func encode(v any) (persistence.Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func encodeLaunch(l *protocol.Launch) (persistence.Value, error) {
	if l == nil {
		return nil, nil
	}
	return encode(l)
}

func sessionRow(r *protocol.Record) (values, error) {
	s := &r.Spec
	launch, err := encodeLaunch(s.Launch)
	if err != nil {
		return nil, fmt.Errorf("encode launch: %w", err)
	}
	directories, env := persistence.Value("[]"), persistence.Value("{}")
	if len(s.AdditionalDirectories) > 0 {
		if directories, err = encode(s.AdditionalDirectories); err != nil {
			return nil, fmt.Errorf("encode directories: %w", err)
		}
	}
	if len(s.Env) > 0 {
		if env, err = encode(s.Env); err != nil {
			return nil, fmt.Errorf("encode environment: %w", err)
		}
	}
	return values{
		string(r.ID), s.Agent, launch, s.Cwd, string(s.Policy), flag(s.SkipOSInstructions), text(s.AdditionalInstructions),
		directories, env, array(s.MCPServers),
		string(r.State), text(r.Prompt), startedAt(r),
		text(r.ACPSession), flag(r.Prompted), flag(r.Armed), text(r.RestoredBy), array(r.PreviousACP),
		raw(r.Capabilities), raw(r.AgentInfo),
		r.ConfigRevision, array(r.ConfigOptions), title(r), raw(r.Metadata),
		int64(r.Latest), int64(r.OldestRetained), r.RetainedEvents, r.RetainedBytes,
		int64(r.CreatedAt), int64(r.UpdatedAt),
	}, nil
}

func advanceRow(b protocol.Base, r *protocol.Record) values {
	return values{
		string(r.State), text(r.Prompt), startedAt(r),
		int64(r.Latest), r.RetainedEvents, r.RetainedBytes, int64(r.UpdatedAt),
		string(r.ID), int64(b.Latest), string(b.State), text(b.Prompt),
	}
}

func extendRow(b protocol.Base, r *protocol.Record) values {
	return values{
		string(r.State), text(r.Prompt), startedAt(r),
		int64(r.Latest), r.RetainedEvents, r.RetainedBytes,
		string(r.ID), int64(b.Latest), string(b.State), text(b.Prompt), int64(r.UpdatedAt),
	}
}

func adapterRow(r *protocol.Record) values {
	return values{
		text(r.ACPSession), flag(r.Prompted), flag(r.Armed), text(r.RestoredBy), array(r.PreviousACP),
		raw(r.Capabilities), raw(r.AgentInfo), string(r.ID),
	}
}

func profileRow(r *protocol.Record) values {
	return values{r.ConfigRevision, array(r.ConfigOptions), title(r), raw(r.Metadata), string(r.ID)}
}

func launchRow(r *protocol.Record) (values, error) {
	launch, err := encodeLaunch(r.Spec.Launch)
	if err != nil {
		return nil, fmt.Errorf("encode launch: %w", err)
	}
	return values{r.Spec.Agent, launch, string(r.ID)}, nil
}

// startedAt is NULL exactly when the session is idle; a clock may stand at 0.
func startedAt(r *protocol.Record) persistence.Value {
	if r.State == protocol.StateIdle {
		return number(r.StartedAt)
	}
	return int64(r.StartedAt)
}

func title(r *protocol.Record) persistence.Value {
	if r.Title == nil {
		return nil
	}
	return *r.Title
}

func eventRow(id protocol.SessionID, e *protocol.Event) values {
	return values{
		string(id), int64(e.Sequence), int64(e.At), int64(e.ACP), string(e.Kind), text(e.Request),
		string(e.Payload), text(e.Status), text(e.Reason), flag(e.Incomplete),
	}
}

func promptRow(id protocol.SessionID, p *protocol.Prompt) values {
	return values{
		string(id), string(p.ID), text(p.Key), p.Hash[:], string(p.State), raw(p.Result), raw(p.Error),
		number(p.FirstInput), number(p.LastOutput), int64(p.CreatedAt), int64(p.UpdatedAt),
	}
}

func endRow(id protocol.SessionID, p *protocol.Prompt) values {
	return values{
		string(p.State), raw(p.Result), raw(p.Error), number(p.LastOutput), int64(p.UpdatedAt), string(id), string(p.ID),
	}
}

func recordRow(id protocol.SessionID, p *protocol.Permission) values {
	return values{
		string(id), string(p.ID), string(p.Prompt), string(p.State), string(p.Request), raw(p.Response),
		text(p.Reason), number(p.Sequence), int64(p.CreatedAt), int64(p.UpdatedAt),
	}
}

func closeRow(id protocol.SessionID, p *protocol.Permission) values {
	return values{
		string(p.State), raw(p.Response), text(p.Reason), number(p.Sequence), int64(p.UpdatedAt), string(id), string(p.ID),
	}
}

func queuedRow(id protocol.SessionID, q *protocol.Queued) values {
	return values{string(id), string(q.ID), q.Position, string(q.Content), q.Hash[:], text(q.Key), int64(q.CreatedAt)}
}

func outcomeRow(id protocol.SessionID, p *protocol.Permission) values {
	return values{string(id), string(p.ID), string(p.Reason), int64(p.UpdatedAt)}
}
