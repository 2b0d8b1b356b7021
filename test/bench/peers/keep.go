package main

import (
	"context"
	"fmt"
	"slices"
)

// growths adds events to the histories and takes the databases' sizes before and
// after, so that what an empty one holds does not count.
func (p plan) growths(ctx context.Context, list []entry, r *results) error {
	return inTurn(list, 0, func(e entry) error {
		k, ok := e.contender.(keeper)
		if !ok {
			return nil
		}
		before, size, err := measureSize(ctx, k)
		if err != nil {
			return err
		}
		after, grown := before, size
		for after.Events-before.Events < int64(p.fill) {
			for range 1 + p.fill/100 {
				if _, err := k.prompt(ctx, fillTurn); err != nil {
					return err
				}
			}
			if after, grown, err = measureSize(ctx, k); err != nil {
				return err
			}
		}
		events := float64(after.Events - before.Events)
		r.growth[e.name] = float64(grown-size) / events
		if after.Payload > 0 {
			r.payload = float64(after.Payload-before.Payload) / events
		}
		return nil
	})
}

func measureSize(ctx context.Context, k keeper) (tally, int64, error) {
	sum, err := k.tally(ctx)
	if err != nil {
		return tally{}, 0, err
	}
	n, err := k.bytes(ctx)
	return sum, n, err
}

// pages reads pages from all over the histories.
func (p plan) pages(ctx context.Context, list []entry, r *results) error {
	list = slices.DeleteFunc(slices.Clone(list), func(e entry) bool {
		_, ok := e.contender.(keeper)
		return !ok
	})
	if len(list) == 0 {
		return nil
	}
	shortest := int64(1) << 62
	for _, e := range list {
		sum, err := e.tally(ctx)
		if err != nil {
			return err
		}
		shortest = min(shortest, sum.Events)
	}
	for _, size := range pageSizes {
		if size > shortest {
			continue // a short plan
		}
		for i := range p.warm + p.rounds {
			after := int64(i) * size % (shortest - size + 1)
			err := inTurn(list, i, func(e entry) error {
				n, d, err := e.contender.(keeper).page(ctx, after, size)
				if err == nil && n != size {
					err = fmt.Errorf("a page of %d events has %d", size, n)
				}
				r.note(i-p.warm, workPage(size), e.name, d)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
