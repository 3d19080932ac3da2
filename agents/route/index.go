package route

import (
	"cmp"
	"math"
	"regexp"
	"slices"

	"github.com/agentls/agentls/agents/definition"
)

// Agent is what is known of an agent that inputs may be routed to.
type Agent struct {
	// Unique in the index.
	Name        string
	Description string
	// Their own priorities are of their keywords and patterns.
	Triggers []definition.Trigger
	Examples []string // sentences that it is for
	Priority int      // 0 to 100: of its examples and description
}

// Index holds the agents of one catalog, compiled. It is safe for concurrent use and
// never changes.
type Index struct {
	agents   []Agent
	keywords map[string][]keyword // by a word that the keyword begins with, in any of its forms
	others   []keyword            // of scripts that do not part their words
	patterns []compiled
	examples corpus
}

// keyword is one keyword of a trigger.
type keyword struct {
	agent, trigger int
	text           string     // as it is written
	forms          [][]string // of each of its words; nil for what is looked for as it is
	folded         string     // what is looked for as it is
}

// compiled is one pattern of a trigger.
type compiled struct {
	agent, trigger int
	text           string
	re             *regexp.Regexp
}

// NewIndex compiles agents. It keeps the slice, which the caller must not change. A
// pattern that does not compile is left out: a finding of its file says so. It blocks
// for the processor only.
func NewIndex(agents []Agent) *Index {
	x := &Index{agents: agents, keywords: make(map[string][]keyword)}
	var sentences []sentence
	for a, agent := range agents {
		for t, trigger := range agent.Triggers {
			for _, text := range trigger.Keywords {
				x.addKeyword(a, t, text)
			}
			for _, text := range trigger.Patterns {
				if re, err := regexp.Compile("(?i)" + text); err == nil {
					x.patterns = append(x.patterns, compiled{a, t, text, re})
				}
			}
		}
		for _, text := range agent.Examples {
			sentences = append(sentences, sentence{agent: a, text: text, weight: 1})
		}
		if agent.Description != "" {
			sentences = append(sentences, sentence{agent: a, text: agent.Description, weight: descriptionWeight})
		}
	}
	x.examples = newCorpus(sentences, len(agents))
	return x
}

// addKeyword takes a keyword in: ASCII by its words in their English forms, anything else folded,
// as a part of the input.
func (x *Index) addKeyword(agent, trigger int, text string) {
	k := keyword{agent: agent, trigger: trigger, text: text}
	if !isASCII(text) {
		if k.folded = fold(text); k.folded != "" {
			x.others = append(x.others, k)
		}
		return
	}
	for _, word := range parts(text) {
		k.forms = append(k.forms, forms(word))
	}
	if len(k.forms) == 0 {
		return
	}
	for _, first := range k.forms[0] {
		x.keywords[first] = append(x.keywords[first], k)
	}
}

// descriptionWeight is how much the likeness to a description counts beside that to
// an example: descriptions of agents share most of their words.
const descriptionWeight = 0.5

// sentence is one text that an input is compared with.
type sentence struct {
	agent  int
	text   string
	weight float64
}

// corpus finds which sentences are like an input: the cosine of their features, each
// weighed by how rare it is. Postings lie by feature in one slice, so that an input is
// compared by walking those of its own features; a thousand agents with many examples
// stay cheap.
type corpus struct {
	sentences []sentence
	given     []int            // how many sentences each agent has
	ids       map[uint64]int32 // of features
	rarity    []float32        // of each feature
	posts     []posting        // of feature i from posts[from[i]] to posts[from[i+1]]
	from      []int32
}

// posting is a sentence that has a feature.
type posting struct {
	sentence int32
	weight   float32 // of a vector of length 1
}

// weighed is a feature of a text and how much it counts.
type weighed struct {
	id     int32 // -1 is of a feature that no sentence has
	weight float32
}

// maxShare is in which share of the sentences a feature may occur and still be looked
// for: what more have tells them apart no better, and costs the most.
const maxShare = 0.2

