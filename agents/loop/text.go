package loop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What repeated text is (spec 8.4). Lengths and distances are in bytes of
// normalized text, so that a sentence counts as one in a script that needs few
// characters for it.
const (
	textTimes = 10
	minChunk  = 12 // what is shorter ("Done.") is no sentence
	maxChunk  = 500
	nearness  = 4     // so many lengths of a sentence, on average, lie between where it begins and begins again
	maxPeriod = 2_000 // of a passage
	window    = 50    // by which passages are compared
	maxSpoken = textTimes * maxPeriod
)

// Text takes the text of one whole answer and returns what it repeats, at most
// one finding: a sentence that is said ten times with little else between, or a
// passage of up to 2,000 bytes ten times in a row, whatever it is made of. The
// first time the model is to be told; the next answer in which something is
// found ends the run.
//
// What is meant to look alike does not count, and parts what stands before it
// from what comes after: code, tables, lists, headings. Text counts on from
// answer to answer until a call brings something new. The cost is linear in the
// length of the answer.
func (d *Detector) Text(answer string) []Finding {
	r := reader{spoken: d.spoken, last: -1}
	for line := range strings.Lines(answer) {
		if r.line(line); r.found != "" {
			break
		}
	}
	if r.find(); r.found == "" {
		d.spoken = r.spoken
		return nil
	}
	f := Finding{Kind: KindText, Count: textTimes, End: d.warned, What: fmt.Sprintf("the same text, %d times: %s", textTimes, plain(strings.Join(strings.Fields(r.found), " ")))}
	d.spoken, d.warned = nil, true
	return []Finding{f}
}

// Repeats reports whether an answer that has come so far holds something that
// [Detector.Text] would find. It remembers nothing.
func (d *Detector) Repeats(answer string) bool {
	r := reader{spoken: slices.Clone(d.spoken), last: -1}
	for line := range strings.Lines(answer) {
		if r.line(line); r.found != "" {
			return true
		}
	}
	r.find()
	return r.found != ""
}

// reader keeps of an answer what counts.
type reader struct {
	spoken []byte // lines of text with single blanks
	found  string // what is repeated; "" = nothing so far
	last   int    // where the last line of spoken begins, if it was the last of all; else -1

	fence string // that the code block began with; "" = it is in none
	item  bool   // it is in a list
	blank bool   // the last line was empty
}

// line takes the next line.
func (r *reader) line(line string) {
	text := strings.TrimSpace(line)
	indent := columns(line)
	blank := r.blank
	r.blank = text == ""
	switch fence := fenceOf(text); {
	case r.fence != "":
		if strings.HasPrefix(fence, r.fence) && fence == text {
			r.fence = ""
		}
	case fence != "":
		r.fence = fence
		r.part()
	case text == "":
		r.last = -1
	case isItem(text):
		r.item = true
		r.part()
	case r.item && (!blank || indent >= 2):
		r.part() // what belongs to an item
	case indent >= 4, isHeading(text), isTable(text), isMarkup(text):
		r.item = false
		r.part()
	case !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		r.item = false
		if r.last >= 0 && strings.Trim(text, "=-") == "" { // it makes a heading of the line above
			r.spoken = r.spoken[:r.last]
			r.part()
		}
	default:
		r.item = false
		r.say(strings.TrimLeft(text, "> "))
	}
}

// say adds a line of text.
func (r *reader) say(text string) {
	if len(r.spoken) >= 2*maxSpoken {
		r.find()
	}
	r.last = len(r.spoken)
	for word := range strings.FieldsSeq(text) {
		r.spoken = append(append(r.spoken, word...), ' ')
	}
	if n := len(r.spoken); n > r.last {
		r.spoken[n-1] = '\n'
	}
}

// part ends what text is compared with.
func (r *reader) part() {
	r.find()
	r.spoken, r.last = r.spoken[:0], -1
}

