package gemini

import "strings"

// maxSubject is the longest heading, in bytes: what is longer is text.
const maxSubject = 200

// thoughts cuts summaries of thoughts into sections. The provider writes a line
// of bold text, the subject, above each. What it finds does not depend on how
// the text is cut into chunks. TestThoughtSectionsDoNotDependOnChunks holds that.
type thoughts struct {
	held   string // the begin of a line that may become a heading or an empty one to leave out
	within bool   // the line has begun and is no heading
	blank  bool   // a heading was there and no text yet: empty lines are left out
}

// add takes a piece of text. Section is called with each piece that is ready;
// a subject that is not empty begins a section. An error of section is returned, and
// ends the reading.
func (t *thoughts) add(text string, section func(subject, text string) error) error {
	text, t.held = t.held+text, ""
	subject, body := "", strings.Builder{}
	for text != "" {
		line, rest, whole := strings.Cut(text, "\n")
		if whole {
			line += "\n"
		}
		// Only what stands at the beginning of a line can be a heading.
		if !t.within {
			if name, ok := heading(line); ok && whole {
				if subject != "" || body.Len() > 0 {
					if err := section(subject, body.String()); err != nil {
						return err
					}
				}
				subject, text, t.blank = name, rest, true
				body.Reset()
				continue
			}
			// Whether it is a heading is known when the line has ended.
			if !whole && mayBeHeading(line) {
				t.held = line
				break
			}
		}
		if t.blank && strings.TrimSpace(line) == "" {
			if !whole {
				t.held = line
				break
			}
			text = rest
			continue
		}
		text = rest
		body.WriteString(line)
		t.within, t.blank = !whole, false
	}
	if subject == "" && body.Len() == 0 {
		return nil
	}
	return section(subject, body.String())
}

// end takes that the thoughts are over: what is held back is what it is. It may be called
// again, and then has nothing.
func (t *thoughts) end(section func(subject, text string) error) error {
	held, blank := t.held, t.blank
	*t = thoughts{}
	if held == "" || (blank && strings.TrimSpace(held) == "") {
		return nil
	}
	if name, ok := heading(held); ok {
		return section(name, "")
	}
	return section("", held)
}

// heading returns the subject of a line that is one: bold text without a star
// in it. What mayBeHeading refuses for its beginning is none.
func heading(line string) (string, bool) {
	line = strings.TrimSuffix(line, "\n")
	if len(line) > maxSubject {
		return "", false
	}
	line = strings.TrimRight(line, " \t\r")
	name, opened := strings.CutPrefix(line, "**")
	name, closed := strings.CutSuffix(name, "**")
	name = strings.TrimSpace(name)
	return name, opened && closed && name != "" && !strings.Contains(name, "*")
}

// mayBeHeading reports whether what follows can still make a line a heading. line has no
// line end yet.
func mayBeHeading(line string) bool {
	if len(line) > maxSubject {
		return false
	}
	if len(line) < 2 {
		return strings.HasPrefix("**", line)
	}
	name, ok := strings.CutPrefix(line, "**")
	if !ok {
		return false
	}
	_, after, closed := strings.Cut(name, "**")
	return !closed || strings.Trim(after, " \t\r") == ""
}
