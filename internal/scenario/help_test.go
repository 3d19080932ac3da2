package scenario_test

import (
	"errors"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/agents"
)

var approvals = map[string]agents.Approval{"plan": "plan", "ask": "ask", "edits": "edits", "auto": "auto"}

// rawParams are parameters as they stand in a story.
func rawParams(raw []byte) any { return jsonrpc2.RawMessage(raw) }

// dataOf returns the data of an answer that is an error.
func dataOf(err error) string {
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return string(e.Data)
	}
	return ""
}
