package change

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
)

// The statuses of a hunk (spec 2.2).
const (
	Pending = "pending"
	Kept    = "kept"
	Undone  = "undone"
)

// Of returns what was done to the file at a URI: old became text. rel names it in
// the patch, with slashes. All hunks are pending; their ranges are whole lines of
// the new text, as an editor counts them. Where nothing was done there are none,
// and the patch is empty.
//
// A hunk's id stays while other hunks come and go: it is made of the hunk's lines
// and the ones beside it. The time grows with the lines times the
// edits, of which maxEdits are looked for.
func Of(uri, rel string, old, text *string) activity.Change {
	c := activity.Change{URI: uri, Kind: "edit", Hunks: []activity.Hunk{}}
	switch {
	case old == nil && text != nil:
		c.Kind = "create"
	case old != nil && text == nil:
		c.Kind = "delete"
	}
	if same(old, text) {
		return c
	}
	d := between(old, text)
	if d.opaque {
		c.Patch = fmt.Sprintf("Binary files %s and %s differ\n", label("a/", rel, old), label("b/", rel, text))
	} else {
		c.Patch = unifiedDiff(label("a/", rel, old), label("b/", rel, text), d)
	}
	row := rows(d.b)
	for i, s := range d.spans {
		c.Hunks = append(c.Hunks, activity.Hunk{ID: d.ids[i], Range: wholeLines(row, s.b0, s.b1), Status: Pending})
	}
	return c
}

// AcceptedHunks returns those hunks that made the original the baseline, as kept, with
// their ranges in the text that followed it. One whose lines changed again since
// is left out. It is never nil.
func AcceptedHunks(original, baseline, text *string) []activity.Hunk {
	hunks := []activity.Hunk{}
	if original == nil || baseline == nil || text == nil || same(original, baseline) {
		return hunks
	}
	d, since := between(original, baseline), between(baseline, text)
	if d.opaque || since.opaque {
		return hunks
	}
	row := rows(since.b)
	for i, s := range d.spans {
		first, last, ok := since.forward(region{s.b0, s.b1, false})
		if ok {
			hunks = append(hunks, activity.Hunk{ID: d.ids[i], Range: wholeLines(row, first, last), Status: Kept})
		}
	}
	return hunks
}

// Link is a symbolic link as this package has it: no text, so that it is kept or
// undone as a whole, and never the same as a file. The NUL makes it opaque.
func Link(target string) string { return "\x00link to " + target }

// difference is two texts and what lies between them. It is made once and only read.
type difference struct {
	a, b   []string // lines; one each where the whole is one piece
	spans  []span
	ids    []string // of spans
	whole  bool     // the file came or went, or is opaque: one span, which is resolved as it is or not at all
	opaque bool     // it is not text
}

// between returns the difference of two texts that are not the same. It must not be
// asked of two that are both absent.
func between(old, text *string) difference {
	var d difference
	d.opaque = opaque(old) || opaque(text)
	d.whole = d.opaque || old == nil || text == nil
	if d.opaque {
		d.spans = []span{{}}
	} else {
		d.a, d.b = linesOf(old), linesOf(text)
		if d.whole {
			d.spans = []span{{0, len(d.a), 0, len(d.b)}} // also of an empty file
		} else {
			d.spans = diff(d.a, d.b)
		}
	}
	if d.whole {
		d.ids = []string{nameOf(part(old), part(text))}
	} else {
		d.ids = names(d.a, d.b, d.spans)
	}
	return d
}

// part is a file as a list for nameOf: none, or its whole text.
func part(text *string) []string {
	if text == nil {
		return nil
	}
	return []string{*text}
}

// linesOf returns the lines of a file; none where there is none.
func linesOf(text *string) []string {
	if text == nil {
		return nil
	}
	return lines(*text)
}

// opaque reports whether a file is no text that has lines.
func opaque(text *string) bool {
	return text != nil && (!utf8.ValidString(*text) || strings.IndexByte(*text, 0) >= 0)
}

