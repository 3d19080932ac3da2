package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentls/agentls/internal/wire"
)

func (b *bench) smallWorld() (*world, error) { return b.work, nil }

// onlyAgentls is a round for what the limit does not have.
func onlyAgentls(round func(context.Context, *bench, peer) ([][]float64, error)) func(context.Context, *bench,
	peer) ([][]float64, error) {
	return func(ctx context.Context, b *bench, p peer) ([][]float64, error) {
		if p.name() != "agentls" {
			return nil, nil
		}
		return round(ctx, b, p)
	}
}

// starting takes the time from the process's start to the answer to initialize,
// and the memory when the agents have been read.
func starting(where func(*bench) (*world, error)) func(context.Context, *bench, peer) ([][]float64, error) {
	return func(ctx context.Context, b *bench, p peer) ([][]float64, error) {
		w, err := where(b)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		s, err := serve(ctx, p, w)
		if err != nil {
			return nil, err
		}
		defer s.end()
		if p.name() == "agentls" {
			// One agent is known when all have been read; the list of them all would
			// cost memory of its own.
			if err := s.Call(ctx, wire.MethodGet, &wire.GetParams{Name: agentName}, new(wire.GetResult)); err != nil {
				return nil, s.fault(err)
			}
		}
		pss, err := memory(s.pid(), "Pss")
		out := [][]float64{{ms(s.ready)}, {pss}}
		if err != nil || w == b.work {
			return out, err
		}
		var list wire.ListResult
		if err := s.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
			return nil, s.fault(err)
		}
		if len(list.Agents) < w.agents {
			return nil, fmt.Errorf("agents/list has %d agents", len(list.Agents))
		}
		return append(out, []float64{ms(time.Since(began))}), nil
	}
}

// idle takes the private memory of a server that does nothing.
func idle(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	private, err := memory(s.pid(), "Pss_Anon")
	return [][]float64{{private}}, err
}

// once runs a process for one prompt.
func once(_ context.Context, b *bench, p peer) ([][]float64, error) {
	c := p.once(b.work, "scenario:hello")
	began := time.Now()
	out, err := c.CombinedOutput()
	took := time.Since(began)
	if err == nil && !bytes.Contains(out, []byte("Hello there")) {
		err = errors.New("it does not answer")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return [][]float64{{ms(took)}}, nil
}

// running asks for one answer, in a new session each time, of a server that has
// answered before.
func running(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var samples []float64
	for i := range b.some(30) + 1 {
		session, err := s.session(ctx, s.Client, b.label(p, "hello"))
		if err != nil && !errors.Is(err, errUnknown) {
			return nil, s.fault(err)
		}
		began := time.Now()
		if err := s.prompt(ctx, s.Client, session, "scenario:hello"); err != nil {
			return nil, s.fault(err)
		}
		if i > 0 { // the first connects to the model
			samples = append(samples, ms(time.Since(began)))
		}
	}
	return [][]float64{samples}, nil
}

// newSession takes the time of the request for a session.
func newSession(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var samples []float64
	for range b.some(50) {
		began := time.Now()
		_, err := s.session(ctx, s.Client, b.label(p, "new"))
		if errors.Is(err, errUnknown) {
			return nil, nil
		}
		if err != nil {
			return nil, s.fault(err)
		}
		samples = append(samples, ms(time.Since(began)))
	}
	return [][]float64{samples}, nil
}
