package route

import (
	"cmp"
	"context"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Analysis is how much speaks for each agent (agents/route of spec 5.1). It is the
// caller's.
type Analysis struct {
	Candidates []Candidate // those that something speaks for, the best first
	Tied       bool        // the first two have the same score
	Partial    bool        // not all patterns were tried: it took too long
}

// Candidate is an agent that something in the input speaks for.
type Candidate struct {
	Agent string
	// Points, rounded: who leads.
	Score      int
	Confidence int // 0 to 100: how sure it is that this agent is the right one
	Matches    []Match

	// the points before rounding, which is what candidates are ordered by
	exact float64
}

// Match is one thing that speaks for an agent.
type Match struct {
	Kind   string // keyword, pattern, example or description
	Text   string // the keyword, pattern or sentence
	Intent string // of the trigger; "" = not said
	// With the priority.
	Points float64
}

// The points of spec 5.1, before the priority.
const (
	keywordPoints = 10
	patternPoints = 20
	examplePoints = 20 // at most
)

// The measures of confidence by examples, calibrated on CLINC150's val and oos_val so
// that the threshold of 80 is the right one (docs/routing.md).
const (
	enough  = 0.205 // a likeness, with its lead over the next, of confidence 80
	steep   = 3.0
	leadBy  = 0.25 // how much the lead counts
	fullest = 0.5  // a likeness that gives all points
	leastly = 0.05 // and one that gives none
)

// MaxInput is how much of an input is looked at, in bytes: its beginning. More would
// make patterns slow, and says little about whom it is for.
const MaxInput = 32 << 10

// interruptible is from how many bytes on a pattern is stopped while it is tried. Of
// shorter inputs the costliest pattern that an agent file may have takes some milliseconds.
const interruptible = 512

// match reports whether a pattern is in an input, and whether that was found out before
// ctx ended. A pattern that ends with a cut text may match by mistake, so a match
// counts only where nothing was cut.
func match(ctx context.Context, re *regexp.Regexp, input string) (matches, tried bool) {
	if ctx.Err() != nil {
		return false, false
	}
	if len(input) < interruptible {
		return re.MatchString(input), true
	}
	in := &interrupted{Reader: strings.NewReader(input), ctx: ctx}
	matches = re.MatchReader(in)
	return matches && !in.cut, !in.cut
}

// interrupted is a text that ends when ctx does.
type interrupted struct {
	*strings.Reader
	ctx context.Context
	cut bool // by ctx
}

// ReadRune implements [io.RuneReader].
func (in *interrupted) ReadRune() (rune, int, error) {
	const often = 64 // runes between two looks at ctx
	if in.cut = in.cut || (in.Len()%often == 0 && in.Len() > 0 && in.ctx.Err() != nil); in.cut {
		return 0, 0, io.EOF
	}
	return in.Reader.ReadRune()
}

// Rank tells what in an input speaks for which agent. Patterns are not tried any more
// when ctx has ended: those left out are told by Partial.
//
// It takes no lock and changes nothing. The order of candidates with one score is by
// name. Confidence of each is beside its strongest rival: of the first beside the
// second, of all others beside the first.
func (x *Index) Rank(ctx context.Context, input string) Analysis {
	input = strings.ToValidUTF8(input[:min(len(input), MaxInput)], "")
	found := make([]Candidate, len(x.agents))
	rule := make([]float64, len(x.agents))
	add := func(agent, trigger int, m Match, points float64) {
		t := x.agents[agent].Triggers[trigger]
		m.Intent, m.Points = t.Intent, points*float64(t.Priority)/100
		rule[agent] += m.Points
		found[agent].Matches = append(found[agent].Matches, m)
	}
	x.findKeywords(input, func(k keyword) {
		add(k.agent, k.trigger,
			Match{Kind: "keyword", Text: k.text}, keywordPoints)
	})
	a := Analysis{}
	for _, p := range x.patterns {
		matches, tried := match(ctx, p.re, input)
		// ctx has ended, so no pattern behind this one would be tried either.
		if !tried {
			a.Partial = true
			break
		}
		if matches {
			add(p.agent, p.trigger, Match{Kind: "pattern", Text: p.text}, patternPoints)
		}
	}
	likes := x.examples.compare(input)
	for i := range found {
		found[i].Agent, found[i].exact = x.agents[i].Name, rule[i]
		if s := likes[i]; s.likeness > leastly {
			sentence := x.examples.sentences[s.example]
			m := Match{Kind: "example", Text: sentence.text, Points: examplePoints * min(s.likeness/fullest,
				1) * float64(x.agents[i].Priority) / 100}
			if sentence.weight == descriptionWeight {
				m.Kind = "description"
			}
			found[i].exact += m.Points
			found[i].Matches = append(found[i].Matches, m)
		}
	}
	// By the exact points: rounded ones would make ties that there are not.
	first, second := leaders(found)
	for i, c := range found {
		if len(c.Matches) == 0 {
			continue
		}
		rival := first
		if i == first {
			rival = second
		}
		c.Score = int(math.Round(c.exact))
		c.Confidence = confidence(c.exact, rule[i], likes[i].likeness, scoreOf(found, rival), likenessOf(likes, rival))
		a.Candidates = append(a.Candidates, c)
	}
	slices.SortStableFunc(a.Candidates, func(c, d Candidate) int {
		return cmp.Or(cmp.Compare(d.exact, c.exact), cmp.Compare(c.Agent, d.Agent))
	})
	a.Tied = len(a.Candidates) > 1 && a.Candidates[0].exact == a.Candidates[1].exact
	return a
}

// findKeywords calls found for each keyword that is in an input, once. Identifiers
// count by their parts and as a whole: TypeError is found in typeError and type_error.
func (x *Index) findKeywords(input string, found func(keyword)) {
	type place struct {
		agent, trigger int
		text           string
	}
	seen := make(map[place]bool)
	tell := func(k keyword) {
		if at := (place{k.agent, k.trigger, k.text}); !seen[at] {
			seen[at] = true
			found(k)
		}
	}
	for _, words := range [][]string{parts(input), wholes(input)} {
		for i, word := range words {
			for _, k := range x.keywords[word] {
				if len(words)-i >= len(k.forms) && follow(words[i:], k.forms) {
					tell(k)
				}
			}
		}
	}
	if len(x.others) > 0 {
		folded := fold(input)
		for _, k := range x.others {
			if strings.Contains(folded, k.folded) {
				tell(k)
			}
		}
	}
}

// follow reports whether words begin with one form of each.
func follow(words []string, forms [][]string) bool {
	for i, f := range forms {
		if !slices.Contains(f, words[i]) {
			return false
		}
	}
	return true
}

// leaders returns the two candidates with the highest scores; -1 for none.
func leaders(found []Candidate) (first, second int) {
	first, second = -1, -1
	for i, c := range found {
		switch {
		case c.exact <= 0:
		case first < 0 || c.exact > found[first].exact:
			first, second = i, first
		case second < 0 || c.exact > found[second].exact:
			second = i
		}
	}
	return first, second
}

// scoreOf is the score of a candidate; 0 for none (-1).
func scoreOf(found []Candidate, i int) float64 {
	if i < 0 {
		return 0
	}
	return found[i].exact
}

// likenessOf is the likeness of an agent; 0 for none (-1).
func likenessOf(likes []similar, i int) float64 {
	if i < 0 {
		return 0
	}
	return likes[i].likeness
}

// confidence returns how sure a candidate with a score is, of which points come from
// rules, beside a rival. Rules and examples are taken for independent evidence. The
// result is 0 to 100; the constants are those that docs/routing.md explains.
func confidence(score, points, likeness, rival, rivalLikeness float64) int {
	if score <= 0 {
		return 0
	}
	// Rules alone are never certain, and a rival with as many points halves what they say.
	byRules := points / (points + 3) * max(0, 1-rival/(2*score))
	byExamples := 0.0
	if likeness > rivalLikeness {
		v := math.Pow(likeness*math.Pow(1-rivalLikeness/likeness, leadBy)/enough, steep)
		byExamples = 4 * v / (4*v + 1)
	}
	return int(math.Round(100 * (1 - (1-byRules)*(1-byExamples))))
}
