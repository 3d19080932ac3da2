package definition

// What is wrong with text that is no YAML, in our words. The parser names its own
// state; a person wants to know what is missing.

import "strings"

// yamlWords are parts of what the parser says, and what is said in their place. The
// first that fits counts.
var yamlWords = []struct{ theirs, ours string }{
	{"end token ']' not found", "The list that begins here is not closed; write ] at its end."},
	{"',' or ']' must be", "A comma or ] is missing before this; write it."},
	{"expected sequence element", "An entry of the list is missing before this comma; remove the comma, or write the entry."},
	{"end token '}' not found", "The object that begins here is not closed; write } at its end."},
	{"',' or '}' must be", "A comma or } is missing before this; write it."},
	{"could not find flow map content", "A comma or } is missing here; write it."},
	{"corresponding to ']'", "There is a ] without a [ before it; remove it, or put the text in quotes."},
	{"corresponding to '}'", "There is a } without a { before it; remove it, or put the text in quotes."},
	{"end double-quoted", "The text in quotes that begins here is not closed; write \" at its end."},
	{"end of double-quoted", "The text in quotes that begins here is not closed; write \" at its end."},
	{"end of single-quoted", "The text in quotes that begins here is not closed; write ' at its end."},
	{"end single-quoted", "The text in quotes that begins here is not closed; write ' at its end."},
	{"quote", "A quote is missing or too many here; put the whole text in quotes."},
	{"escape", "A backslash between double quotes begins no escape that is known; write \\\\ for the backslash itself, or use single quotes."},
	{"hexdecimal", "The digits after this escape are wrong; write \\\\ for a backslash itself, or use single quotes."},
	{"tab", "YAML does not allow a tab here; write spaces."},
	{"block sequence entries are not allowed",
		"An entry of a list must begin its own line; move it below its key, or write [ ] around the list."},
	{"anchor", "The anchor here names nothing; remove the &, or put the text in quotes."},
	{"alias", "The alias here names nothing; remove the *, or put the text in quotes."},
	{"tag", "The ! here begins a tag, which is not allowed; put the text in quotes."},
	{"directive", "A % here begins a directive, which is not allowed; put the text in quotes."},
	{"document", "The front-matter must be one YAML document; remove the line --- or ... in it."},
}

// explain puts the parser's message at an offset of the text into our words, and
// returns the offset that they are about.
// The parser often stumbles a line or more behind the slip, so the lines around are
// looked at for what people usually do.
//
// It is tried in this order: the parser's own words, the line with the offset and the one
// before it, then the indentation. TestWhatIsSaid has the cases.
func (s *source) explain(message string, off int) (string, int) {
	for _, w := range yamlWords {
		if strings.Contains(message, w.theirs) {
			return w.ours, off
		}
	}
	start := strings.LastIndexByte(s.text[:off], '\n') + 1
	for _, start := range []int{start, s.before(start)} {
		line := s.text[start:lineEnd(s.text, start)]
		content := strings.TrimSpace(line)
		at := start + strings.Index(line, content)
		switch {
		case content == "" || content[0] == '#':
		case dashed(content):
			if at == off {
				return "An entry of a list does not belong here; move it below its key, as far in as the other entries.", off
			}
		case keyColon(content) < 0 && !strings.Contains(content, ": ") && !strings.HasSuffix(content, ":"):
			return "This line has no colon after a key; write it as key: value, or remove it; where it continues the text above, move it further in.", at
		}
	}
	line := s.text[start:lineEnd(s.text, start)]
	next := nextLine(s.text, start+len(line))
	below := s.text[next:lineEnd(s.text, next)]
	if content := strings.TrimLeft(below, " "); keyColon(content) > 0 &&
		len(below)-len(content) > len(line)-len(strings.TrimLeft(line, " ")) {
		return "This key is further in than the one above it, which has a value already; let both begin in one column.",
			next + len(below) - len(content)
	}
	if content := strings.TrimLeft(line, " "); len(content) < len(line) && keyColon(content) > 0 {
		return "This key is not as far in as the keys that it belongs to; move it.", start + len(line) - len(content)
	}
	return "The front-matter is not valid YAML here; write key: value lines, and put texts with signs such as : # [ { in quotes.", off
}

// before returns where the line with content before the one at start begins, or
// start.
// start must be where a line begins.
func (s *source) before(start int) int {
	for at := start; at > 0; {
		at = strings.LastIndexByte(s.text[:at-1], '\n') + 1
		if strings.TrimSpace(s.text[at:lineEnd(s.text, at)]) != "" {
			return at
		}
	}
	return start
}
