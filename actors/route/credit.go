package route

import "sync"

// creditBytes is how many bytes of adapter output may be on their way to
// durability. Past it the route stops reading and the pipe fills: backpressure,
// not buffers (rule 6).
const creditBytes = 8 << 20

// messageCost is what a message costs beside its bytes: a million tiny updates
// must not pass for a few megabytes.
const messageCost = 512

// credit counts bytes that a route has handed over and its session has not
// acknowledged.
type credit struct {
	mu     sync.Mutex
	freed  sync.Cond
	taken  int
	closed bool
}

func newCredit() *credit {
	c := &credit{}
	c.freed.L = &c.mu
	return c
}

// acquire takes n bytes, waiting for room; one message is taken whatever its
// size when nothing else is under way. It reports false once the credit is
// closed.
func (c *credit) acquire(n int) (Grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.taken > 0 && c.taken+n > creditBytes && !c.closed {
		c.freed.Wait()
	}
	if c.closed {
		return Grant{}, false
	}
	c.taken += n
	return Grant{c, n}, true
}

// close ends every wait.
func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.freed.Broadcast()
}

// Grant is a piece of credit, given back once. The zero Grant is nothing.
type Grant struct {
	c *credit
	n int
}

// Release gives the bytes back. It is called once.
func (g Grant) Release() {
	if g.c == nil {
		return
	}
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	g.c.taken -= g.n
	g.c.freed.Broadcast()
}
