package mask

import "math"

// pattern is a text that is looked for. It is not changed once a finder has it.
type pattern struct {
	// In lower case where the finder folds.
	text string
	id   int  // of what the text stands for
	word bool // see [isWord]
	skip int  // where in the text its window begins
}

// finder looks for many patterns at once. It looks at the last two bytes of a
// window as long as the shortest pattern, and mostly moves on by the whole
// window (Wu and Manber's algorithm). It is immutable and safe for concurrent use. One
// for some hundred patterns has 20 KiB of tables, so it is made once for each set.
type finder struct {
	// In bytes: the length of the shortest pattern, 255 at most.
	window   int
	fold     bool // patterns are in lower case and match either
	patterns []pattern
	shift    [blocks]uint8 // by how much the window may move on when it ends so; 0 = a pattern may be there
	first    [blocks]int32 // of the patterns whose window ends so; -1 = none
	next1    []int32       // of each pattern: the next one whose window ends so; -1 = none
}

// blocks is the number of kinds of two bytes.
const blocks = 1 << 12

// block returns the kind of two bytes, the same in lower and upper case. Two kinds of
// bytes may have one number: that costs a comparison, and nothing is missed.
func block(a, b byte) uint { return (uint(a|0x20)<<5 ^ uint(b|0x20)) % blocks }

// newFinder returns a finder of at least one pattern of at least two bytes. Patterns
// are kept. The window is as long as the shortest pattern, so one short pattern makes
// all of them slow.
func newFinder(patterns []pattern, fold bool) *finder {
	f := &finder{patterns: patterns, fold: fold, window: 255, next1: make([]int32, len(patterns))}
	for _, p := range patterns {
		f.window = min(f.window, len(p.text))
	}
	for i := range f.shift {
		f.shift[i], f.first[i] = uint8(f.window-1), -1
	}
	for n, p := range patterns {
		for i := 1; i < f.window; i++ {
			b := block(p.text[p.skip+i-1], p.text[p.skip+i])
			f.shift[b] = min(f.shift[b], uint8(f.window-1-i))
		}
		last := block(p.text[p.skip+f.window-2], p.text[p.skip+f.window-1])
		f.next1[n], f.first[last] = f.first[last], int32(n)
	}
	return f
}

// next returns the first place in data, from a place on, where the window of a
// pattern begins that is there; -1 for none. The time grows with the length of data,
// and in most texts only every window-th byte is read.
func (f *finder) next(data []byte, from int) int {
	for i := from + f.window - 1; i < len(data); {
		s := f.shift[block(data[i-1], data[i])]
		if s == 0 {
			if at := i - f.window + 1; f.longest(data, at, most) != nil {
				return at
			}
			s = 1
		}
		i += int(s)
	}
	return -1
}

// most is longer than any pattern.
const most = math.MaxInt

// longest returns the longest pattern, of those shorter than a length, whose
// window begins at a place; nil for none. Asking again with below = its length gives
// the next shorter one.
func (f *finder) longest(data []byte, at, below int) *pattern {
	var longest *pattern
	end := at + f.window
	for n := f.first[block(data[end-2], data[end-1])]; n >= 0; n = f.next1[n] {
		if p := &f.patterns[n]; len(p.text) < below && (longest == nil || len(p.text) > len(longest.text)) &&
			p.skip <= at && f.has(data[at-p.skip:], p.text) {
			longest = p
		}
	}
	return longest
}

// has reports whether data begins with a pattern's text.
func (f *finder) has(data []byte, text string) bool {
	if len(data) < len(text) {
		return false
	}
	if !f.fold {
		return string(data[:len(text)]) == text
	}
	for i := range len(text) {
		if lower(data[i]) != text[i] {
			return false
		}
	}
	return true
}

// lower returns an ASCII letter in lower case, and any other byte as it is.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// isLetter reports an ASCII letter.
func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

// isDigit reports an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
