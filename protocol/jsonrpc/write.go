package jsonrpc

import "fmt"

// scratchBytes is how much small pieces are gathered into one write.
const scratchBytes = 32 << 10

func (p *Peer) send(f frame) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.push(f)
}

// push queues f. p.mu is held.
func (p *Peer) push(f frame) error {
	size := f.size()
	switch {
	case p.closed:
		return ErrClosed
	case p.writeEr != nil:
		return p.writeEr
	case p.finish:
		return errWriteClosed
	case p.queued > 0 && p.queued+size > p.opts.MaxQueuedBytes:
		return ErrBackpressure
	}
	p.queue = append(p.queue, f)
	p.queued += size
	p.wake.Signal()
	return nil
}

// write is the writer goroutine.
func (p *Peer) write() {
	defer close(p.writer)
	scratch := make([]byte, 0, scratchBytes)
	for {
		batch := p.nextBatch()
		if batch == nil {
			p.endWriting()
			return
		}
		b := batchWriter{p: p, scratch: scratch}
		for _, f := range batch {
			b.add(f.head)
			b.add(f.body)
			b.add(f.tail)
		}
		b.flush()
		p.counts.bytesWritten.Add(b.written)
		if b.err != nil {
			p.failWriting(batch, b.written, fmt.Errorf("write to rpc peer: %w", b.err))
			return
		}
		p.counts.linesWritten.Add(int64(len(batch)))
		p.release(batch)
	}
}

// nextBatch waits for frames and takes them all; nil means that writing ends.
func (p *Peer) nextBatch() []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 && !p.closed && !p.finish {
		p.wake.Wait()
	}
	if p.closed {
		p.queue = nil
	}
	batch := p.queue
	p.queue = nil
	return batch
}

func (p *Peer) release(batch []frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range batch {
		p.queued -= f.size()
	}
}

// endWriting closes the writer after CloseWrite.
func (p *Peer) endWriting() {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return // Close does it
	}
	if err := closeOnce(&p.outOnce, p.out); err != nil {
		p.failWriting(nil, 0, fmt.Errorf("close writer to rpc peer: %w", err))
	}
}

// failWriting ends writing for ever. Calls that were not written whole end
// here: no answer can come, and the other side may keep its own stream open
// without ever reading ours again. Calls that were written may still be
// answered.
func (p *Peer) failWriting(batch []frame, written int64, err error) {
	p.mu.Lock()
	if p.closed { // it was Close that broke it, and the reader ends all calls
		p.mu.Unlock()
		return
	}
	p.writeEr = err
	close(p.deaf) // writing fails once: the writer ends with it
	batch = append(batch, p.queue...)
	p.queue, p.queued = nil, 0
	var lost []*call
	for _, f := range batch {
		written -= f.size()
		if c := p.calls[f.call]; c != nil && written < 0 {
			lost = append(lost, c)
			delete(p.calls, f.call)
		}
	}
	p.mu.Unlock()
	for _, c := range lost {
		c.done(Response{ID: c.id, Err: &EndError{Cause: err, Unsent: true}})
	}
}

// batchWriter gathers small pieces and passes large ones through.
type batchWriter struct {
	p       *Peer
	scratch []byte
	written int64
	err     error
}

func (b *batchWriter) add(piece []byte) {
	if len(b.scratch)+len(piece) > cap(b.scratch) {
		b.flush()
	}
	if len(piece) > cap(b.scratch) {
		b.write(piece)
		return
	}
	b.scratch = append(b.scratch, piece...)
}

func (b *batchWriter) flush() {
	if len(b.scratch) > 0 {
		b.write(b.scratch)
		b.scratch = b.scratch[:0]
	}
}

func (b *batchWriter) write(piece []byte) {
	if b.err != nil {
		return
	}
	n, err := b.p.out.Write(piece)
	b.written += int64(n)
	b.err = err
}