// newCorpus counts the features of sentences, which are in the order of their agents, and keeps
// those that are rare enough to tell them apart.
func newCorpus(sentences []sentence, agents int) corpus {
	c := corpus{sentences: sentences, given: make([]int, agents), ids: make(map[uint64]int32)}
	var all []weighed // of all sentences, one behind the other
	ends := make([]int, len(sentences))
	var have []int32 // how many sentences have a feature
	var last []int32 // where in all a feature was added last
	for i, s := range sentences {
		c.given[s.agent]++
		begin := len(all)
		eachFeature(s.text, func(key uint64, weight float32) {
			id, ok := c.ids[key]
			if !ok {
				id = int32(len(have))
				c.ids[key] = id
				have, last = append(have, 0), append(last, -1)
			}
			// The sentence has it already: it counts once there, with more weight.
			if at := int(last[id]); at >= begin {
				all[at].weight += weight
				return
			}
			last[id] = int32(len(all))
			have[id]++
			all = append(all, weighed{id, weight})
		})
		ends[i] = len(all)
	}
	c.rarity, c.from = make([]float32, len(have)), make([]int32, len(have)+1)
	for id, n := range have {
		c.rarity[id] = c.rarityOf(n)
		if float64(n) > max(maxShare*float64(len(sentences)), 3) {
			n = 0 // it is not looked for
		}
		c.from[id+1] = c.from[id] + n
	}
	c.posts = make([]posting, c.from[len(have)])
	next := slices.Clone(c.from)
	begin := 0
	for i, end := range ends {
		v := all[begin:end]
		length := c.weigh(v)
		for _, w := range v {
			// A feature that too many have was given no room.
			if at := next[w.id]; at < c.from[w.id+1] {
				c.posts[at] = posting{int32(i), w.weight / length}
				next[w.id]++
			}
		}
		begin = end
	}
	return c
}

// rarityOf returns how much a feature counts that n sentences have. It is the inverse
// document frequency as BM25 has it, which is never negative.
func (c *corpus) rarityOf(n int32) float32 {
	all, have := float64(len(c.sentences)), float64(n)
	return float32(math.Log(1 + (all-have+0.5)/(have+0.5)))
}

// weigh multiplies the weights of a vector by how rare its features are, and returns
// its length. The root of a count keeps a word that is said often from outweighing all
// others.
func (c *corpus) weigh(v []weighed) float32 {
	sum := 0.0
	for i := range v {
		// What no sentence has finds nothing, and yet counts for the length: a text that is mostly
		// about other things is less like any of them.
		rarity := c.rarityOf(0)
		if v[i].id >= 0 {
			rarity = c.rarity[v[i].id]
		}
		w := math.Sqrt(float64(v[i].weight)) * float64(rarity)
		v[i].weight = float32(w)
		sum += w * w
	}
	return float32(math.Sqrt(sum))
}

// vector returns the features of a text, each once, with their weights, and its length.
func (c *corpus) vector(text string) ([]weighed, float32) {
	at := make(map[uint64]int)
	var v []weighed
	eachFeature(text, func(key uint64, weight float32) {
		if i, ok := at[key]; ok {
			v[i].weight += weight
			return
		}
		id, ok := c.ids[key]
		if !ok {
			id = -1
		}
		at[key] = len(v)
		v = append(v, weighed{id, weight})
	})
	return v, c.weigh(v)
}

// nearest is how many sentences of an agent count, each less than the one before.
const (
	nearest = 10
	fading  = 0.7
)

// similar is how like an input is to an agent's sentences.
type similar struct {
	likeness float64 // 0 to 1
	example  int     // the most similar sentence
	like     float64 // and how similar that is
}

// compare returns how like a text is to the sentences of each agent. An agent's
// likeness is the root of a weighted mean of squares of its nearest sentences, so one
// very similar example counts, and several count more.
func (c *corpus) compare(text string) []similar {
	all := make([]similar, len(c.given))
	v, length := c.vector(text)
	if length == 0 {
		return all
	}
	likes := make([]float32, len(c.sentences))
	var touched []int32
	for _, w := range v {
		if w.id < 0 {
			continue
		}
		share := w.weight / length
		for _, p := range c.posts[c.from[w.id]:c.from[w.id+1]] {
			if likes[p.sentence] == 0 {
				touched = append(touched, p.sentence)
			}
			likes[p.sentence] += share * p.weight
		}
	}
	best := make([][]float64, len(c.given))
	for _, i := range touched {
		s := c.sentences[i]
		like := float64(likes[i]) * s.weight
		if like > all[s.agent].like {
			all[s.agent].like, all[s.agent].example = like, int(i)
		}
		best[s.agent] = keepBest(best[s.agent], like)
	}
	for a, likes := range best {
		sum, of, factor := 0.0, 0.0, 1.0
		// An agent with few sentences is measured by those that it has: ten near ones it cannot
		// have.
		for i := range min(nearest, c.given[a]) {
			if i < len(likes) {
				sum += factor * likes[i] * likes[i]
			}
			of += factor
			factor *= fading
		}
		if of > 0 {
			all[a].likeness = math.Sqrt(sum / of)
		}
	}
	return all
}

// keepBest adds a likeness to the nearest ones, which are sorted, the best first. It
// keeps nearest of them.
func keepBest(best []float64, like float64) []float64 {
	i, _ := slices.BinarySearchFunc(best, like, func(a, b float64) int { return cmp.Compare(b, a) })
	if i >= nearest {
		return best
	}
	best = slices.Insert(best, i, like)
	return best[:min(len(best), nearest)]
}