// same reports whether two files are the same: both are not there, or hold the
// same.
func same(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// label is how a patch names a side: /dev/null where there is no file, as git has it.
func label(side, rel string, text *string) string {
	if text == nil {
		return "/dev/null"
	}
	return quoteName(side + rel)
}

// quoteName returns a name as it stands in the head of a patch: as it is, or, where
// it holds what would end the line or is not seen, in double quotes and escaped
// as in C, which is how git writes and reads it.
func quoteName(name string) string {
	var b strings.Builder
	plain := true
	for i, r := range name {
		size := max(1, utf8.RuneLen(r))
		invalid := r == utf8.RuneError && !strings.HasPrefix(name[i:], string(utf8.RuneError))
		if invalid {
			size = 1
		}
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == '\n':
			b.WriteString("\\n")
		case r == '\t':
			b.WriteString("\\t")
		case invalid || !seen(r):
			for _, c := range []byte(name[i : i+size]) {
				fmt.Fprintf(&b, "\\%03o", c)
			}
		default:
			b.WriteRune(r)
			continue
		}
		plain = false
	}
	if plain {
		return name
	}
	return `"` + b.String() + `"`
}

// seen reports whether a character is to be seen.
func seen(r rune) bool {
	return unicode.IsPrint(r) && r != 0x2800 && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector)
}

// rows returns for each line, and for the end, how an editor numbers it: for it,
// a carriage return alone ends a line too (LSP 3.17).
func rows(list []string) []uint32 {
	out := make([]uint32, len(list)+1)
	for i, l := range list {
		out[i+1] = out[i] + 1
		if strings.IndexByte(l, '\r') >= 0 {
			out[i+1] += uint32(strings.Count(strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r"), "\r"))
		}
	}
	return out
}

// wholeLines is the range from the beginning of one line to that of another, which are numbers of
// lines of the text; row is of rows.
func wholeLines(row []uint32, first, last int) definition.Range {
	at := func(i int) definition.Position { return definition.Position{Line: row[min(i, len(row)-1)]} }
	return definition.Range{Start: at(first), End: at(last)}
}

// names returns the ids of spans.
//
// The lines beside a hunk are the same on both sides, whatever becomes of other
// hunks. Hunks that are the same with these lines are counted: how often it
// stands before one, and how often it stands there as done, since it was kept. So
// the others keep their number when one is resolved, but for lines that are only
// put in and taken out again, or the other way round: these leave no trace.
func names(a, b []string, spans []span) []string {
	x, y := intern(a, b)
	where := make(map[int32][]int) // the lines of a by number, in order
	for i, l := range x {
		where[l] = append(where[l], i)
	}
	type kin struct {
		places []int // where it stands in a, done or not
		fresh  int   // how often it puts lines in where none were
	}
	seen := make(map[string]*kin)
	ids := make([]string, len(spans))
	for i, s := range spans {
		var before, after []string
		if s.a0 > 0 {
			before = a[s.a0-1 : s.a0]
		}
		if s.a1 < len(a) {
			after = a[s.a1 : s.a1+1]
		}
		id := nameOf(before, a[s.a0:s.a1], b[s.b0:s.b1], after)
		ids[i] = id
		if before == nil || after == nil {
			continue // there is one beginning, and one end
		}
		k := seen[id]
		if k == nil {
			k = &kin{places: standing(x, where[x[s.a0-1]], x[s.a0:s.a1], y[s.b0:s.b1], x[s.a1])}
			seen[id] = k
		}
		n, _ := slices.BinarySearch(k.places, s.a0-1)
		if n += k.fresh; n > 0 {
			ids[i] = fmt.Sprintf("%s-%d", id, n+1)
		}
		if s.a0 == s.a1 {
			k.fresh++
		}
	}
	return ids
}

// standing returns the places of those of starts at which old or fresh follows,
// and then end.
func standing(text []int32, starts []int, old, fresh []int32, end int32) []int {
	follows := func(at int, what []int32) bool {
		return len(what) > 0 && at+len(what) < len(text) && text[at+len(what)] == end &&
			slices.Equal(text[at:at+len(what)], what)
	}
	var out []int
	for _, at := range starts {
		if follows(at+1, old) || follows(at+1, fresh) {
			out = append(out, at)
		}
	}
	return out
}

// nameOf returns a short name of lists of lines.
func nameOf(lists ...[]string) string {
	h := sha256.New()
	var size [8]byte
	write := func(n int) {
		binary.BigEndian.PutUint64(size[:], uint64(n))
		h.Write(size[:])
	}
	for _, list := range lists {
		write(len(list))
		for _, l := range list {
			write(len(l))
			h.Write([]byte(l))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
