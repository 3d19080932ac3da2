package language

import (
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// locator gives positions for many offsets that are near one another: each costs
// the distance from the one before, and not from its line's start. Lines can be
// as long as a file.
// It is used by one goroutine.
type locator struct {
	f *File
	// offset and at are the same place, the last that was asked for.
	offset int
	at     definition.Position
}

// position returns the place of a byte offset inside the text.
// It counts on from the place that was asked for last, so questions in the order of the
// text cost the text once. Only a step back over lines uses the index.
func (l *locator) position(offset int) definition.Position {
	text := l.f.Text
	switch {
	case offset >= l.offset:
		for i, c := range text[l.offset:offset] {
			i += l.offset
			switch {
			case c == '\n' || (c == '\r' && (i+1 == len(text) || text[i+1] != '\n')):
				l.at = definition.Position{Line: l.at.Line + 1}
			default:
				l.at.Character += units(c)
			}
		}
	case strings.ContainsAny(text[offset:l.offset], "\r\n"):
		l.at = l.f.Index.Position(offset)
	default:
		for _, c := range text[offset:l.offset] {
			l.at.Character -= min(units(c), l.at.Character)
		}
	}
	l.offset = offset
	return l.at
}

// span returns the range of a span.
// An end before the start is moved to the start.
func (l *locator) span(s definition.Span) definition.Range {
	start := l.position(s.Start)
	return definition.Range{Start: start, End: l.position(max(s.Start, s.End))}
}

// units is how many UTF-16 code units a character has.
func units(c rune) uint32 {
	if c > 0xFFFF {
		return 2
	}
	return 1
}
