package activity

import (
	"bytes"
	"slices"
)

// maxMerged bounds the text that merging makes, in bytes as encoded, so that a
// message stays small.
const maxMerged = 64 << 10

// Merge joins consecutive deltas of one batch that tell of the same run, turn,
// type, and call or subject into one entry each: the same text in fewer
// messages (spec 3.2). It joins only neighbours whose ranges touch, so the
// ranges of what it returns join as those of batch did. It reuses batch's
// array; the entries' own bytes are not changed.
//
// It is for followers that are late: a client that keeps up gets each delta as
// it came. Positions do not depend on it: the entry's Seq is the last of those
// joined.
func Merge(batch []Entry) []Entry {
	out := batch[:0]
	for i := 0; i < len(batch); {
		j, size := i+1, batch[i].textEnd-batch[i].text
		for j < len(batch) && joins(&batch[i], &batch[j-1], &batch[j]) && size < maxMerged {
			size += batch[j].textEnd - batch[j].text
			j++
		}
		if j == i+1 {
			out = append(out, batch[i])
		} else {
			out = append(out, join(batch[i:j], size))
		}
		i = j
	}
	clear(batch[len(out):])
	return out
}

// joins reports whether next goes on where last, the newest of those that begin
// with first, ended.
func joins(first, last, next *Entry) bool {
	return first.mergeable() && next.mergeable() && next.FromSeq == last.Seq+1 &&
		bytes.Equal(first.rest[first.meta:first.text], next.rest[next.meta:next.text])
}

// join returns the entry of several deltas: the last one's, with the text of
// all. The text is joined as encoded, since an escape is never split between
// two events.
func join(parts []Entry, size int) Entry {
	e := parts[len(parts)-1]
	e.FromSeq = parts[0].FromSeq
	rest := make([]byte, 0, len(e.rest)+size)
	rest = append(rest, e.rest[:e.text]...)
	for i := range parts {
		rest = append(rest, parts[i].rest[parts[i].text:parts[i].textEnd]...)
	}
	end := len(rest)
	rest = append(rest, e.rest[e.textEnd:]...)
	e.rest, e.textEnd, e.dataEnd = rest, end, len(rest)
	return e
}

// Filter leaves out the types that a client opted out of. What it leaves out is
// covered by the fromSeq of the next entry that it passes, in the same batch or
// a later one, so the ranges that a client sees join without a gap. run.finished
// always passes, so that a run's end covers what came before it.
//
// The zero Filter passes everything. A Filter serves one stream, on one
// goroutine.
type Filter struct {
	out  []string
	from uint64 // the first event that nothing has covered yet; 0 = none
}

// NewFilter returns a filter that leaves out the given types. Types that do not
// exist are no error: a client may know more than we do.
func NewFilter(optOut []string) *Filter {
	f := &Filter{}
	for _, name := range optOut {
		if name != (RunFinished{}).Type() {
			f.out = append(f.out, name)
		}
	}
	return f
}

// Apply returns the entries of batch that pass. It reuses batch's array.
//
// What it leaves out at the end of a stream, with nothing after it, is covered
// by nothing; the next call covers it.
func (f *Filter) Apply(batch []Entry) []Entry {
	if len(f.out) == 0 {
		return batch
	}
	pass := batch[:0]
	for _, e := range batch {
		if slices.Contains(f.out, e.Type) {
			if f.from == 0 {
				f.from = e.FromSeq
			}
			continue
		}
		if f.from != 0 {
			e.FromSeq, f.from = f.from, 0
		}
		pass = append(pass, e)
	}
	clear(batch[len(pass):])
	return pass
}
