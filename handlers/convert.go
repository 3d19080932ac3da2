package handlers

import (
	"time"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/workspace"
)

// rangeIn returns a range of the protocol as workspace has it; the columns stay in the encoding
// that was negotiated.
func rangeIn(r protocol.Range) workspace.Range {
	return workspace.Range{Start: workspace.Position(r.Start), End: workspace.Position(r.End)}
}

// stamp returns a time as the wire has it, "" for none.
// It is UTC with milliseconds, as RFC 3339 has it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
