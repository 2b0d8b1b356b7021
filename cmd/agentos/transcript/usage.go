package transcript

import (
	"fmt"
	"strconv"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// Usage keeps the newest that an agent has said of what its session uses. The
// zero value is ready; it belongs to one goroutine.
type Usage struct{ payload []byte }

// Event takes in an event.
func (u *Usage) Event(e protocol.Event) {
	if e.Kind != protocol.KindUpdate {
		return
	}
	if kind, _ := rawjson.GetString(e.Payload, "sessionUpdate"); kind == "usage_update" {
		u.payload = e.Payload
	}
}

// String says how full the agent's context is and what the session has cost, as
// far as the agent tells; "" if it does not.
func (u *Usage) String() string {
	var text string
	used, _ := rawjson.Get(u.payload, "used")
	size, _ := rawjson.Get(u.payload, "size")
	n, ok := rawjson.Int(used)
	of, sized := rawjson.Int(size)
	if ok && sized && 0 <= n && n <= of && of > 0 {
		if percent := int(float64(n) / float64(of) * 100); percent > 0 {
			text = fmt.Sprintf("context %d%% full", percent)
		}
	}
	raw, _ := rawjson.Get(u.payload, "cost", "amount")
	amount, err := strconv.ParseFloat(string(raw), 64)
	currency, _ := rawjson.GetString(u.payload, "cost", "currency")
	if err != nil || amount <= 0 || currency == "" {
		return text
	}
	if text != "" {
		text += ", "
	}
	return text + fmt.Sprintf("%.2f %s", amount, Line(currency, 8))
}
