package kernel

// throughput is how many messages an actor handles before it lets others run.
const throughput = 300

// stackBytes is what an actor needs of its stack to handle a message, near enough.
const stackBytes = 5 << 10

// dispatcher runs a mailbox on a goroutine of its own for as long as it has
// messages. That is the framework's way too, but a new goroutine begins with a
// stack of 2 KiB, and the dozen calls between a mailbox and the actor's own code
// outgrow it in almost every message. Growing copies what is on the stack frame by
// frame: deep down it costs more than all the rest of a small message, at the
// start, with the stack empty, next to nothing.
type dispatcher struct{}

// Schedule implements actor.Dispatcher.
func (dispatcher) Schedule(fn func()) { go run(fn) } // ends when the mailbox is empty

// Throughput implements actor.Dispatcher.
func (dispatcher) Throughput() int { return throughput }

func run(fn func()) {
	grow()
	fn()
}

// grow makes room on the stack: its frame is that large.
//
//go:noinline
func grow() {
	var room [stackBytes]byte
	use(&room)
}

//go:noinline
func use(room *[stackBytes]byte) { room[0] = 1 }
