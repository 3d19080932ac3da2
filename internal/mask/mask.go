package mask

import (
	"bytes"
	"slices"
	"strings"
)

// Least is the least length, in bytes, of a value that is masked: what is
// shorter occurs by chance.
const Least = 8

// Masker knows the values that a daemon holds. The zero value and nil know none.
// It does not change, and is safe for concurrent use. It holds the secrets in memory,
// in several spellings.
type Masker struct {
	// All values in all their spellings.
	patterns []pattern
	marks    []string // of each pattern's id
	// All markers that this masker makes, by which it knows them again.
	isMark map[string]bool
	values *finder   // of patterns; nil = there are none
	most   int       // the length of the longest pattern
	begins [256]bool // the bytes with which patterns begin
	urls   bool      // users and passwords of URLs are taken out too
}

// New returns a masker of values by name, such as that of the variable that
// holds the value. Values shorter than [Least] are left out, and so is what a
// marker says itself: a name is no secret. secrets is not kept. It takes time and
// memory with the number of values times their spellings.
func New(secrets map[string]string) *Masker {
	m := &Masker{}
	names := make([]string, 0, len(secrets))
	for name := range secrets {
		names = append(names, name)
	}
	slices.Sort(names) // a value with two names is told by the first
	m.marks = []string{credential, privateKey}
	var values []string
	for _, name := range names {
		m.marks = append(m.marks, marker(name))
		values = append(values, secrets[name])
	}
	m.isMark = make(map[string]bool)
	for _, mark := range m.marks {
		m.isMark[mark] = true
	}
	said := findValues(strings.Join(m.marks, "\n"), values)
	known := make(map[string]bool)
	for i, value := range values {
		if len(value) < Least || said[value] || len(m.markers([]byte(value))) > 0 {
			continue
		}
		for _, text := range spellings(value) {
			if !known[text] {
				known[text] = true
				m.patterns = append(m.patterns, pattern{text: text, id: i + 2, word: isWord(text)})
				m.most = max(m.most, len(text))
				m.begins[text[0]] = true
			}
		}
	}
	if len(m.patterns) > 0 {
		m.values = newFinder(m.patterns, false)
	}
	return m
}

// NewOutput returns a masker for what commands print: of values by name, as [New]
// has it, and of the users and passwords of URLs, whatever they are.
func NewOutput(secrets map[string]string) *Masker {
	m := New(secrets)
	m.urls = true
	return m
}

// findValues returns which of some values are in a text. It reads the text once, since a
// credential file can have very many values.
func findValues(text string, values []string) map[string]bool {
	var patterns []pattern
	for _, value := range values {
		if len(value) >= Least {
			patterns = append(patterns, pattern{text: value})
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	found := make(map[string]bool)
	finder, data := newFinder(patterns, false), []byte(text)
	for at := finder.next(data, 0); at >= 0; at = finder.next(data, at+1) {
		for p := finder.longest(data, at, most); p != nil; p = finder.longest(data, at, len(p.text)) {
			found[p.text] = true
		}
	}
	return found
}

// marker takes the place of the secret of a name. It has no character that JSON
// escapes, so it may stand in a string of it.
func marker(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\[]`, r) {
			return '_'
		}
		return r
	}, name)
	return "[masked:" + clean + "]"
}

// isWord reports whether a value could be a word of a protocol's. Such a value has fewer
// than 16 letters, dots and underscores, and nothing else.
func isWord(value string) bool {
	if len(value) >= 16 {
		return false
	}
	for _, c := range []byte(value) {
		if !isLetter(c) && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

// MaskKnown returns data without the values that the daemon holds. It returns data
// itself, and allocates nothing, where there is none; it never changes data. Data that
// was masked before comes out the same.
func (m *Masker) MaskKnown(data []byte) []byte {
	if m == nil {
		return data
	}
	if hasURL := m.urls && bytes.Contains(data, urlStart); !hasURL && (m.values == nil || m.values.next(data, 0) < 0) {
		return data
	}
	return replace(data, m.knownPlaces(data, literalsOf(data)))
}

// MaskAll returns data without the values that the daemon holds, and without what
// looks like a credential: the values of API keys, tokens and passwords that are
// named, authorization headers, keys in the forms that their issuers give them,
// private keys. It returns data itself, and allocates nothing, where there is
// none; it never changes data.
func (m *Masker) MaskAll(data []byte) []byte {
	data = m.MaskKnown(data)
	places := looking(data)
	if len(places) == 0 {
		return data
	}
	return replace(data, places)
}

// place is what a marker takes the place of.
type place struct {
	from, to int
	mark     string
}

// knownPlaces returns where data, whose strings are given, has what the masker knows,
// apart and in order.
func (m *Masker) knownPlaces(data []byte, text literals) []place {
	var places, urls []place
	if m.urls {
		urls = userinfos(data)
	}
	if m.values == nil {
		return urls
	}
	marks := m.markers(data)
	for at := m.values.next(data, 0); at >= 0; at = m.values.next(data, at+1) {
		for p := m.values.longest(data, at, most); p != nil; p = m.values.longest(data, at, len(p.text)) {
			found := place{at, at + len(p.text), m.marks[p.id]}
			if slices.ContainsFunc(marks, found.overlaps) || !text.allows(found, p) {
				continue // a shorter one may still be there
			}
			found.from, found.to = wholeEscapes(data, found.from, found.to)
			places = join(places, found)
			break
		}
	}
	return merge(places, urls)
}

// markers returns the markers that stand in data already: what is in one is no
// secret, and was made of one where it looks like one. A name that is cut off (no
// closing bracket) is none.
func (m *Masker) markers(data []byte) []place {
	const opening = "[masked:"
	var found []place
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(opening))
		if i < 0 {
			return found
		}
		at += i
		end := at + bytes.IndexByte(data[at:], ']') + 1 // the only one that a marker has
		if mark := string(data[at:end]); m.isMark[mark] {
			found = append(found, place{at, end, mark})
		}
		at += len(opening)
	}
}

// overlaps reports whether two places share a byte.
func (p place) overlaps(other place) bool { return p.from < other.to && other.from < p.to }

// join adds a place to those before it. Those that overlap become one, so that
// no part of a secret is left; the longer one's name stays. p was found after
// them.
func join(places []place, p place) []place {
	if len(places) == 0 || p.from >= places[len(places)-1].to {
		return append(places, p)
	}
	last := &places[len(places)-1]
	if p.to-p.from > last.to-last.from {
		last.mark = p.mark
	}
	last.from, last.to = min(last.from, p.from), max(last.to, p.to)
	return places
}

// replace returns a copy of data with markers in some places. places are apart and in
// order. Without any it returns data itself.
func replace(data []byte, places []place) []byte {
	if len(places) == 0 {
		return data
	}
	size := len(data)
	for _, p := range places {
		size += max(0, len(p.mark)-(p.to-p.from))
	}
	out := make([]byte, 0, size)
	at := 0
	for _, p := range places {
		out = append(out, data[at:p.from]...)
		out = append(out, p.mark...)
		at = p.to
	}
	return append(out, data[at:]...)
}
