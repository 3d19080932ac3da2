package handlers

import (
	"time"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/workspace"
)

func rangeIn(r protocol.Range) workspace.Range {
	return workspace.Range{Start: positionIn(r.Start), End: positionIn(r.End)}
}

func positionIn(p protocol.Position) workspace.Position {
	return workspace.Position{Line: p.Line, Character: p.Character}
}

func positionOut(p workspace.Position) protocol.Position {
	return protocol.Position{Line: p.Line, Character: p.Character}
}

// stamp returns a time as the wire has it, "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
