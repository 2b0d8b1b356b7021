package route

import (
	"go.uber.org/zap"

	"agentos/protocol/jsonrpc"
)

// diagnose counts a message that nothing can be made of, and tells of it as seldom
// as of lines that are no messages.
func (r *Actor) diagnose(m jsonrpc.Message, what string) {
	r.strange++
	if !jsonrpc.Reported(r.strange) {
		return
	}
	r.log().Debug("strange message", zap.String("what", what), zap.Int64("count", r.strange))
	if r.setup.Diagnostic != nil {
		r.setup.Diagnostic(r.record.ID, jsonrpc.Diagnostic{
			Kind: jsonrpc.Strange, Count: r.strange, Bytes: int64(len(m.Raw)), Detail: what,
		})
	}
}

// diagnoseAll tells the last count, if it has not been told.
func (r *Actor) diagnoseAll() {
	if r.strange > 0 && !jsonrpc.Reported(r.strange) && r.setup.Diagnostic != nil {
		r.setup.Diagnostic(r.record.ID, jsonrpc.Diagnostic{Kind: jsonrpc.Strange, Count: r.strange, Detail: "in all"})
	}
}
