package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/faults"
	"github.com/agentls/agentls/internal/wire"
)

// How much is kept from earlier.
const (
	listed        = 10_000  // sessions that are listed
	recovered     = 100     // sessions that are opened again
	recoveredSize = 1 << 20 // bytes of the log of each
)

// keep makes n sessions of a workspace, as an earlier daemon left them: of a run
// that has ended, or goes on. It returns the number of the last event of each. No
// disk is waited for.
func (w *world) keep(n int, open bool, size int) (last []uint64, err error) {
	dir, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		return nil, err
	}
	heard := new(complaints)
	store := session.New(session.Config{
		Dir:    filepath.Join(w.home, "agentls", "sessions", session.Key(dir)),
		Folder: dir, Owner: "bench", Version: "bench", Now: time.Now, Files: faults.Folder(heard),
	})
	for i := range n {
		s, err := store.Open(fmt.Sprintf("kept-%05d", i))
		if err != nil {
			return nil, err
		}
		o := activity.Origin{Run: fmt.Sprint("run-", i), Agent: agentName, CorrelationID: fmt.Sprint("run-", i)}
		began := activity.RunStarted{
			Input: []activity.ContentBlock{{Type: "text", Text: fmt.Sprintf("What does part %d of the program do?",
				i)}},
			Mode: "chat", Approval: "ask", Model: "flash", Tools: []string{"read_file"}, Chain: []string{},
		}
		s.Log.Append(o, began, 0)
		s.Log.Append(o, activity.RunState{To: activity.Running}, 0)
		written := 0
		for turn := 1; written < size || turn == 1; turn++ {
			o.Turn = turn
			text := strings.Repeat(fmt.Sprintf("Turn %d says this about part %d. ", turn, i), 20)
			s.Log.Append(o, activity.TurnStarted{Turn: turn}, 0)
			for piece := range strings.SplitAfterSeq(text, ". ") {
				s.Log.Append(o, activity.ContentDelta{Text: piece}, 0)
			}
			s.Log.Append(o, activity.ModelContent{Content: []model.Part{{Text: text}}}, 0)
			written += 8 * len(text) // what it is in the log: each piece is a line
		}
		if !open {
			s.Log.Append(o, activity.RunState{From: activity.Running, To: activity.Finished}, 0)
			s.Log.Append(o, activity.RunFinished{Reason: activity.Goal, Text: "Done."}, 0)
		}
		last = append(last, s.Log.Last())
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	return last, heard.err
}

// complaints hears what a fault kit complains about.
type complaints struct{ err error }

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.err = errors.Join(c.err, fmt.Errorf(format, args...))
}

// listing takes the time of a process that lists ten thousand sessions, and of
// the first page of them on a running server.
func listing(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	w, err := newWorld(filepath.Join(b.tmp, "listed"), 1)
	if err != nil {
		return nil, err
	}
	if _, err := w.keep(listed, false, 0); err != nil {
		return nil, err
	}
	var samples []float64
	for range b.some(5) + 1 {
		c := agentls{b}.command(w, "sessions", "list", "--json")
		began := time.Now()
		out, err := c.Output()
		took := time.Since(began)
		if err != nil {
			if e, ok := errors.AsType[*exec.ExitError](err); ok {
				err = fmt.Errorf("%w: %s", err, e.Stderr)
			}
			return nil, fmt.Errorf("sessions list: %w", err)
		}
		if n := bytes.Count(out, []byte(`"kept-`)); n != listed {
			return nil, fmt.Errorf("sessions list has %d sessions, not %d", n, listed)
		}
		samples = append(samples, ms(took))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	s, err := serve(ctx, p, w)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var pages []float64
	for range b.some(10) + 1 {
		var page wire.SessionListResult
		began := time.Now()
		if err := s.Call(ctx, wire.MethodSessionList, &wire.SessionListParams{}, &page); err != nil {
			return nil, s.fault(err)
		}
		if len(page.Sessions) != 100 || page.Cursor == "" {
			return nil, fmt.Errorf("the first page has %d sessions", len(page.Sessions))
		}
		pages = append(pages, ms(time.Since(began)))
	}
	return [][]float64{samples, pages}, nil
}

// recovery takes the time from the process's start until a hundred sessions of a
// megabyte, whose runs were under way when their daemon died, are open again:
// an editor that comes back asks for all of its sessions at once.
func recovery(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	w, err := newWorld(filepath.Join(b.tmp, b.label(p, "recovered")), 1)
	if err != nil {
		return nil, err
	}
	last, err := w.keep(recovered, true, recoveredSize)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	err = filepath.WalkDir(w.home, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(name, ".info.json") {
			return os.Remove(name) // a daemon that dies leaves none
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if size < recovered*recoveredSize*9/10 {
		return nil, fmt.Errorf("the logs have %d bytes", size)
	}
	began := time.Now()
	s, err := serve(ctx, p, w)
	if err != nil {
		return nil, err
	}
	defer s.end()
	failed := make([]error, len(last))
	var work conc.WaitGroup
	for i, seq := range last {
		work.Go(func() {
			p := &wire.SubscribeParams{Session: fmt.Sprintf("kept-%05d", i), FromSeq: seq}
			failed[i] = s.Call(ctx, wire.MethodSubscribe, p, new(wire.SubscribeResult))
		})
	}
	work.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, s.fault(err)
	}
	took := time.Since(began)
	return [][]float64{{ms(took)}}, nil
}
