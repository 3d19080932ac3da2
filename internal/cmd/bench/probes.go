package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// probe measures some rows of the table.
type probe struct {
	name          string // of -only
	rows          []row
	rounds, quick int // repetitions, in full and quick
	// round measures once. It returns samples for each row; none for a row that
	// the peer does not have.
	round func(ctx context.Context, b *bench, p peer) ([][]float64, error)
}

// row is one row of the table: what it is and what is wanted.
type row struct {
	what, unit string
	goal       float64 // 0 = none
	times      float64 // the goal in limits; 0 = none
	of         func([]float64) float64
}

// sessions is how many work at once, turns how many turns of each read a file.
const (
	sessions = 50
	turns    = 5
)

// probes are those of spec 13, first table, in its order.
func probes(o options) []probe {
	streaming := fmt.Sprintf("%d sessions streaming for %v, 50 chunks/s each", o.streams, o.minute())
	return []probe{
		{"start", []row{
			{"start → initialize answered, 100 agents", "ms", 20, 5, median},
			{"memory after initialize, PSS", "MiB", 27, 4.2, median},
		}, 20, 3, starting((*bench).smallWorld)},
		{"start-10000", []row{
			{"start → initialize answered, 10,000 agents", "ms", 400, 0, median},
			{"memory with 10,000 agents, PSS", "MiB", 70, 0, median},
			{"start → agents/list answered, 10,000 agents", "ms", 0, 0, median},
		}, 5, 1, onlyAgentls(starting((*bench).largeWorld))},
		{"idle", []row{{"private memory after 10 s idle", "MiB", 6, 6, median}}, 2, 1, idle},
		{"once", []row{{"one-shot run, process start to end", "ms", 30, 4, median}}, 20, 3, once},
		{"running", []row{{"the same on a running server", "ms", 5, 2.3, median}}, 3, 1, running},
		{"session", []row{{"new session", "ms", 1, 0, median}}, 3, 1, newSession},
		{"turn", []row{{"own cost of a turn with one file read", "ms", 0.4, 1.5, median}}, 3, 1, turn},
		{"parallel", []row{{"10 parallel calls in one turn", "ms", 2.5, 2.5, median}}, 3, 1, parallel},
		{"stream", []row{{"20,000 chunks, first byte → done", "ms", 0, 1.15, median}}, 5, 2, stream},
		{"lag", []row{
			{"chunk from the model's socket to the client, p50", "ms", 0.13, 1.5, median},
			{"the same, p99", "ms", 0.6, 1.6, p99},
		}, 3, 1, lag},
		{"load", []row{
			{"50 sessions × 5 turns at once, wall", "ms", 140, 1.2, median},
			{"the same, processor", "s", 0.13, 1.8, median},
		}, 7, 2, load},
		{"load-memory", []row{
			{"the same, peak PSS", "MiB", 40, 2.2, median},
			{"memory for each further session (active)", "MiB", 0.25, 1.2, median},
		}, 5, 1, loadMemory},
		{"streams", []row{
			{streaming + ": chunk to the client, p50", "ms", 0, 0, median},
			{"the same, p99", "ms", 250, 0, p99},
			{"the same, peak PSS", "MiB", 120, 0, median},
			{"the same, processor", "s", 0, 0, median},
		}, 1, 1, streams},
		{"list", []row{
			{"agentls sessions list, 10,000 sessions", "ms", 1000, 0, median},
			{"agents/session/list, the first 100 of them", "ms", 1000, 0, median},
		}, 1, 1, onlyAgentls(listing)},
		{"recovery", []row{{"start → 100 interrupted sessions of 1 MiB open", "ms", 2000, 0, median}}, 3, 1,
			onlyAgentls(recovery)},
		{"size", []row{{"installed size, one file", "MiB", 50, 5, median}}, 1, 1, size},
	}
}

func probeNames() []string {
	var names []string
	for _, p := range probes(options{}) {
		names = append(names, p.name)
	}
	return names
}

// measure does all rounds, the peers by turns. With an error there are rows all
// the same: what could be measured.
func (p probe) measure(ctx context.Context, b *bench) ([]result, error) {
	rounds := p.rounds
	if b.quick {
		rounds = p.quick
	}
	samples := make(map[string][][]float64)
	var failed error
	for range rounds {
		for _, who := range b.peers() {
			got, err := p.round(ctx, b, who)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s of %s: %w", p.name, who.name(), err))
				continue
			}
			if samples[who.name()] == nil {
				samples[who.name()] = make([][]float64, len(p.rows))
			}
			for i, s := range got {
				samples[who.name()][i] = append(samples[who.name()][i], s...)
			}
		}
		if failed != nil || ctx.Err() != nil {
			break // what fails once fails again
		}
	}
	results := make([]result, len(p.rows))
	for i, r := range p.rows {
		results[i] = result{Probe: p.name, What: r.what, Unit: r.unit, Goal: r.goal, Times: r.times}
		if s := samples["agentls"]; s != nil && len(s[i]) > 0 {
			results[i].Agentls, results[i].Samples = new(r.of(s[i])), len(s[i])
		}
		if s := samples["limit"]; s != nil && len(s[i]) > 0 {
			results[i].Limit = new(r.of(s[i]))
		}
		results[i].judge()
	}
	return results, failed
}

// some returns how often something is done within a round.
func (b *bench) some(n int) int {
	if b.quick {
		return max(n/5, 1)
	}
	return n
}

// size weighs the binary.
func size(_ context.Context, _ *bench, p peer) ([][]float64, error) {
	info, err := os.Stat(p.binary())
	if err != nil {
		return nil, err
	}
	return [][]float64{{float64(info.Size()) / (1 << 20)}}, nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// label returns a word that no other session has.
func (b *bench) label(p peer, what string) string {
	b.labels++
	return fmt.Sprintf("%s_%s_%d_", p.name(), what, b.labels)
}
