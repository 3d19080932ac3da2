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
// length of the answer. It must be given each answer, also one that was read by a
// Stream: only Text remembers.
func (d *Detector) Text(answer string) []Finding {
	r := reader{spoken: slices.Clone(d.spoken), last: -1}
	for line := range strings.Lines(answer) {
		if text, counts := r.begin(line); counts {
			r.say(text)
			r.end()
		}
		if r.found != "" {
			break
		}
	}
	if r.find(true); r.found == "" {
		d.spoken = slices.Clone(r.spoken[max(0, len(r.spoken)-maxSpoken):])
		return nil
	}
	f := Finding{Kind: KindText, Count: textTimes, End: d.warned,
		What: fmt.Sprintf("the same text, %d times: %s", textTimes, plain(strings.Join(strings.Fields(r.found), " ")))}
	d.spoken, d.warned = nil, true
	return []Finding{f}
}

// Stream reads one answer as it comes. It compares each byte twice at most,
// however many pieces the answer comes in. It is not safe for concurrent use, and ends
// with its answer.
type Stream struct {
	r      reader
	length int    // of the answer so far
	line   []byte // a line that has not ended and is not judged yet
	open   bool   // the last line is judged and has not ended
	counts bool   // it is text
}

// firstLook is how much of an answer, or of a line that does not end, comes
// before it is judged, in bytes.
const firstLook = 2 << 10

// Stream returns a reader of the next answer. The detector does not remember what
// it reads.
func (d *Detector) Stream() *Stream {
	return &Stream{r: reader{spoken: slices.Clone(d.spoken), last: -1}}
}

// Add takes the next piece of the answer and reports whether what has come so far
// holds something that [Detector.Text] would find. A line that is still open
// after two kibibytes is judged by its beginning. Once it is true it stays so.
func (s *Stream) Add(piece string) bool {
	s.length += len(piece)
	for line := range strings.Lines(piece) {
		s.add(line)
	}
	if s.length >= firstLook {
		s.r.find(false)
	}
	return s.r.found != ""
}

// add takes a line, or the next piece of one. A line that does not end is kept until it
// has firstLook bytes: what it is (a heading, a table) is known by its beginning, and
// with less it might still turn out to be something else.
func (s *Stream) add(line string) {
	ends := strings.HasSuffix(line, "\n")
	if !s.open {
		if !ends || len(s.line) > 0 {
			s.line = append(s.line, line...)
			if !ends && len(s.line) < firstLook {
				return
			}
			line = string(s.line)
			s.line = s.line[:0]
		}
		line, s.counts = s.r.begin(line)
	}
	s.open = !ends
	if s.counts {
		s.r.say(line)
		if ends {
			s.r.end()
		}
	}
}

// reader keeps of an answer what counts and looks for what it repeats. The text that it
// holds is bounded, so an answer may have any length.
type reader struct {
	spoken []byte // lines of text with single blanks, at most 2*maxSpoken bytes
	gap    bool   // a blank comes before what is added next
	found  string // what is repeated; "" = nothing so far
	last   int    // where the last line of spoken begins, if it was the last of all; else -1

	fence string // that the code block began with; "" = it is in none
	item  bool   // it is in a list
	blank bool   // the last line was empty

	search
}

// begin judges a line by how it looks. It returns the text to say if it counts. Code,
// lists, tables, headings and markup repeat themselves by their nature, and what
// follows them is compared anew.
func (r *reader) begin(line string) (string, bool) {
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
			r.search.reset() // it may have read that line
			r.part()
		}
	default:
		r.item = false
		r.last = len(r.spoken)
		return strings.TrimLeft(strings.TrimLeftFunc(line, unicode.IsSpace), "> "), true
	}
	return "", false
}

// say adds text to the line that began. When the buffer is full its older half goes,
// which is longer ago than anything that is looked for.
func (r *reader) say(text string) {
	for _, c := range text {
		if unicode.IsSpace(c) {
			r.gap = true
			continue
		}
		if n := len(r.spoken); n >= 2*maxSpoken-utf8.UTFMax-1 { // a blank and a character have room
			r.find(false)
			r.spoken = r.spoken[:copy(r.spoken, r.spoken[n-maxSpoken:])]
			r.last = -1
			r.search.reset()
		}
		if n := len(r.spoken); r.gap && n > 0 && r.spoken[n-1] != '\n' {
			r.spoken = append(r.spoken, ' ')
		}
		r.gap = false
		r.spoken = utf8.AppendRune(r.spoken, c)
	}
}

// end ends a line.
func (r *reader) end() {
	r.gap = false
	if n := len(r.spoken); n > 0 && r.spoken[n-1] != '\n' {
		r.spoken = append(r.spoken, '\n')
	}
}

// part ends what text is compared with: it looks for the last time, and begins anew.
func (r *reader) part() {
	r.find(true)
	r.spoken, r.last = r.spoken[:0], -1
	r.search.reset()
}

