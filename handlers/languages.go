package handlers

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// queryIn is how long the editor has to answer a question about languages.
const queryIn = 10 * time.Second

// maxFound is how many things of one answer are looked at.
const maxFound = 10_000

// Languages implements [agents.Frontend].
func (p person) Languages() tool.Languages {
	if !p.h.caps.EditorQueries {
		return nil
	}
	return languages{p.h}
}

// languages asks the editor's language servers.
type languages struct{ h *Handlers }

// Query implements [tool.Languages].
// It waits queryIn at most. Everything that goes wrong on the editor's side is
// fault.Unavailable.
func (l languages) Query(ctx context.Context, q tool.LanguageQuery) ([]tool.Found, error) {
	const op = "handlers.editorQuery"
	p := &wire.EditorQueryParams{Kind: q.Kind, Query: q.Name, Fresh: q.Fresh}
	if q.Path != "" {
		p.URI = tool.URI(q.Path)
		if d, open := l.h.Workspace.Snapshot().DocumentAt(q.Path); open {
			p.URI = string(d.URI) // as the editor names it
		}
	}
	if q.Kind == tool.Definition || q.Kind == tool.References {
		at, err := workspace.PositionAt(q.Before, len(q.Before), l.h.Workspace.Snapshot().Encoding())
		if err != nil {
			return nil, err
		}
		p.Position = &definition.Position{Line: q.Line, Character: at.Character}
	}
	within := cmp.Or(l.h.edits.answers, queryIn)
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	found, err := l.ask(asking, p)
	switch {
	case err == nil || ctx.Err() != nil:
		return found, err
	case asking.Err() != nil:
		return nil, fault.New(fault.Unavailable, op, "the editor did not answer within %v", within)
	}
	if refused, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return nil, fault.New(fault.Unavailable, op, "the editor refused: %s", refused.Message)
	}
	return nil, fault.New(fault.Unavailable, op, "%w", err)
}

// ask asks the client and returns what it found, of a null nothing.
// Lines count from 1 in what it returns, and a severity that is left out is an
// error. It stops at maxFound.
// Answers beyond maxFound are dropped without a word; the tool shows fewer anyway.
func (l languages) ask(ctx context.Context, p *wire.EditorQueryParams) (found []tool.Found, err error) {
	add := func(at wire.EditorLocation, f tool.Found) bool {
		f.Path, _ = workspace.FilePath(at.URI)
		f.Line = int(at.Range.Start.Line) + 1
		found = append(found, f)
		return len(found) < maxFound
	}
	switch p.Kind {
	case tool.Diagnostics:
		var answer wire.EditorDiagnostics
		err = l.h.Peer.Call(ctx, wire.MethodEditorQuery, p, &answer)
		for _, file := range answer.Items {
			for _, d := range file.Diagnostics {
				code := strings.Trim(string(d.Code), `"`)
				f := tool.Found{Kind: severityNames[d.Severity], Text: d.Message,
					Note: strings.TrimSpace(d.Source + " " + code)}
				if f.Kind == "" {
					f.Kind = "error" // LSP leaves it to the client
				}
				if !add(wire.EditorLocation{URI: file.URI, Range: d.Range}, f) {
					return found, err
				}
			}
		}
	case tool.Symbols:
		var answer wire.EditorSymbols
		err = l.h.Peer.Call(ctx, wire.MethodEditorQuery, p, &answer)
		for _, s := range answer[:min(len(answer), maxFound)] {
			add(s.Location, tool.Found{Kind: symbolNames[s.Kind], Text: s.Name, Note: s.ContainerName})
		}
	default:
		var answer wire.EditorLocations
		err = l.h.Peer.Call(ctx, wire.MethodEditorQuery, p, &answer)
		for _, at := range answer[:min(len(answer), maxFound)] {
			add(at, tool.Found{})
		}
	}
	return found, err
}

// symbolNames are the kinds of symbols of LSP, as an agent reads them.
var symbolNames = map[int]string{
	1: "file", 2: "module", 3: "namespace", 4: "package", 5: "class", 6: "method", 7: "property",
	8: "field", 9: "constructor",
	10: "enum", 11: "interface", 12: "function", 13: "variable", 14: "constant", 15: "string", 16: "number",
	17: "boolean", 18: "array",
	19: "object", 20: "key", 21: "null", 22: "enum member", 23: "struct", 24: "event",
	25: "operator", 26: "type parameter",
}

// severityNames are those of LSP, as an agent reads them.
var severityNames = map[int]string{1: "error", 2: "warning", 3: "info", 4: "hint"}