// find looks for what is repeated and keeps only the end of what was said.
func (r *reader) find() {
	// What is looked at in one go is bounded, and so is what that takes; each
	// piece has all that can be near to its second half.
	for from := 0; r.found == "" && from < len(r.spoken); from += maxSpoken {
		piece := r.spoken[from:min(len(r.spoken), from+2*maxSpoken)]
		if r.found = sentence(piece); r.found == "" {
			r.found = passage(piece)
		}
		if from+2*maxSpoken >= len(r.spoken) {
			break
		}
	}
	if n := len(r.spoken); n > maxSpoken {
		r.spoken = slices.Clone(r.spoken[n-maxSpoken:])
	}
	r.last = -1
}

// sentence returns a sentence that is near to itself often enough, "" if there
// is none.
func sentence(text []byte) string {
	type places struct {
		at [textTimes]int // the last ones; the next goes to n % textTimes
		n  int
	}
	known := make(map[string]*places)
	for from := 0; from < len(text); {
		n := end(text[from:])
		s := bytes.TrimSpace(text[from : from+n])
		if len(s) >= minChunk && len(s) <= maxChunk {
			p := known[string(s)]
			if p == nil {
				p = new(places)
				known[string(s)] = p
			}
			p.at[p.n%textTimes] = from
			p.n++
			if p.n >= textTimes && from-p.at[p.n%textTimes] <= (textTimes-1)*nearness*len(s) {
				return string(s)
			}
		}
		from += n
	}
	return ""
}

// end returns how long the first sentence of text is, with what ends it. text
// is not empty.
func end(text []byte) int {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		i += size
		switch c {
		case '\n', '。', '！', '？', '।', '؟':
			return i
		case '.', '!', '?', ';', ':', '…':
			if i == len(text) || text[i] == ' ' || text[i] == '\n' {
				return i
			}
		}
	}
	return len(text)
}

// passage returns what the text consists of over and over for a while, "" if it
// never does: text that is the same as what stands a period before, for as many
// periods as count.
func passage(text []byte) string {
	const base = 1_000_003
	var drop uint64 = 1 // what the byte that leaves the window weighs
	for range window - 1 {
		drop *= base
	}
	known := make(map[uint64]int, len(text)) // where a window was last, by its hash
	period, since := 0, 0                    // of what is being repeated, and the first window that is a repetition
	var hash uint64
	for i, c := range text {
		if i >= window {
			hash -= drop * uint64(text[i-window])
		}
		hash = hash*base + uint64(c)
		at := i - window + 1
		if at < 0 {
			continue
		}
		before, ok := known[hash]
		known[hash] = at
		same := func(before int) bool { return bytes.Equal(text[before:before+window], text[at:i+1]) }
		switch {
		case period > 0 && same(at-period): // the passage may hold this window more than once
		case ok && at-before <= maxPeriod && same(before):
			period, since = at-before, at
		default:
			period = 0
			continue
		}
		length := period // of what would be a sentence at least
		for length < minChunk {
			length += period
		}
		if i+1-(since-period) >= textTimes*length {
			return string(bytes.TrimSpace(text[since-period : since-period+length]))
		}
	}
	return ""
}

// columns returns how far a line is indented.
func columns(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// fenceOf returns the fence that a line begins or ends a code block with, "" if
// it is none.
func fenceOf(text string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(text, mark)
		if n := len(text) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, mark)) {
			return text[:n]
		}
	}
	return ""
}

// isItem reports whether a line begins an item of a list.
func isItem(text string) bool {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	rest := strings.TrimLeft(text, "0123456789")
	return len(rest) < len(text) && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}

// isHeading reports whether a line is a heading, also one that is only in bold.
func isHeading(text string) bool {
	rest := strings.TrimLeft(text, "#")
	if n := len(text) - len(rest); n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ') {
		return true
	}
	inner, ok := strings.CutPrefix(strings.TrimSuffix(text, ":"), "**")
	inner, bold := strings.CutSuffix(inner, "**")
	return ok && bold && !strings.Contains(inner, "**") && !strings.HasSuffix(inner, ".") && !strings.HasSuffix(inner, "!")
}

// isTable reports whether a line is a row of a table.
func isTable(text string) bool { return text[0] == '|' || strings.Count(text, "|") >= 2 }

// isMarkup reports whether a line looks like JSON or markup without a fence.
func isMarkup(text string) bool { return strings.IndexByte("{}[]<", text[0]) >= 0 }
