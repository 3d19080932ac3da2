package authority

// Where values come from.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// places finds what a file and the overrides over it say. It caches what it looked up
// (lists), so only one goroutine uses it.
type places struct {
	in *Input
	// Nil without a text.
	tree  *definition.Tree
	lines []int // the offset at which each line of the file begins
	// The overrides for this agent, the weakest first.
	over  []section
	lists map[*definition.Value]map[string]int // of each list that was asked for: the line of each name in it
}

// section is an override, read.
type section struct {
	settings.Raw
	fields map[string]json.RawMessage
}

// newPlaces reads the file's text, if there is any, and the overrides. An override that is no JSON
// object is not among the origins.
func newPlaces(in *Input) *places {
	p := &places{in: in, lists: make(map[*definition.Value]map[string]int)}
	if in.Text != "" {
		// What is wrong with the text is told elsewhere; a part that was read has its lines.
		p.tree, _ = definition.ReadTree(in.File.Path, in.Text)
		p.lines = []int{0}
		for i := range len(in.Text) {
			if in.Text[i] == '\n' {
				p.lines = append(p.lines, i+1)
			}
		}
	}
	for _, o := range in.Settings.Overrides[in.File.Name] {
		s := section{Raw: o}
		if json.Unmarshal(o.JSON, &s.fields) == nil {
			p.over = append(p.over, s)
		}
	}
	return p
}

// line returns the line of an offset of the file, from 1. 0 where the text is not
// known.
func (p *places) line(offset int) int {
	n, found := slices.BinarySearch(p.lines, offset)
	if found {
		n++
	}
	return n
}

// file returns where the file has the first of some fields, as run.max_turns;
// false for none of them.
// Without the field the origin still names the file, or says that the agent is built in,
// for callers that have it from elsewhere.
func (p *places) file(fields ...string) (Origin, bool) {
	if v, field := p.find(fields...); v != nil {
		return Origin{File: p.in.File.Path, Line: p.line(v.Start), What: field}, true
	}
	if p.in.File.Path == "" { // it is built in
		return Origin{What: "default of " + p.in.File.Name}, false
	}
	return Origin{File: p.in.File.Path, What: fields[0]}, false
}

// find returns the value of the first of some fields that the file has, and which that is.
func (p *places) find(fields ...string) (*definition.Value, string) {
	if p.tree == nil {
		return nil, ""
	}
	for _, field := range fields {
		if v := p.tree.Find(strings.Split(field, ".")...); v != nil && v.Kind != definition.Null {
			return v, field
		}
	}
	return nil, ""
}

// entry returns where a name stands in one of the file's lists; where it does
// not stand there as it is, as in another tool's format, the place is the list's.
func (p *places) entry(name string, fields ...string) Origin {
	origin, _ := p.file(fields...)
	// The first of the fields that is there, as file has it.
	if v, _ := p.find(fields...); v != nil {
		if line := p.linesOf(v)[name]; line > 0 {
			origin.Line = line
		}
	}
	return origin
}

// node is where a node of the graph says what it runs.
func (p *places) node(i int) Origin {
	origin, given := p.file("graph.nodes", "graph")
	// The tree knows the list, and the graph the place of each of its nodes.
	if given && p.in.File.Graph != nil {
		origin.Line = int(p.in.File.Graph.Ranges[i].Start.Line) + 1
	}
	return origin
}

// linesOf returns the line of each name of a list: as it is written, in its
// canonical form, and for an object what it has as to. The first of a name
// counts.
func (p *places) linesOf(v *definition.Value) map[string]int {
	if lines, known := p.lists[v]; known {
		return lines
	}
	lines := make(map[string]int, len(v.Items))
	p.lists[v] = lines
	note := func(name string, offset int) {
		if lines[name] == 0 {
			lines[name] = p.line(offset)
		}
	}
	items := v.Strings()
	if v.Kind == definition.List {
		for i := range v.Items {
			if to := v.Items[i].Get("to"); to != nil {
				items = append(items, to)
			}
		}
	}
	for _, item := range items {
		// A name as it is written counts before what another one means in its canonical form.
		note(item.Text, item.Start)
	}
	for _, item := range items {
		if canonical, ok := definition.CanonicalTool(item.Text); ok {
			note(canonical, item.Start)
		}
	}
	return lines
}

// overrides returns the sections that set a key, as run.max_turns, and count: in
// their order.
func (p *places) overrides(key string) []Origin {
	var all []Origin
	name := "agents.overrides." + p.in.File.Name + "." + key
	for _, s := range p.over {
		if raw := member(s.fields, key); raw == nil || p.ignored(s, name) {
			continue
		}
		all = append(all, explanation.OriginOf(name, s.Origin))
	}
	return all
}

// ignored reports whether a problem says that a section's key does not count.
// It goes by the text of the problem, which begins with the place and the key of the
// section; Input.Ignored promises that form.
func (p *places) ignored(s section, name string) bool {
	prefix := fmt.Sprintf("%s: %s ", s.Origin, name)
	return slices.ContainsFunc(p.in.Ignored, func(problem string) bool { return strings.HasPrefix(problem, prefix) })
}

// member returns the value of a key with dots; nil where it is not given.
func member(fields map[string]json.RawMessage, key string) json.RawMessage {
	first, rest, nested := strings.Cut(key, ".")
	raw := fields[first]
	if nested {
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) != nil {
			return nil
		}
		return member(inner, rest)
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// holds splits what says a value, the weakest first, into the one that counts
// and the others, the nearest first.
// all must not be empty.
func holds(all []Origin) (Origin, []Origin) {
	last := len(all) - 1
	others := slices.Clone(all[:last])
	slices.Reverse(others)
	return all[last], others
}

// unique returns a list with each name once, where it is first. A file may name
// one many thousand times.
func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	out := make([]string, 0, len(list))
	for _, name := range list {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// place is an origin in a few words, its file by the last part of its path.
func place(o Origin) string { return originText(o, base(o.File)) }

// originText is an origin with a name for its file.
func originText(o Origin, file string) string {
	if o.File == "" {
		return tool.Escape(o.What)
	}
	at := tool.Escape(file)
	if o.Line > 0 {
		at += fmt.Sprintf(":%d", o.Line)
	}
	return at
}

// base is the last part of a path in any system's form.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// naming returns how the places of an explanation are told: a file by as much of
// the end of its path as tells it from the others.
// Names grow by one folder at a time until no two files share one, or there is no more to
// add.
func naming(e *Explanation) func(Origin) string {
	files := make(map[string]string)
	note := func(origins ...Origin) {
		for _, o := range origins {
			files[o.File] = base(o.File)
		}
	}
	for _, v := range e.Values {
		note(v.Origin)
		note(v.Overrode...)
	}
	for _, t := range e.Tools {
		note(t.Origin)
	}
	for _, r := range slices.Concat(e.Servers, e.Subagents, e.Handoffs, e.Graph, e.Guards, e.Hooks) {
		note(r.Origin)
	}
	// The same rounds for all files, so that two of one name grow together.
	for longer := true; longer; {
		named := make(map[string]int)
		for _, name := range files {
			named[name]++
		}
		longer = false
		for file, name := range files {
			if named[name] > 1 && len(name) < len(file) {
				at := strings.TrimRight(file[:len(file)-len(name)], `/\`)
				files[file], longer = file[len(at)-len(base(at)):], true
			}
		}
	}
	return func(o Origin) string { return originText(o, files[o.File]) }
}
