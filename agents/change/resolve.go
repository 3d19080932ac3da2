package change

import (
	"slices"
	"strings"
)

// Conflict says why a hunk was left as it is.
type Conflict struct {
	// The id; "" for the whole file.
	Hunk string
	Why  string // a sentence for people
}

// The reasons of conflicts.
const (
	whyUnknown = "There is no such hunk any more: list the changes again."
	whyTouched = "The lines were changed by hand since."
	whyWhole   = "The file was changed by hand since."
	whyGone    = "The file was removed since."
	whyBack    = "The file was made again since."
)

// Keep returns the baseline with some of the hunks that made it after: those that
// are named, or all for none. An id that no hunk has is a conflict. It returns baseline
// itself where nothing was chosen. The other hunks stay pending under their ids.
func Keep(baseline, after *string, ids []string) (*string, []Conflict) {
	d, chosen, conflicts := choose(baseline, after, ids)
	switch {
	case !slices.Contains(chosen, true):
		return baseline, conflicts
	case d.whole:
		return after, conflicts
	}
	var b strings.Builder
	at := 0
	for i, s := range d.spans {
		write(&b, d.a[at:s.a0])
		if chosen[i] {
			write(&b, d.b[s.b0:s.b1])
		} else {
			write(&b, d.a[s.a0:s.a1])
		}
		at = s.a1
	}
	write(&b, d.a[at:])
	return text(&b), conflicts
}

// Merge returns the baseline with those of the hunks that made text of it which
// are no part of what made text of another baseline: somebody accepted them there.
// Where a file came or went on the way there is nothing to take over in part, and the
// result is the baseline.
func Merge(baseline, other, text *string) *string {
	switch {
	case same(baseline, text), same(other, text):
		return text
	}
	mine, open := between(baseline, text), between(other, text)
	if mine.whole || open.whole {
		return baseline
	}
	var ids []string
	for i, s := range mine.spans {
		r := region{s.b0, s.b1, false}
		if !slices.ContainsFunc(open.spans, func(p span) bool {
			insertedAt := r.empty() && p.b0 <= r.from && r.from <= p.b1
			insertsIn := p.b0 == p.b1 && r.from <= p.b0 && p.b0 <= r.to
			return insertedAt || insertsIn || r.touches(region{p.b0, p.b1, false})
		}) {
			ids = append(ids, mine.ids[i])
		}
	}
	if len(ids) == 0 {
		return baseline
	}
	agreed, _ := Keep(baseline, text, ids)
	return agreed
}

// Undo returns what the file is now without some of the hunks that made the
// baseline after: those that are named, or all for none. Where the person changed
// lines of a hunk since, it is a conflict and left; lines that they put right
// beside it are not lines of it. A file that came or went, and one that is no
// text, is brought back only if it is as the agent left it.
//
// Undone are the ids of the hunks that are not in the result, also of those that
// the person took out by hand. now is returned as it is where nothing could be undone.
// Whoever writes the result compares the file with now first: it may have changed
// since.
func Undo(baseline, after, now *string, ids []string) (result *string, undone []string, conflicts []Conflict) {
	d, chosen, conflicts := choose(baseline, after, ids)
	if !slices.Contains(chosen, true) {
		return now, nil, conflicts
	}
	if d.whole {
		switch {
		case same(now, after) || same(now, baseline):
			return baseline, d.ids, conflicts
		case after == nil:
			return now, nil, append(conflicts, Conflict{d.ids[0], whyBack})
		case now == nil:
			return now, nil, append(conflicts, Conflict{d.ids[0], whyGone})
		}
		return now, nil, append(conflicts, Conflict{d.ids[0], whyWhole})
	}
	if now == nil || opaque(now) {
		why := whyWhole
		if now == nil {
			why = whyGone
		}
		for i, id := range d.ids {
			if chosen[i] {
				conflicts = append(conflicts, Conflict{id, why})
			}
		}
		return now, nil, conflicts
	}
	var b strings.Builder
	hand := differ(after, now)
	at := 0 // in the lines of now
	for i, s := range d.spans {
		if !chosen[i] {
			continue
		}
		first, last, ok := hand.forward(d.after(s))
		switch {
		case ok:
			write(&b, hand.b[at:first])
			write(&b, d.a[s.a0:s.a1])
			at = last
		case !hand.became(d.after(s), d.a[s.a0:s.a1]):
			conflicts = append(conflicts, Conflict{d.ids[i], whyTouched})
			continue
		}
		undone = append(undone, d.ids[i])
	}
	write(&b, hand.b[at:])
	return text(&b), undone, conflicts
}

