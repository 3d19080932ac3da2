package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// turn takes the time from an answer's end to the next request, in one session
// of 200 turns. They are of four runs, since a run may ask its model 200 times
// at most, the last answer included.
func turn(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	const runs, each = 4, 50
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	sid := b.label(p, "turn")
	session, err := s.session(ctx, s.Client, sid)
	if err != nil && !errors.Is(err, errUnknown) {
		return nil, s.fault(err)
	}
	for range runs {
		if err := s.prompt(ctx, s.Client, session, fmt.Sprintf("scenario:tools %d sid=%s", each, sid)); err != nil {
			return nil, s.fault(err)
		}
	}
	own, err := b.between(ctx, sid, runs*(each+1))
	if err == nil && len(own) != runs*each {
		err = fmt.Errorf("there were %d turns, not %d", len(own), runs*each)
	}
	return [][]float64{own}, err
}

// between returns the times between an answer with calls and the next of n
// requests.
func (b *bench) between(ctx context.Context, sid string, n int) ([]float64, error) {
	requests, err := b.model.requests(ctx, sid, n)
	if err != nil {
		return nil, err
	}
	var own []float64
	for i, r := range requests[1:] {
		if before := requests[i]; before.Kind == "call" {
			own = append(own, ms(time.Duration(r.Arrive-before.End)))
		}
	}
	return own, nil
}

// parallel is turn with an answer of ten calls.
func parallel(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var samples []float64
	for i := range b.some(20) + 1 {
		sid := b.label(p, "parallel")
		if err := s.ask(ctx, sid, "scenario:parallel 10"); err != nil {
			return nil, err
		}
		own, err := b.between(ctx, sid, 2)
		if err == nil && len(own) != 1 {
			err = errors.New("the model made no calls")
		}
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first connects to the model
			samples = append(samples, own...)
		}
	}
	return [][]float64{samples}, nil
}
