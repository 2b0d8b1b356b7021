package kernel

import "sync"

// Worker runs jobs one after another on a goroutine of its own, so that an
// actor never blocks on a disk. Its owner stops it and waits for it.
type Worker struct {
	mu      sync.Mutex
	wake    *sync.Cond
	jobs    []func()
	stopped bool
	gone    chan struct{}
}

// StartWorker returns a running worker.
func StartWorker() *Worker {
	w := &Worker{gone: make(chan struct{})}
	w.wake = sync.NewCond(&w.mu)
	go w.run() // ended and awaited by Stop
	return w
}

// Submit queues a job; it reports false once the Worker was stopped.
func (w *Worker) Submit(job func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.jobs = append(w.jobs, job)
	w.wake.Signal()
	return true
}

// Stop lets the queued jobs finish, then ends the goroutine; the channel is
// closed when it has.
func (w *Worker) Stop() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.wake.Signal()
	return w.gone
}

func (w *Worker) run() {
	defer close(w.gone)
	for {
		w.mu.Lock()
		for len(w.jobs) == 0 && !w.stopped {
			w.wake.Wait()
		}
		if len(w.jobs) == 0 {
			w.mu.Unlock()
			return
		}
		job := w.jobs[0]
		w.jobs[0] = nil
		w.jobs = w.jobs[1:]
		w.mu.Unlock()
		job()
	}
}
