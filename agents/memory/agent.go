package memory

import (
	"context"
	"fmt"

	"github.com/agentls/agentls/internal/fault"
)

// The least score of what is recalled by meaning, where the agent's file does not say. The
// vectors of [Local] are less alike than those of models.
const (
	DefaultThreshold = 0.5
	LocalThreshold   = 0.2
)

// Agent is the memory of one agent. Its store is opened when it is first used. The zero
// value of a field that says nothing is no restriction.
type Agent struct {
	Backend   Backend
	At        Place
	Want      Shape // of the agent's file: an Embedder or a Dimension that is not given, any
	Limit     int   // records that are recalled at most
	Threshold *float64
	// Embedder returns the embedder of a name, "" for the one that a new store gets. The
	// error is for people.
	Embedder func(name string) (Embedder, error)
}

// Place says which store it is.
func (a *Agent) Place() Place { return a.At }

// Recalled is what was found.
type Recalled struct {
	Matches []Match
	By      string // what found them: an embedder, or "words"
	Note    string // why it was found otherwise than the agent's file says; "" = it was not
}

// open returns the agent's store, nil where nothing was stored yet.
func (a *Agent) open(ctx context.Context) (Store, error) {
	s, err := a.Backend.Open(ctx, a.At, nil)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s, s.Shape().Fits(a.Want, a.At)
}

// Remember keeps a record: when it returns without an error, it is kept.
func (a *Agent) Remember(ctx context.Context, r Record) (id string, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return "", err
	}
	shape := Shape{Kind: a.Want.Kind}
	var vector []float32
	if shape.Kind == Vector {
		name, dimension := a.Want.Embedder, a.Want.Dimension
		if s != nil {
			name, dimension = s.Shape().Embedder, s.Shape().Dimension
		}
		e, err := a.embedder(name)
		if err != nil {
			return "", err
		}
		if vector, err = e.Embed(ctx, r.Key+"\n"+r.Content, dimension, ForRecord); err != nil {
			return "", err
		}
		shape.Embedder, shape.Dimension = e.Name(), len(vector)
	}
	if s == nil {
		if s, err = a.Backend.Open(ctx, a.At, &shape); err != nil {
			return "", err
		}
	}
	if err := s.Shape().Fits(shape,
		a.At); err != nil { // another daemon made it meanwhile, or the model's vectors are others now
		return "", err
	}
	return s.Put(ctx, r, vector)
}

// Recall returns up to limit records that fit a query, 0 = as the agent's file says.
func (a *Agent) Recall(ctx context.Context, query string, limit int) (Recalled, error) {
	s, err := a.open(ctx)
	if err != nil || s == nil {
		return Recalled{}, err
	}
	if limit == 0 {
		limit = a.Limit
	}
	byWords := func(note string) (Recalled, error) {
		found, err := s.Find(ctx, Query{Words: QueryWords(query), Limit: limit})
		return Recalled{Matches: found, By: "words", Note: note}, err
	}
	shape := s.Shape()
	if shape.Kind != Vector {
		return byWords("")
	}
	var vector []float32
	e, err := a.embedder(shape.Embedder)
	if err == nil {
		vector, err = e.Embed(ctx, query, shape.Dimension, ForQuery)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Recalled{}, ctx.Err()
		}
		// Vectors of another embedder would find anything.
		return byWords(fmt.Sprintf("found by words only, since the vectors are by %s: %s",
			shape.Embedder, fault.Message(err)))
	}
	threshold := DefaultThreshold
	if IsLocal(shape.Embedder) {
		threshold = LocalThreshold
	}
	if a.Threshold != nil {
		threshold = *a.Threshold
	}
	found, err := s.Find(ctx, Query{Vector: vector, Limit: limit, Threshold: threshold})
	return Recalled{Matches: found, By: shape.Embedder}, err
}

func (a *Agent) embedder(name string) (Embedder, error) {
	if IsLocal(name) {
		return Local{}, nil
	}
	return a.Embedder(name)
}
