package route

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Evidence is the kind of evidence in which two agents are alike. It decides what the
// finding advises to change.
type Evidence uint8

// The kinds of evidence.
const (
	// their keywords and patterns are the same
	ByTriggers Evidence = iota
	// their example sentences are alike
	ByExamples
	// they have neither, and their descriptions are alike
	ByDescription
)

// Rival is an agent that the rules cannot tell from another one.
type Rival struct {
	Agent int // its place among the agents of the index
	By    Evidence
}

// How alike two agents are that nothing tells apart. The likeness of sentences is
// measured on CLINC150 (TestOverlapsOfCLINC150): two halves of one domain are over
// 0.9, two domains under 0.5.
const (
	sameTriggers  = 0.8 // share of the points of the agent that has fewer
	samePoints    = 0.9 // of the higher of two agents, for one keyword
	sameSentences = 0.8 // cosine of all their sentences
	apart         = 0.5 // a cosine below which examples tell them apart, whatever the keywords
)

// Pairs of agents are compared in whole where the features that are rare enough make
// them likely: a thousand agents share most of their words.
const (
	rareAgents = 32  // that have a feature, at most
	likely     = 0.3 // cosine of the rare features
)

// maxRivals is how many rivals of one agent are told.
const maxRivals = 5

// Overlaps returns for each agent those that the rules cannot tell from it: who wins
// an input for one of them is a coin toss. It compares all pairs, which takes a while
// with a thousand agents, and returns nil when ctx ends before. The lists have the
// order of NewIndex, and five rivals at most each.
func (x *Index) Overlaps(ctx context.Context) [][]Rival {
	n := len(x.agents)
	rules, sentences := newProfiles(x.ruleEntries(), n), newProfiles(x.examples.entries(), n)
	rivals := make([][]Rival, n)
	shared, alike := make([]float64, n), make([]float64, n)
	for a := range n {
		if ctx.Err() != nil {
			return nil
		}
		clear(shared)
		clear(alike)
		rules.compare(a, n, func(b int, mine, other float64) {
			if min(mine, other) >= samePoints*max(mine, other) {
				shared[b] += min(mine, other)
			}
		})
		sentences.compare(a, rareAgents, func(b int, mine, other float64) { alike[b] += mine * other })
		// Each pair is looked at once, and both get the other as a rival.
		for b := a + 1; b < n; b++ {
			triggers := 0.0
			if shared[b] > 0 {
				triggers = shared[b] / min(rules.sum[a], rules.sum[b])
			}
			if triggers < sameTriggers && alike[b] <= likely*math.Sqrt(sentences.rare[a]*sentences.rare[b]) {
				continue
			}
			if by, same := x.overlap(a, b, triggers, sentences.cosine(a, b)); same {
				rivals[a], rivals[b] = append(rivals[a], Rival{b, by}), append(rivals[b], Rival{a, by})
			}
		}
		rivals[a] = rivals[a][:min(len(rivals[a]), maxRivals)]
	}
	return rivals
}

// overlap reports whether nothing tells two agents apart, by the share of their
// triggers that is the same and the likeness of their sentences. Agents of clearly
// different priority are told apart by that.
func (x *Index) overlap(a, b int, triggers, likeness float64) (Evidence, bool) {
	one, other := x.agents[a], x.agents[b]
	bothGive := len(one.Examples) > 0 && len(other.Examples) > 0
	nothingElse := len(one.Examples)+len(one.Triggers)+len(other.Examples)+len(other.Triggers) == 0
	near := float64(min(one.Priority, other.Priority)) >= samePoints*float64(max(one.Priority, other.Priority))
	switch {
	// Examples that are clearly different tell two agents apart whatever their keywords.
	case triggers >= sameTriggers && (!bothGive || likeness >= apart):
		return ByTriggers, true
	case bothGive && near && likeness >= sameSentences:
		return ByExamples, true
	case nothingElse && near && likeness >= sameSentences:
		return ByDescription, true
	}
	return 0, false
}

// entry is how much one feature counts for one agent.
type entry struct {
	feature, agent int32
	weight         float32
}

// profiles are the features of each agent, and the agents of each feature. Both orders
// are in int32 places, since a thousand agents have millions of features.
type profiles struct {
	entries []entry // in the order of features, then agents
	group   []int32 // where each feature begins in entries, and where the last one ends
	own     []int32 // places in entries, in the order of agents, then features
	from    []int32 // where each agent begins in own, and where the last one ends

	sum, squares, rare []float64 // of each agent's weights; of their squares; of those of rare features
}

