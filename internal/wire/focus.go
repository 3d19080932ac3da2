package wire

import "github.com/agentls/agentls/agents/definition"

type (
	// FocusParams say where the person is in the editor: the document that is shown, and
	// what is selected in it. A client sends them at most every 50 ms.
	FocusParams struct {
		// The document that is shown.
		TextDocument FocusDocument     `json:"textDocument"`
		Selection    *definition.Range `json:"selection,omitempty"` // empty where nothing is selected: the cursor
		// What of the document is on the screen. It is checked, and has no effect in this version.
		VisibleRanges []definition.Range `json:"visibleRanges,omitempty"`
	}

	// FocusDocument names the document.
	FocusDocument struct {
		// Of any scheme; a document that is not open is accepted, too.
		URI string `json:"uri"`
	}
)

// Check implements the server's check of parameters.
func (p *FocusParams) Check() (string, error) {
	return checkRequired("textDocument.uri", p.TextDocument.URI)
}
