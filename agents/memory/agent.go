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
// It is not changed once it is in use, and then safe for concurrent use. It owns nothing:
// the backend is closed by who made it.
type Agent struct {
	Backend Backend
	At      Place
	Want    Shape // of the agent's file: an Embedder or a Dimension that is not given, any
	// Records that are recalled where the call does not say how many; from 1.
	Limit int
	// The least score of what is found by meaning, from 0 to 1; nil = [DefaultThreshold],
	// or [LocalThreshold] where the vectors are local ones. What is found by words has no
	// threshold.
	Threshold *float64
	// Embedder returns the embedder of a name, "" for the one that a new store gets. It is
	// not asked for [LocalName]. The error is for people. nil is allowed where Want.Kind
	// is not Vector.
	Embedder func(name string) (Embedder, error)
}

// Place says which store it is.
func (a *Agent) Place() Place { return a.At }

// Recalled is what was found.
// It is the zero value where nothing was ever stored.
type Recalled struct {
	// The best first; nil where nothing was stored yet or nothing fits.
	Matches []Match
	By      string // what found them: an embedder, or "words"
	Note    string // why it was found otherwise than the agent's file says; "" = it was not
}

// open returns the agent's store, nil where nothing was stored yet.
// The error is of kind fault.Invalid where the store was made for another shape than the
// agent's file says, and else the backend's.
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
// The first record makes the store, and with it the shape: the embedder and the dimension
// that this record got. r.Key must be set; a record of the same key is replaced, and id is
// then that of before. Embedding may ask a provider, and heeds ctx.
//
// The error is of kind fault.Invalid where the store has another shape than the agent's
// file, of kind fault.Unavailable where disk or server failed and a retry may help, and
// else that of the embedder. Where a server failed or ctx ended the record may be there all
// the same.
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
// An embedder that fails is no error: the records are then found by their words, and Note
// says so. Errors are those of [Agent.Remember], or ctx's. The caller owns the result.
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

// embedder returns the embedder of a name. Local vectors need no provider, so nobody is
// asked for theirs.
func (a *Agent) embedder(name string) (Embedder, error) {
	if IsLocal(name) {
		return Local{}, nil
	}
	return a.Embedder(name)
}
