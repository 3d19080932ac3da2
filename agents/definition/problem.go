package definition

import "slices"

// Position is a place in a text: both count from 0. Character counts UTF-16
// code units, the encoding that LSP falls back to; a surface that negotiated
// another converts with the file's text at hand.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is the text from Start up to, not including, End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Contains reports whether a position lies in r.
func (r Range) Contains(p Position) bool {
	before := func(a, b Position) bool { return a.Line < b.Line || (a.Line == b.Line && a.Character < b.Character) }
	return !before(p, r.Start) && before(p, r.End)
}

// Severity says how bad a [Problem] is.
type Severity string

// The severities of spec 1.5, worst first.
const (
	// Something of the file does not count, and the agent may not run.
	Error Severity = "error"
	// The agent runs, but not as the file reads.
	Warning Severity = "warning"
	// Worth knowing.
	Info Severity = "info"
	// Shown in passing, as what is read differently for another tool's file.
	Hint Severity = "hint"
)

// Problem is one finding about an agent file (spec 1.5) or about a part that a
// run left out.
type Problem struct {
	URI      string   `json:"uri"`
	Range    Range    `json:"range"`
	Code     string   `json:"code"` // as agent/yaml, never renamed; docs/reference/codes.md has them all
	Severity Severity `json:"severity"`
	Message  string   `json:"message"` // one sentence: what, and what to do

	// Meant is what may stand in place of the text of Range: a name that differs
	// little, or a retired model's successor; "" = nothing is known. Related are
	// places that the problem is also about, as the other file of a name that is
	// there twice. A client that speaks LSP is told of both in its own words.
	Meant   string    `json:"-"`
	Related []Related `json:"-"`
}

// Related is a place that a [Problem] is also about.
type Related struct {
	URI     string
	Range   Range
	Message string // one sentence
}

// Equal reports whether two problems say the same.
func (p Problem) Equal(other Problem) bool {
	return p.URI == other.URI && p.Range == other.Range && p.Code == other.Code && p.Severity == other.Severity &&
		p.Message == other.Message && p.Meant == other.Meant && slices.Equal(p.Related, other.Related)
}
