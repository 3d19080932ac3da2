package memory

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
)

// Use is what a vector is for; models make those of a question otherwise.
// An embedder that makes no difference ignores it.
type Use string

// The uses.
const (
	// A text that is stored.
	ForRecord Use = "record"
	// A question that is to find stored texts.
	ForQuery Use = "query"
)

// Embedder makes vectors of texts. It is safe for concurrent use. Whoever makes one
// counts and tells its calls of a model; Agent only calls it.
type Embedder interface {
	// Name says whose the vectors are: an id of a model, or [LocalName]. It is kept in
	// the store, and vectors are compared only with those of the same name.
	Name() string
	// Embed returns the vector of a text, of the given dimension; 0 = the embedder's own,
	// which is always the same. Vectors are compared by their directions, so their length
	// is free. It may ask a provider, ends with ctx, and then returns its error. The
	// caller owns the vector.
	Embed(ctx context.Context, text string, dimension int, use Use) ([]float32, error)
}

// LocalName names the vectors of [Local]. Another way to make them needs another name.
const LocalName = "local/ngrams-1"

// localDimension is how long the vectors of [Local] are where nobody says. Collisions
// of grams grow as it shrinks.
const localDimension = 512

// Local is the embedder that needs no provider: it hashes the words of a text and their
// parts of three to five characters, so that texts with like words have like vectors. It
// knows no meanings. The same text has the same vector on each machine.
type Local struct{}

// Name implements [Embedder].
func (Local) Name() string { return LocalName }

// Embed implements [Embedder]. It does not fail.
// A text without words has a vector of zeros, which nothing is like. It takes
// microseconds and does not look at the context.
func (Local) Embed(_ context.Context, text string, dimension int, _ Use) ([]float32, error) {
	if dimension == 0 {
		dimension = localDimension
	}
	v := make([]float32, dimension)
	add := func(gram string, weight float32) {
		h := fnv.New64a()
		h.Write([]byte(gram))
		sum := h.Sum64()
		if sum>>63 == 1 { // half of them count down, so that collisions cancel out
			weight = -weight
		}
		v[sum%uint64(dimension)] += weight
	}
	for _, word := range Words(text) {
		add("="+word, 2)
		edged := []rune("<" + word + ">")
		for n := 3; n <= 5; n++ {
			weight := 1 / float32(max(len(edged)-n+1, 1)) // long words do not count more
			for i := 0; i+n <= len(edged); i++ {
				add(string(edged[i:i+n]), weight)
			}
		}
	}
	normalize(v)
	return v, nil
}

// normalize gives a vector the length 1, but one of zeros.
func normalize(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	by := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= by
	}
}

// IsLocal reports whether the vectors of a name are made on this machine, as by [Local].
// local is how agent files write it.
func IsLocal(name string) bool { return name == LocalName || strings.EqualFold(name, "local") }
