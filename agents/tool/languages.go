package tool

import "context"

// Languages is what the language servers of the person's editor know. What it
// returns is as the editor says it: paths are not checked, texts not escaped.
//
// A tool that shows what it returns holds each path to the rules of reading
// first: a language server may know files that the agent must not see.
type Languages interface {
	// Query asks one question and waits for the editor, ten seconds at most.
	// The error is fault.Unavailable where the editor cannot answer that kind,
	// and its context's otherwise; no finding is no error.
	Query(ctx context.Context, q LanguageQuery) ([]Found, error)
}

// The kinds of a [LanguageQuery].
const (
	Diagnostics = "diagnostics" // of the file at Path, of all files without one
	Symbols     = "symbols"     // of the file at Path, else of the workspace those that match Name
	Definition  = "definition"  // of what stands in the file at Path behind Before
	References  = "references"  // to it
)

// LanguageQuery is one question to the editor's language servers.
type LanguageQuery struct {
	Kind   string
	Path   string // absolute; "" = the workspace
	Name   string // symbols: what to look for
	Line   uint32 // definition, references: of the name, from 0
	Before string // and the text of that line before the name

	// Fresh has the editor wait a moment until its servers have seen the file's
	// latest text (diagnostics).
	Fresh bool
}

// Found is one thing that a language server says about a line of a file.
type Found struct {
	Path string // absolute; "" for what is in no file
	Line int    // from 1
	Kind string // error, warning, info or hint; of a symbol what it is, as function
	Text string // the message, or the symbol's name
	Note string // who says it and its code; of a symbol what holds it
}
