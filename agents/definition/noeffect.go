package definition

// What an agent file may say and this version does nothing with.

import (
	"fmt"
	"slices"
	"strings"
)

// noEffectTable is what this version reads and does not do yet. Findings,
// hover, completion, explain, validate and create take it from here; who builds one of
// these deletes its row.
var noEffectTable = []noEffectRow{}

// noEffect is the table that counts.
var noEffect = noEffectTable

// noEffectRow is a field, as [Field.Path] has it, with the tools that come with it.
type noEffectRow struct {
	field string
	tools []string // names of the table of tools, and globs of others
}

// noEffectText is what a person is told of a row, after its name.
const noEffectText = "has no effect in this version"

// HasNoEffect reports whether this version does nothing with a field, or with a field
// that holds it. path is as [Field.Path] has it.
func HasNoEffect(path string) bool { return rowOf(path) != nil }

// NoEffect returns what a person is told of a field that has no effect in this version,
// after its name; "" for one that has.
func NoEffect(path string) string {
	if rowOf(path) == nil {
		return ""
	}
	return noEffectText
}

// ToolHasNoEffect reports whether the tool of a canonical name is one that this
// version does not have yet. A glob is, if all the tools are that it stands for.
func ToolHasNoEffect(name string) bool {
	missing := func(name string) bool {
		return slices.ContainsFunc(noEffect, func(row noEffectRow) bool {
			return slices.ContainsFunc(row.tools, func(tool string) bool { return MatchTool(tool, name) })
		})
	}
	if !strings.ContainsAny(name, "*?") || missing(name) {
		return missing(name)
	}
	found := false
	for _, t := range toolNames {
		if MatchTool(name, t.Name) {
			if found = true; !missing(t.Name) {
				return false
			}
		}
	}
	return found
}

// WithoutNoEffect returns the text of an agent file without the fields and tools that
// have no effect in this version.
func WithoutNoEffect(text string) string {
	for range 2 * len(fieldTable) { // each round takes one out
		d := Parse(Source{Data: []byte(text)})
		i := slices.IndexFunc(d.Problems, func(p Problem) bool { return p.Code == "agent/no-effect" })
		if i < 0 {
			break
		}
		fixes := Fixes("", text, d.Problems[i])
		if len(fixes) == 0 {
			break
		}
		text = Apply(text, fixes[0].Edits)
	}
	return text
}

// UseNoEffect switches the table off, or on again, for a test; restore undoes that.
// Nobody may read agent files meanwhile.
func UseNoEffect(on bool) (restore func()) {
	before := noEffect
	if noEffect = nil; on {
		noEffect = noEffectTable
	}
	return func() { noEffect = before }
}

// rowOf returns the row of a field, or of one that holds it; nil = it has an effect.
func rowOf(path string) *noEffectRow {
	for i := range noEffect {
		row := &noEffect[i]
		rest, under := strings.CutPrefix(path, row.field)
		if row.field != "" && under && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return row
		}
	}
	return nil
}

// Text says what the field means, and whether it has an effect in this version.
func (f Field) Text() string {
	if text := NoEffect(f.Path); text != "" {
		return f.Doc + " It " + text + "."
	}
	return f.Doc
}

// foreignReadAs are the fields of ours that keys of other tools are read as, where they
// say nothing more.
var foreignReadAs = map[string]string{"mcpServers": "mcp.servers", "mcp_servers": "mcp.servers",
	"mcp-servers": "mcp.servers", "agents": "subagents"}

// idle reports a key of a field that has no effect in this version. A value that says
// nothing is left alone.
func (r *reader) idle(k *key, v *node, path string) {
	row := rowOf(path)
	if row == nil || row.field != path || r.Scope == System || v.kind == null ||
		((v.kind == list || v.kind == mapping) && len(v.items) == 0) {
		return
	}
	r.report("agent/no-effect", r.idleSeverity(), k.start, k.end, fmt.Sprintf("The field %s %s.", path, noEffectText))
}

// idleTool reports an entry of a list of allowed tools of which this version does not
// have any yet. canonical is what the entry stands for.
func (r *reader) idleTool(canonical []string, name listed) {
	some := slices.ContainsFunc(canonical, func(tool string) bool { return !ToolHasNoEffect(tool) })
	if !some && r.Scope != System {
		r.report("agent/no-effect", r.idleSeverity(), name.start, name.end,
			fmt.Sprintf("The tool %s %s and is left out.", name.name, noEffectText))
	}
}

// idleSeverity is that of what has no effect: in another tool's file, which was not
// written for this one, it is a hint.
func (r *reader) idleSeverity() Severity {
	if r.Dialect != Agentls {
		return Hint
	}
	return Warning
}
