package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// showState prints a session's state (agents/state/get): what the task is, who works at
// it, what was done last, and the values that agents set, each cut to 200 columns. asJSON
// has them whole.
func showState(ctx context.Context, conn *connection, out io.Writer, session string, asJSON bool) error {
	var r wire.StateResult
	if err := conn.Call(ctx, wire.MethodStateGet, &wire.StateParams{Session: session}, &r); err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s: %s", tool.Escape(cmp.Or(session, "main")),
		tool.Escape(strings.ReplaceAll(r.TaskStatus, "_", " ")))
	if r.CurrentAgent != "" {
		fmt.Fprintf(&b, ", %s", tool.Escape(r.CurrentAgent))
	}
	b.WriteString("\n")
	if r.CurrentTask != "" {
		fmt.Fprintf(&b, "  task: %s\n", tool.Escape(r.CurrentTask))
	}
	if a := r.LastAction; a != nil {
		fmt.Fprintf(&b, "  last: %s, %s\n", inAction(a), tool.Escape(a.Timestamp))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Variables)) {
		fmt.Fprintf(&b, "  %s = %s\n", tool.Escape(key), fit(tool.Escape(string(r.Variables[key])), 200))
	}
	if len(r.Variables) == 0 {
		b.WriteString("  no values are set\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// inAction says what an agent did last, in words. Fields that are not there are empty.
func inAction(a *wire.Action) string {
	agent := tool.Escape(a.Details["agent"])
	switch a.Type {
	case "tool_call":
		return fmt.Sprintf("%s called %s (%s)", agent, tool.Escape(a.Details["tool"]), tool.Escape(a.Details["status"]))
	case "handoff":
		return fmt.Sprintf("%s handed over to %s", agent, tool.Escape(a.Details["to"]))
	}
	return fmt.Sprintf("%s's model answered (%s)", agent, tool.Escape(a.Details["model"]))
}
