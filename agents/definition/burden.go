package definition

// What the YAML parser takes the square of, counted before it gets to see it.

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// The limits of what the parser gets to see. No agent file comes near them, and
// neither does what the quick reader accepts of lightText bytes, or with at most
// lightColons, lightEntries and keys of lightKey bytes.
const (
	maxTokens    = 16_000  // parts of YAML: keys, values, commas, brackets, …
	maxBurden    = 8 << 20 // bytes that it would copy besides: those of 1,448 keys in one mapping
	maxRescan    = 4 << 20 // characters that it would look at once more
	lightText    = 2 << 10
	lightColons  = 1_000
	lightEntries = 4_000
	lightKey     = 60
)

// maxFeatures is how many findings of one code about a front-matter's YAML are told.
// More help nobody, and an editor is told all of them again with each key.
const maxFeatures = 100

// tedious reports where the parser's scanner would look at the same characters
// over and over: at the rest of a row of <, at a line's end for each of its tabs,
// and at a text after | or > for each of the empty lines that end it.
// It returns the offset at which maxRescan is passed. Texts of up to lightText bytes are
// not counted, as none of them can cost that much. TestNoFileIsCostly holds it.
func (s *source) tedious() (int, bool) {
	if len(s.text) <= lightText {
		return 0, false
	}
	type above struct{ indent, end int }
	var outer [16]above
	lines := outer[:0] // that hold the one at hand, or what it is beside
	spent, row, blank := 0, 0, 0
	for at := 0; at < len(s.text); {
		end := lineEnd(s.text, at)
		line := s.text[at:end]
		if inner := strings.TrimLeft(line, " "); inner == "" {
			blank++
		} else {
			indent, from := len(line)-len(inner), 0
			deeper := false
			for len(lines) > 0 && lines[len(lines)-1].indent > indent {
				lines, deeper = lines[:len(lines)-1], true
			}
			if len(lines) > 0 {
				from = lines[len(lines)-1].end
			}
			// The scanner looks at a text after | or > once for each empty line that ends
			// it. A line that ends the document may end a text that begins anywhere
			// before it; a line further out, one that begins behind the last line that is
			// as far out.
			switch {
			case blank > 1 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")):
				spent += (blank - 1) * at
			case blank > 1 && deeper:
				spent += (blank - 1) * (at - from)
			}
			blank = 0
			if len(lines) > 0 && lines[len(lines)-1].indent == indent {
				lines[len(lines)-1].end = end
			} else {
				lines = append(lines, above{indent, end})
			}
			spent += strings.Count(line, "\t") * len(line)
			if strings.Contains(line, "<<") {
				row = 0
				for i := range len(line) {
					if line[i] == '<' {
						row++
						spent += row
					} else {
						row = 0
					}
				}
			}
		}
		if spent > maxRescan {
			return at, true
		}
		at = nextLine(s.text, end)
	}
	if blank > 1 && spent+(blank-1)*len(s.text) > maxRescan {
		return len(s.text), true
	}
	return 0, false
}

// level is a mapping or a bracket that is open while tokens are counted.
// path in burdens is the sum of the lengths of the keys that are open.
// Columns are the parser's, in characters from 1; lengths are in bytes.
type level struct {
	column  int // of its keys
	keys    int // that follow each other in this column
	key     int // length of the last one
	bracket bool
}

// burdens reports the token with which the tokens become more than the parser
// gets to see, and what there is too much of. The parser copies all that follows
// in a mapping for each of its keys, and the keys that lead to a value for each
// value.
// spent counts the bytes that are copied: a pointer for each key so far, at every key of
// a mapping, and half of the open path at each token.
func burdens(tokens token.Tokens) (*token.Token, string) {
	var open []level
	count, spent, path, documents := 0, 0, 0, 0
	pop := func() {
		path -= open[len(open)-1].key
		open = open[:len(open)-1]
	}
	// deeper closes the mappings in lines whose keys are right of a column.
	deeper := func(column int) {
		for len(open) > 0 && !open[len(open)-1].bracket && open[len(open)-1].column > column {
			pop()
		}
	}
	key := func(column, length int) {
		deeper(column)
		if n := len(open); n == 0 || (!open[n-1].bracket && open[n-1].column < column) {
			open = append(open, level{column: column})
		}
		in := &open[len(open)-1]
		if in.column != column {
			in.column, in.keys = column, 0
		}
		path += length - in.key
		in.key = length
		in.keys++
		spent += 8 * in.keys
	}
	last := -1 // the token before that is no comment
	for i, tk := range tokens {
		switch tk.Type {
		case token.CommentType:
			continue
		case token.MappingStartType, token.SequenceStartType:
			open = append(open, level{bracket: true})
		case token.MappingEndType, token.SequenceEndType:
			deeper(-1)
			if len(open) > 0 {
				pop()
			}
		case token.SequenceEntryType:
			deeper(tk.Position.Column)
			if last >= 0 && tokens[last].Type == token.SequenceEntryType {
				spent += (len(tokens) - i) / 2 // it puts a null between them
			}
		case token.MappingKeyType:
			key(tk.Position.Column, 0)
		case token.MappingValueType:
			if last >= 0 {
				key(keyColumn(tokens[:last+1]), len(tokens[last].Value))
			}
		case token.DocumentHeaderType, token.DocumentEndType:
			documents++
			spent += 32 * documents
			open, path = open[:0], 0
		}
		last = i
		count++
		spent += path / 2
		// Long keys are named as the cause where the open ones have more than 200 bytes
		// on average.
		switch {
		case count > maxTokens:
			return tk, fmt.Sprintf("The front-matter has more than %d parts", maxTokens)
		case spent > maxBurden && path > len(open)*200:
			return tk, "The front-matter has too much below keys that are too long"
		case spent > maxBurden:
			return tk, "The front-matter has too many keys or empty entries"
		}
	}
	return nil, ""
}

// keyColumn returns the column of the key that the tokens end with: of its anchor
// or tag, where it has one.
// tokens is not empty. Columns count from 1, as the parser's.
func keyColumn(tokens token.Tokens) int {
	at := tokens[len(tokens)-1].Position
	for i := len(tokens) - 2; i >= 0 && tokens[i].Position.Line == at.Line; i-- {
		switch tokens[i].Type {
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.CollectEntryType,
			token.MappingStartType, token.MappingEndType, token.SequenceStartType, token.SequenceEndType,
			token.DocumentHeaderType, token.DocumentEndType:
			return at.Column
		}
		at = tokens[i].Position
	}
	return at.Column
}

// light reports whether a text whose keys have at most lightKey bytes is surely no
// burden, without a look at its tokens.
//
// It counts more than there is, as signs in quotes count too. A text that is not light
// goes to the parser, which counts exactly.
func light(text string) bool {
	return len(text) <= lightText ||
		(strings.Count(text, ":") <= lightColons && strings.Count(text, ",")+strings.Count(text, "- ") <= lightEntries)
}
