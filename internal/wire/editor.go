package wire

import (
	"encoding/json"

	"github.com/agentls/agentls/agents/definition"
)

type (
	// EditorQueryParams is a question to the editor's language servers. The answer is
	// about what the editor shows, saved or not.
	EditorQueryParams struct {
		Kind     string               `json:"kind"`               // diagnostics, symbols, definition, references
		URI      string               `json:"uri,omitempty"`      // of the file; absent with diagnostics and symbols = the workspace
		Position *definition.Position `json:"position,omitempty"` // with definition and references
		Query    string               `json:"query,omitempty"`    // with symbols: a part of their names
		// Fresh: where the file was changed a moment ago, the answer waits for what the
		// servers say of its latest text, three seconds at most.
		Fresh bool `json:"fresh,omitzero"`
	}

	// EditorDiagnostics is the answer about diagnostics.
	EditorDiagnostics struct {
		// One for each file.
		Items []EditorFileDiagnostics `json:"items"`
	}

	// EditorFileDiagnostics are those of one file.
	EditorFileDiagnostics struct {
		// The file.
		URI string `json:"uri"`
		// In any order.
		Diagnostics []EditorDiagnostic `json:"diagnostics"`
	}

	// EditorDiagnostic is a Diagnostic of LSP, as far as it is used.
	EditorDiagnostic struct {
		// In the negotiated encoding.
		Range    definition.Range `json:"range"`
		Severity int              `json:"severity,omitempty"` // 1 error, 2 warning, 3 information, 4 hint; absent = error
		Code     json.RawMessage  `json:"code,omitempty"`     // a number or a string
		// Who says it, as eslint or rust-analyzer.
		Source string `json:"source,omitempty"`
		// As the person sees it.
		Message string `json:"message"`
	}

	// EditorLocations is the answer about definitions and references: Location[] of LSP.
	EditorLocations []EditorLocation

	// EditorLocation is a Location of LSP.
	EditorLocation struct {
		URI   string           `json:"uri"`
		Range definition.Range `json:"range"`
	}

	// EditorSymbols is the answer about symbols: SymbolInformation[] of LSP.
	EditorSymbols []EditorSymbol

	// EditorSymbol is a SymbolInformation of LSP, as far as it is used.
	EditorSymbol struct {
		// As it stands in the text.
		Name string `json:"name"`
		Kind int    `json:"kind"` // a SymbolKind of LSP
		// What holds it, as a class.
		ContainerName string `json:"containerName,omitempty"`
		// Where it is declared.
		Location EditorLocation `json:"location"`
	}
)
