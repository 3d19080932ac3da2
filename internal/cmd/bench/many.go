package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
)

// load has 50 sessions work at once.
func load(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	all, err := s.sessions(ctx, sessions, b.label(p, "load"))
	if err != nil {
		return nil, err
	}
	before, err := cpu(s.pid())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.askAll(ctx, all, b.label(p, "load"), fmt.Sprintf("scenario:tools %d", turns)); err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := cpu(s.pid())
	return [][]float64{{ms(took)}, {(after - before).Seconds()}}, err
}

// loadMemory takes the highest memory while sessions work: fifty at once, and
// one alone in a process of its own.
func loadMemory(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	peak := func(n int) (float64, error) {
		s, err := serve(ctx, p, b.work)
		if err != nil {
			return 0, err
		}
		defer s.end()
		all, err := s.sessions(ctx, n, b.label(p, "memory"))
		if err != nil {
			return 0, err
		}
		highest := watch(s.pid(), 3*time.Millisecond)
		err = s.askAll(ctx, all, b.label(p, "memory"), fmt.Sprintf("scenario:tools %d", turns))
		pss, memErr := highest()
		return pss, errors.Join(err, memErr)
	}
	one, err := peak(1)
	if err != nil {
		return nil, err
	}
	all, err := peak(sessions)
	return [][]float64{{all}, {(all - one) / (sessions - 1)}}, err
}

// watch looks at a process's memory, each time after a while, until the function
// that it returns is called, which returns the highest.
func watch(pid int, every time.Duration) func() (float64, error) {
	var mu sync.Mutex
	var peak float64
	var failed error
	look := func() {
		pss, err := memory(pid, "Pss")
		mu.Lock()
		defer mu.Unlock()
		peak, failed = max(peak, pss), errors.Join(failed, err)
	}
	var work conc.WaitGroup
	stop := make(chan struct{})
	work.Go(func() {
		for {
			look()
			select {
			case <-stop:
				return
			case <-time.After(every):
			}
		}
	})
	return func() (float64, error) {
		close(stop)
		work.Wait()
		look()
		return peak, failed
	}
}