// find looks for what is repeated in the text that was added since it last
// looked; whole says that the last sentence has ended.
func (r *reader) find(whole bool) {
	if r.found != "" {
		return
	}
	for ; r.at < len(r.spoken) && r.found == ""; r.at++ {
		upTo := r.spoken[:r.at+1]
		if endsSentence(upTo) {
			r.found = r.sentence(upTo)
		}
		if r.found == "" {
			r.found = r.passage(upTo)
		}
	}
	if whole && r.found == "" {
		r.found = r.sentence(r.spoken)
	}
}

// search is how far a text was looked at, and what is remembered of it. It is read
// byte by byte, so that a text that grows is not read again.
type search struct {
	at int // the next byte

	from      int    // where the last sentence begins
	sentences []span // the ones before it

	hash   uint64          // of the last window bytes
	period int             // of what is being repeated; 0 = nothing is
	since  int             // the first byte that repeats what stands a period before
	known  [windows]uint16 // where some windows begin, counted from 1, by their hash
}

// span is where a sentence lies in a text of up to 2*maxSpoken bytes.
type span struct{ from, to uint16 }

// Every stride-th window is remembered. windows is enough for four times those of
// the longest period; one that takes the place of another costs nothing, since
// the next one in the same period is found as well.
const (
	stride  = 8
	windows = 1 << 10
)

// reset is for a text that begins anew.
func (s *search) reset() {
	*s = search{sentences: s.sentences[:0]}
}

// endsSentence reports whether the last character of text ends a sentence. In Latin
// scripts that is a blank after a mark, since a mark alone may be part of a number or a
// name.
func endsSentence(text []byte) bool {
	n := len(text)
	switch c := text[n-1]; {
	case c > ' ' && c < utf8.RuneSelf:
		return false
	case c == '\n':
		return true
	case c == ' ':
		before, _ := utf8.DecodeLastRune(text[:n-1])
		return strings.ContainsRune(".!?;:…", before)
	}
	last, _ := utf8.DecodeLastRune(text)
	return strings.ContainsRune("。！？।؟", last)
}

// sentence takes in the sentence that ends here, and returns it if it is near to
// itself often enough, else "". Ten times is enough only if they lie close together: a
// sentence that comes back in each section of a long text is style.
func (s *search) sentence(text []byte) string {
	last := bytes.TrimLeft(text[s.from:], " \n")
	from := len(text) - len(last)
	last = bytes.TrimRight(last, " \n")
	s.from = len(text)
	if len(last) < minChunk || len(last) > maxChunk {
		return ""
	}
	s.sentences = append(s.sentences, span{uint16(from), uint16(from + len(last))})
	times := 0
	for i := len(s.sentences) - 1; i >= 0; i-- {
		before := s.sentences[i]
		if from-int(before.from) > (textTimes-1)*nearness*len(last) {
			break
		}
		if string(text[before.from:before.to]) != string(last) {
			continue
		}
		if times++; times == textTimes {
			return string(last)
		}
	}
	return ""
}

// passage returns what the end of text consists of over and over, "" if it does
// not: text that is the same as what stands a period before, for as many periods
// as count. It finds a period by the hash of the last window, compares the bytes
// themselves before it believes it, and then needs one comparison for each byte.
func (s *search) passage(text []byte) string {
	i := len(text) - 1
	s.hash = s.hash*hashBase + uint64(text[i])
	if i >= window {
		s.hash -= leaving * uint64(text[i-window])
	}
	at := i - window + 1
	if at < 0 {
		return ""
	}
	place := &s.known[s.hash*hashBase>>32%windows]
	before := int(*place) - 1
	if at%stride == 0 {
		*place = uint16(at + 1)
	}
	switch {
	case s.period > 0 && text[i] == text[i-s.period]: // the passage may hold this window more than once
	case before >= 0 && at-before <= maxPeriod && bytes.Equal(text[before:before+window], text[at:]):
		s.period, s.since = at-before, at
		for s.since > s.period && text[s.since-1] == text[s.since-1-s.period] {
			s.since--
		}
	default:
		s.period = 0
		return ""
	}
	length := s.period // of what would be a sentence at least
	for length < minChunk {
		length += s.period
	}
	if i+1-(s.since-s.period) < textTimes*length {
		return ""
	}
	return string(bytes.TrimSpace(text[s.since-s.period : s.since-s.period+length]))
}

// A window's hash is a polynomial of hashBase. A byte that leaves the window
// weighs hashBase to the power of its length.
const hashBase = 1_000_003

// leaving is hashBase to the power of window.
var leaving = func() uint64 {
	weight := uint64(1)
	for range window {
		weight *= hashBase
	}
	return weight
}()

// columns returns how far a line is indented. A tab goes to the next multiple of four.
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
	return ok && bold && !strings.Contains(inner, "**") && !strings.HasSuffix(inner, ".") &&
		!strings.HasSuffix(inner, "!")
}

// isTable reports whether a line is a row of a table.
func isTable(text string) bool { return text[0] == '|' || strings.Count(text, "|") >= 2 }

// isMarkup reports whether a line looks like JSON or markup without a fence.
func isMarkup(text string) bool { return strings.IndexByte("{}[]<", text[0]) >= 0 }
