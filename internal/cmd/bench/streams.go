package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// stamp is what a chunk of the model's looks like: a word that ends in its
// number, and when it was sent.
var stamp = regexp.MustCompile(`w[0-9a-f]+[a-z](\d+) @(\d+) `)

// chunks reads the chunks of an answer as they come.
type chunks struct {
	text []byte // not yet a whole chunk
	n    int
	lag  []float64
	err  error
}

func (c *chunks) take(text string) {
	now := mono()
	c.text = append(c.text, text...)
	at := 0
	for _, m := range stamp.FindAllSubmatchIndex(c.text, -1) {
		n, _ := strconv.Atoi(string(c.text[m[2]:m[3]]))
		sent, _ := strconv.ParseInt(string(c.text[m[4]:m[5]]), 10, 64)
		if (n != c.n || m[0] != at) && c.err == nil {
			c.err = fmt.Errorf("chunk %d came after %d", n, c.n-1)
		}
		c.n, at = n+1, m[1]
		c.lag = append(c.lag, ms(time.Duration(now-sent)))
	}
	c.text = append(c.text[:0], c.text[at:]...)
}

// all checks that n chunks came, in order.
func (c *chunks) all(n int) error {
	if c.err == nil && (c.n != n || len(c.text) > 0) {
		c.err = fmt.Errorf("%d chunks came, not %d", c.n, n)
	}
	return c.err
}

// stream takes the time from the first byte of a long answer until it has come.
func stream(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	const n = 20_000
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	// What it says is looked at when the time was taken.
	var texts []string
	s.listen(func(_, text string) { texts = append(texts, text) })
	var samples []float64
	for range 2 {
		sid := b.label(p, "stream")
		texts = texts[:0]
		if err := s.ask(ctx, sid, fmt.Sprintf("scenario:stream %d", n)); err != nil {
			return nil, err
		}
		done := mono()
		s.listen(nil)
		var c chunks
		for _, text := range texts {
			c.take(text)
		}
		if err := c.all(n); err != nil {
			return nil, err
		}
		requests, err := b.model.requests(ctx, sid, 1)
		if err != nil {
			return nil, err
		}
		samples = append(samples, ms(time.Duration(done-requests[0].First)))
		s.listen(func(_, text string) { texts = append(texts, text) })
	}
	return [][]float64{samples}, nil
}

// lag takes the time from when a chunk was sent until it has come, at one each
// two milliseconds.
func lag(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	n := b.some(1000)
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var c chunks
	s.listen(func(_, text string) { c.take(text) })
	if err := s.ask(ctx, b.label(p, "lag"), fmt.Sprintf("scenario:paced %d", n)); err != nil {
		return nil, err
	}
	s.listen(nil)
	return [][]float64{c.lag, slices.Clone(c.lag)}, c.all(n)
}

// betweenChunks is the time between two chunks of one stream, a fast model's.
const betweenChunks = 20 * time.Millisecond

// minute is how long the sessions of streams stream.
func (o options) minute() time.Duration {
	d := time.Duration(o.seconds) * time.Second
	if o.quick {
		d /= 6
	}
	return d
}

// streams has many sessions stream at once for a while, over one connection. It
// takes the time of each chunk from the model's socket to the client, which
// checks that all come and in order, the highest memory, and the processor's
// time.
func streams(ctx context.Context, b *bench, p peer) (samples [][]float64, err error) {
	n := int(b.minute() / betweenChunks)
	dir := filepath.Join(b.tmp, b.label(p, "streams"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	model, err := startFake(ctx, b.llm, dir, b.work.dir, "-pace", strconv.FormatInt(betweenChunks.Microseconds(), 10))
	if err != nil {
		return nil, err
	}
	defer model.stop()
	paced := *b
	paced.model = model
	for _, who := range paced.peers() {
		if who.name() == p.name() {
			p = who
		}
	}
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	all, err := s.sessions(ctx, b.streams, b.label(p, "streams"))
	if err != nil {
		return nil, err
	}
	heard := make(map[string]*chunks)
	for _, session := range all {
		heard[session] = &chunks{}
	}
	s.listen(func(session, text string) {
		if c := heard[session]; c != nil {
			c.take(text)
		}
	})
	before, err := cpu(s.pid())
	if err != nil {
		return nil, err
	}
	// Rarely: to look takes time from who is looked at.
	highest := watch(s.pid(), 500*time.Millisecond)
	err = s.askAll(ctx, all, b.label(p, "streams"), fmt.Sprintf("scenario:paced %d", n))
	pss, memErr := highest()
	after, cpuErr := cpu(s.pid())
	s.listen(nil)
	if err := errors.Join(err, memErr, cpuErr); err != nil {
		return nil, err
	}
	var lag []float64
	for session, c := range heard {
		if err := c.all(n); err != nil {
			return nil, fmt.Errorf("%s: %w", session, err)
		}
		lag = append(lag, c.lag...)
	}
	return [][]float64{lag, slices.Clone(lag), {pss}, {(after - before).Seconds()}}, nil
}