// Rebase returns the baseline with what made now of after, which the person did:
// so the difference between the baseline and now is the agent's alone. Where the
// person changed lines of one of the agent's hunks, the whole of it is theirs. A
// file that came or went on one of the sides is theirs altogether. It is asked whenever
// a file is found to be otherwise than the agent left it.
func Rebase(baseline, after, now *string) *string {
	switch {
	case same(after, now):
		return baseline
	case same(baseline, after), baseline == nil, after == nil, now == nil, opaque(baseline), opaque(after), opaque(now):
		return now
	}
	agent, hand := differ(baseline, after), differ(after, now)
	ours, theirs := agent.spans, hand.spans
	var b strings.Builder
	at, shift := 0, 0 // what lies before that line of after is written; by how much now is ahead there
	for len(ours)+len(theirs) > 0 {
		// What hangs together is either one hunk of the agent's, or as the person
		// left it.
		var all region
		var hunk span
		lead, byHand := shift, false
		if len(theirs) == 0 || (len(ours) > 0 && agent.after(ours[0]).before(hand.before(theirs[0]))) {
			hunk, ours = ours[0], ours[1:]
			all = agent.after(hunk)
		} else {
			all, byHand = hand.before(theirs[0]), true
			shift, theirs = theirs[0].b1-theirs[0].a1, theirs[1:]
		}
		for {
			if len(ours) > 0 && all.touches(agent.after(ours[0])) {
				all, ours = all.with(agent.after(ours[0])), ours[1:]
			} else if len(theirs) > 0 && all.touches(hand.before(theirs[0])) {
				all, byHand = all.with(hand.before(theirs[0])), true
				shift, theirs = theirs[0].b1-theirs[0].a1, theirs[1:]
			} else {
				break
			}
		}
		write(&b, hand.a[at:all.from])
		if byHand {
			write(&b, hand.b[all.from+lead:all.to+shift])
		} else {
			write(&b, agent.a[hunk.a0:hunk.a1])
		}
		at = all.to
	}
	write(&b, hand.a[at:])
	return text(&b)
}

// region is a range of lines; an empty one is a place between lines. One that is
// open ends with the text, and has a last line without an end there: nothing can
// be put behind it.
type region struct {
	from, to int
	open     bool
}

// touches reports whether two regions share lines, or one is a place inside of the
// other, or both are the same place.
func (r region) touches(other region) bool {
	if r.empty() && other.empty() {
		return r.from == other.from
	}
	return r.from < other.end() && other.from < r.end()
}

// empty reports a place between lines.
func (r region) empty() bool { return r.from == r.to }

// end is where a region ends for others: behind the last line that has no end there is no place.
func (r region) end() int {
	if r.open {
		return r.to + 1
	}
	return r.to
}

// before reports whether r begins first.
func (r region) before(other region) bool {
	return r.from < other.from || (r.from == other.from && r.to < other.to)
}

// with returns the region from the one to the other.
func (r region) with(other region) region {
	return region{min(r.from, other.from), max(r.to, other.to), r.open || other.open}
}

// before returns where a span lies in the old text, and after where in the new.
func (d *difference) before(s span) region { return region{s.a0, s.a1, d.open(s)} }
func (d *difference) after(s span) region  { return region{s.b0, s.b1, d.open(s)} }

// open reports a span that takes in a last line without an end, in one of the texts.
func (d *difference) open(s span) bool {
	loose := func(list []string) bool { return len(list) > 0 && !strings.HasSuffix(list[len(list)-1], "\n") }
	return loose(d.a[s.a0:s.a1]) || loose(d.b[s.b0:s.b1])
}

// differ returns the difference of two texts by lines. It takes texts for text, and a
// file that is not there for an empty one.
func differ(old, text *string) difference {
	d := difference{a: linesOf(old), b: linesOf(text)}
	d.spans = diff(d.a, d.b)
	return d
}

// forward returns where lines of the old text lie in the new one; false where
// they were changed, and for a place between two lines where one of these was.
func (d *difference) forward(r region) (from, to int, ok bool) {
	shift := 0
	for _, s := range d.spans {
		if was := d.before(s); r.touches(was) || (r.empty() && was.from <= r.from && r.from <= was.to) {
			return 0, 0, false
		}
		if s.a1 > r.from {
			break
		}
		shift = s.b1 - s.a1
	}
	return r.from + shift, r.to + shift, true
}

// became reports whether the lines were replaced by exactly these.
func (d *difference) became(r region, list []string) bool {
	for _, s := range d.spans {
		if s.a0 == r.from && s.a1 == r.to {
			return slices.Equal(d.b[s.b0:s.b1], list)
		}
	}
	return false
}

// choose returns the difference of two texts and which of its spans are meant. No ids
// mean all.
func choose(baseline, after *string, ids []string) (d difference, chosen []bool, conflicts []Conflict) {
	if !same(baseline, after) {
		d = between(baseline, after)
	}
	chosen = make([]bool, len(d.spans))
	index := make(map[string]int, len(d.ids))
	for i, id := range d.ids {
		index[id], chosen[i] = i, len(ids) == 0
	}
	for _, id := range ids {
		if i, ok := index[id]; ok {
			chosen[i] = true
		} else {
			conflicts = append(conflicts, Conflict{id, whyUnknown})
		}
	}
	return d, chosen, conflicts
}

// write appends lines.
func write(b *strings.Builder, list []string) {
	for _, l := range list {
		b.WriteString(l)
	}
}

// text is a text that was written.
func text(b *strings.Builder) *string {
	s := b.String()
	return &s
}