// newProfiles takes entries, of which those of one feature stand together in the order
// of agents. It adds up those of one agent and feature, and keeps the slice.
func newProfiles(entries []entry, agents int) *profiles {
	p := &profiles{entries: entries[:0], from: make([]int32, agents+1), sum: make([]float64, agents),
		squares: make([]float64, agents), rare: make([]float64, agents)}
	for _, e := range entries {
		last := len(p.entries) - 1
		switch {
		case last >= 0 && p.entries[last].feature == e.feature && p.entries[last].agent == e.agent:
			p.entries[last].weight += e.weight
			continue
		case last < 0 || p.entries[last].feature != e.feature:
			p.group = append(p.group, int32(len(p.entries)))
		}
		p.entries = append(p.entries, e)
	}
	p.group = append(p.group, int32(len(p.entries)))
	// The number of its group takes the place of each feature, so that compare finds the group
	// by it.
	for f := range len(p.group) - 1 {
		group := p.entries[p.group[f]:p.group[f+1]]
		for i, e := range group {
			weight := float64(e.weight)
			p.from[e.agent+1]++
			p.sum[e.agent] += weight
			p.squares[e.agent] += weight * weight
			if len(group) <= rareAgents {
				p.rare[e.agent] += weight * weight
			}
			group[i].feature = int32(f)
		}
	}
	for a := range agents {
		p.from[a+1] += p.from[a]
	}
	// Sorted by agent, and within one by feature, since the entries are in that order: cosine
	// goes by it.
	p.own = make([]int32, len(p.entries))
	next := slices.Clone(p.from)
	for i, e := range p.entries {
		p.own[next[e.agent]] = int32(i)
		next[e.agent]++
	}
	return p
}

// compare calls each for every feature that an agent shares with a later one, and that
// no more than limit agents have.
func (p *profiles) compare(agent, limit int, each func(other int, mine, theirs float64)) {
	for _, i := range p.own[p.from[agent]:p.from[agent+1]] {
		mine := p.entries[i]
		if end := p.group[mine.feature+1]; int(end-p.group[mine.feature]) <= limit {
			for _, e := range p.entries[i+1 : end] {
				each(int(e.agent), float64(mine.weight), float64(e.weight))
			}
		}
	}
}

// cosine returns how alike two agents are in all their features.
//
// Features are sorted, so both are gone through once. It is from 0 to 1; 0 for two that
// share none.
func (p *profiles) cosine(a, b int) float64 {
	one, other := p.own[p.from[a]:p.from[a+1]], p.own[p.from[b]:p.from[b+1]]
	sum := 0.0
	for len(one) > 0 && len(other) > 0 {
		mine, theirs := p.entries[one[0]], p.entries[other[0]]
		switch {
		case mine.feature < theirs.feature:
			one = one[1:]
		case mine.feature > theirs.feature:
			other = other[1:]
		default:
			sum += float64(mine.weight) * float64(theirs.weight)
			one, other = one[1:], other[1:]
		}
	}
	if sum == 0 {
		return 0
	}
	return sum / math.Sqrt(p.squares[a]*p.squares[b])
}

// ruleEntries returns the keywords and patterns of all agents with their points. Points
// are before the division by 100; only their relation counts.
func (x *Index) ruleEntries() []entry {
	var entries []entry
	ids := make(map[string]int32)
	add := func(agent int, key string, points int) {
		id, known := ids[key]
		if !known {
			id = int32(len(ids))
			ids[key] = id
		}
		entries = append(entries, entry{id, int32(agent), float32(points)})
	}
	for a, agent := range x.agents {
		for _, t := range agent.Triggers {
			for _, word := range t.Keywords {
				add(a, strings.Join(parts(fold(word)), " "), keywordPoints*t.Priority)
			}
			for _, pattern := range t.Patterns {
				// In quotes, which no keyword has here: a pattern is never like a keyword.
				add(a, strconv.Quote(pattern), patternPoints*t.Priority)
			}
		}
	}
	slices.SortFunc(entries, func(e, f entry) int {
		return cmp.Or(cmp.Compare(e.feature, f.feature),
			cmp.Compare(e.agent, f.agent))
	})
	return entries
}

// entries returns the features of the sentences of all agents. Sentences are in the
// order of agents, so entries are in that of features, then agents, as newProfiles
// takes them.
func (c *corpus) entries() []entry {
	entries := make([]entry, 0, len(c.posts))
	for id := range c.rarity {
		for _, p := range c.posts[c.from[id]:c.from[id+1]] { // sentences are in the order of agents
			s := c.sentences[p.sentence]
			entries = append(entries, entry{int32(id), int32(s.agent), p.weight * float32(s.weight)})
		}
	}
	return entries
}
