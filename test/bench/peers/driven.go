package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// patience bounds one request to a driver; it is for a machine that is busy.
const patience = 2 * time.Minute

// request is a line to a driver (driver/serve.mjs).
type request struct {
	ID    int    `json:"id"`
	Do    string `json:"do"` // prompt, fresh, page, bytes or tally
	Text  string `json:"text,omitempty"`
	After int64  `json:"after"`
	Limit int64  `json:"limit,omitempty"`
}

// reply is a driver's line. Answer is the request's ID, 0 for the line that says
// that the driver is ready.
type reply struct {
	Answer   *int    `json:"answer"`
	Error    string  `json:"error"`
	MS       float64 `json:"ms"`
	CreateMS float64 `json:"createMs"`
	Bytes    int64   `json:"bytes"`
	tally            // Events is also the size of a page
}

// driven is a contender behind a driver script, which is a process.
type driven struct {
	child *child
	id    int
}

// kept is one with VMs and their databases.
type kept struct{ *driven }

// startDriver starts the driver of p and waits until it is ready.
func startDriver(ctx context.Context, h home, p peer) (contender, error) {
	dir, env, err := h.own(p.name)
	if err != nil {
		return nil, err
	}
	scripts := filepath.Join(h.dir, "driver")
	c, err := startChild([]string{h.node, filepath.Join(scripts, p.name+".mjs"), p.folder(), filepath.Join(scripts, "trivial")}, dir, env)
	if err != nil {
		return nil, err
	}
	d := &driven{child: c}
	if _, err := d.await(ctx, nil); err != nil {
		_ = d.close() // what it says is in err already
		return nil, err
	}
	if p.name == "agentos" {
		return kept{d}, nil
	}
	return d, nil
}

// ask sends a request and returns the reply to it.
func (d *driven) ask(ctx context.Context, r request) (reply, error) {
	d.id++
	r.ID = d.id
	line, err := json.Marshal(r)
	if err != nil {
		return reply{}, fmt.Errorf("write a request: %w", err)
	}
	return d.await(ctx, append(line, '\n'))
}

// await sends a line, if there is one, and reads the reply.
func (d *driven) await(ctx context.Context, line []byte) (r reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = d.child.guarded(ctx, func() error {
		if _, err := d.child.in.Write(line); err != nil {
			return fmt.Errorf("send to the driver: %w", err)
		}
		for {
			line, err := d.child.out.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("read from the driver: %w", err)
			}
			var ours bool
			if r, ours, err = parseReply(line, d.id); ours || err != nil {
				return err
			}
		}
	})
	return r, err
}

// parseReply reads a line of a driver. ours is false for a line that is not a
// driver's: a library may print to the same place.
func parseReply(line []byte, id int) (r reply, ours bool, err error) {
	if !bytes.HasPrefix(line, []byte(`{"answer":`)) {
		return r, false, nil
	}
	switch err := json.Unmarshal(line, &r); {
	case err != nil:
		return r, false, fmt.Errorf("read a line of the driver: %w", err)
	case r.Answer == nil || *r.Answer != id:
		return r, false, fmt.Errorf("the driver answered %.60q to request %d", line, id)
	case r.Error != "":
		return r, true, errors.New(r.Error)
	}
	return r, true, nil
}

func (d *driven) prompt(ctx context.Context, text string) (time.Duration, error) {
	r, err := d.ask(ctx, request{Do: "prompt", Text: text})
	return millis(r.MS), err
}

func (d *driven) tally(ctx context.Context) (tally, error) {
	r, err := d.ask(ctx, request{Do: "tally"})
	return r.tally, err
}

func (d *driven) close() error { return d.child.stop() }

func (k kept) fresh(ctx context.Context, text string) (birth, error) {
	r, err := k.ask(ctx, request{Do: "fresh", Text: text})
	return birth{created: millis(r.CreateMS), first: millis(r.MS)}, err
}

func (k kept) page(ctx context.Context, after, limit int64) (int64, time.Duration, error) {
	r, err := k.ask(ctx, request{Do: "page", After: after, Limit: limit})
	return r.Events, millis(r.MS), err
}

func (k kept) bytes(ctx context.Context) (int64, error) {
	r, err := k.ask(ctx, request{Do: "bytes"})
	return r.Bytes, err
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
