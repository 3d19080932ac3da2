package definition

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

// Severity says how bad a [Problem] is.
type Severity string

// The severities of spec 1.5, worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
	Hint    Severity = "hint"
)

// Problem is one finding about an agent file (spec 1.5) or about a part that a
// run left out.
type Problem struct {
	URI      string   `json:"uri"`
	Range    Range    `json:"range"`
	Code     string   `json:"code"` // of the table in spec 1.5, as agent/yaml; never renamed
	Severity Severity `json:"severity"`
	Message  string   `json:"message"` // one sentence: what, and what to do
}
