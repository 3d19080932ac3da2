package exchange

// Import: another tool's file in our format.

import (
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// longest is the longest time that our format takes (spec 1.2).
const longest = 366 * 24 * time.Hour

// Import returns another tool's agent file in our format. The path decides the
// dialect as in spec 1.7, together with the keys, and may be a file's name only.
// The result loads without a finding that makes it unusable, and may do no more
// than the file did. data is not kept.
//
// Every error is fault.Invalid, and its message says what is wrong with the file
// and what to do: a file that [definition.Parse] finds unusable (but for its
// name, if o.Name gives one), one that is in our format already, one whose
// translation would be too large. It reads no other file and starts nothing; it is safe
// for concurrent use.
func Import(path string, data []byte, o Options) (*Imported, error) {
	d := definition.Parse(definition.Source{Path: path, Scope: definition.Project, Data: data,
		Model: o.Model, Dialect: o.From})
	for _, p := range d.Problems {
		if p.Fatal() && !(o.Name != "" && nameless(p)) {
			return nil, fault.New(fault.Invalid, "exchange.import", "%s, line %d: %s", base(path),
				p.Range.Start.Line+1, p.Message)
		}
	}
	if d.Dialect == definition.Agentls {
		return nil, fault.New(fault.Invalid, "exchange.import",
			"%s looks like a file of our own format, which needs no import; copy it, or say whose format it is in: --from TOOL", base(path))
	}
	tree, ok := definition.ReadTree(path, string(data))
	if !ok {
		return nil, fault.New(fault.Invalid, "exchange.import", "the front-matter of %s cannot be read", base(path))
	}
	im := &importer{Definition: d, tree: tree, index: definition.NewIndex(tree.Text), name: d.Name, file: base(path)}
	if o.Name != "" {
		im.name = o.Name
	}
	im.problems()
	im.write()
	return im.close()
}

// nameless reports whether a problem is about the agent's name, which the caller
// may give.
func nameless(p definition.Problem) bool {
	return p.Code == "agent/name" || p.Code == "agent/missing-field"
}

// importer is one import. It is used once, in this order: problems, write, close.
type importer struct {
	*definition.Definition
	tree  *definition.Tree
	index *definition.Index
	// What the agent is to be called.
	name string
	// The original's name, for messages.
	file string

	// The front-matter as it is written.
	out      entries
	restrict []string // keys that restrict and have no counterpart
	loss     []Loss
	repaired []string
}

// lose notes what did not translate.
func (im *importer) lose(key string, severity definition.Severity, message string) {
	im.loss = append(im.loss, Loss{key, message, severity})
}

// problems takes from the findings about the file what did not translate. Findings of
// other kinds are not about the translation.
// Findings that make a file unusable were errors of Import before, but for those about a
// name that the caller gives.
func (im *importer) problems() {
	none := im.Tools.Given && len(im.Tools.Allow) == 0 && slices.ContainsFunc(im.Problems,
		func(p definition.Problem) bool { return p.Code == "agent/tool-unknown" })
	for _, p := range im.Problems {
		key := keyOf(im.tree, im.index, p)
		switch p.Code {
		case "agent/yaml-repaired":
			im.repaired = append(im.repaired, p.Message)
		case "agent/authority":
			if key != "" && !slices.Contains(im.restrict, key) {
				im.restrict = append(im.restrict, key)
			}
			im.lose(key, p.Severity, p.Message)
		case "agent/tool-unknown", "agent/unknown-field", "agent/prompt-twice", "agent/handoff-target":
			im.lose(key, p.Severity, p.Message)
		case "agent/dialect":
			severity := p.Severity
			if key == "tools" && none {
				severity = definition.Warning // the agent can do nothing now
			}
			if key != "kind" {
				im.lose(key, severity, p.Message)
			}
		}
	}
	if !im.Tools.Given && len(im.MCPServers) == 0 {
		im.lose("", definition.Hint,
			"Without a list of tools it may use all MCP servers there and none here; name those that it needs under mcp: servers.")
	}
	if im.Dialect != definition.GeminiCLI {
		return
	}
	for _, name := range [...]string{"query", "cliVersion", "activeModel", "today"} {
		if strings.Contains(im.Prompt, "${"+name+"}") {
			im.lose("", definition.Warning,
				"The placeholder ${"+name+"} of the prompt is not filled in here and stays as it is.")
		}
	}
}

// shared are keys that mean here what they mean in any dialect, and are taken over
// with their whole value.
var shared = [...]string{"triggers", "handoffs", "guardrails", "memory", "graph", "tracing", "inputs",
	"output", "initial_messages"}

// write makes the front-matter of what was read. Keys whose value is the default are
// left out.
func (im *importer) write() {
	e := &im.out
	e.put("kind", "agent")
	e.text("name", im.name)
	e.text("title", im.Title)
	e.text("description", im.Description)
	e.text("model", im.Model)
	if len(im.FallbackModels) > 0 {
		e.put("fallback_models", list(im.FallbackModels))
	}
	e.text("color", im.Color)
	e.text("version", im.Version)
	im.tools()
	if slices.Contains(im.MCPServers, "*") {
		e.nest("mcp", `  servers: "*"`)
	} else if servers := nonEmpty(im.MCPServers); len(servers) > 0 {
		e.nest("mcp", "  servers: "+list(servers))
	}
	if slices.Contains(im.Subagents, "*") {
		e.put("subagents", `"*"`)
	} else if agents := nonEmpty(im.Subagents); len(agents) > 0 {
		e.put("subagents", list(agents))
	}
	im.runs()
	for _, key := range shared {
		v := im.tree.Root.Get(key)
		// Another tool's handoffs are a person's buttons, its memory may be a word.
		if v == nil || (key == "handoffs" && len(im.Handoffs) == 0) ||
			(key == "memory" && v.Kind != definition.Mapping) ||
			(v.Kind != definition.Mapping && v.Kind != definition.List) {
			continue
		}
		e.put(key, flow(v))
	}
	e.text("query", im.Query)
	if !im.UserInvocable {
		e.put("user_invocable", "false")
	}
	if !im.Routable {
		e.put("routable", "false")
	}
	if !im.MemoryFiles {
		e.put("memory_files", "false")
	}
	if !im.Delegable {
		e.put("disable-model-invocation", "true")
	}
	// What restricts there stays in the file, and a run is refused for it (Definition.Authority):
	// to take it out is for a person.
	for _, key := range im.restrict {
		if _, there := e.get(key); !there {
			e.put(definition.YAMLText(key), flow(im.tree.Root.Get(key)))
		}
	}
}

// nonEmpty returns names without empty ones.
func nonEmpty(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
}

// patterns writes another tool's names as patterns of ours, in brackets.
func patterns(names []string) string {
	own := make([]string, len(names))
	for i, name := range names {
		own[i] = literally(name)
	}
	return list(own)
}

// tools writes what the agent may use. A list of which nothing is known here is written
// as an empty one: without one the agent would have every tool.
func (im *importer) tools() {
	var lines []string
	if im.Tools.Given {
		// A name that our format would read as another tool, or as none, must not be written.
		allow := slices.DeleteFunc(slices.Clone(im.Tools.Allow), func(name string) bool {
			canonical, ok := definition.CanonicalTool(name)
			if ok && canonical == name {
				return false
			}
			im.lose("tools", definition.Hint, "The tool "+name+" cannot be named here and is left out.")
			return true
		})
		lines = append(lines, "  allow: "+patterns(allow))
	}
	if deny := nonEmpty(im.Tools.Deny); len(deny) > 0 {
		lines = append(lines, "  deny: "+patterns(deny))
	}
	c := im.Confirmation
	if require := nonEmpty(c.Require); len(require) > 0 || c.Prompt != "" || c.Given {
		lines = append(lines, "  confirmation:")
		if len(require) > 0 {
			lines = append(lines, "    require_confirmation: "+patterns(require))
		}
		if c.Prompt != "" {
			lines = append(lines, "    prompt_template: "+definition.YAMLText(c.Prompt))
		}
		if c.Given {
			lines = append(lines, "    timeout: "+seconds(c.Timeout))
		}
	}
	im.out.nest("tools", lines...)
}

// runs writes limits and what is sent to the model.
//
// A time beyond what our format takes is shortened, which is the stricter side.
func (im *importer) runs() {
	var lines []string
	if im.MaxTurns > 0 {
		lines = append(lines, "  max_turns: "+number(float64(im.MaxTurns)))
	}
	if im.MaxTime > 0 {
		lines = append(lines, "  max_time: "+seconds(min(im.MaxTime, longest)))
	}
	if im.MaxTokens > 0 {
		lines = append(lines, "  max_tokens: "+number(float64(im.MaxTokens)))
	}
	if im.MaxCost > 0 {
		lines = append(lines, "  max_cost: "+number(im.MaxCost))
	}
	if im.Mode != definition.Chat {
		lines = append(lines, "  mode: "+string(im.Mode))
	}
	im.out.nest("run", lines...)
	if im.Temperature != nil {
		im.out.put("temperature", number(*im.Temperature))
	}
	if im.TopP != nil {
		im.out.put("top_p", number(*im.TopP))
	}
	if im.ThinkingBudget != nil {
		im.out.put("thinking_budget", number(float64(*im.ThinkingBudget)))
	}
	im.out.text("thinking_level", im.ThinkingLevel)
}

// close adds what is kept, and looks at the result: it must load, keep the
// original, and allow no more. The original is tried as a block of lines first and then
// in one line, until it is read back with the same bytes. A key about which our format
// is stricter than the other tool is left out and all is tried again, if it takes no
// power away; each round removes one, so it ends.
func (im *importer) close() (*Imported, error) {
	body := im.tree.Text[im.tree.Body.Start:]
	if strings.TrimSpace(body) == "" {
		im.out.text("systemPrompt", im.Prompt)
	}
	k := &original{from: im.Dialect, file: im.file, front: im.tree.Text[im.tree.Front.Start:im.tree.Front.End]}
	if im.Model != "inherit" || len(im.FallbackModels) > 0 {
		k.models = append([]string{im.Model}, im.FallbackModels...)
	}
	// The file gets the line ends of the original where those are all of one kind, so that
	// what is kept of it, and the prompt, keep their bytes.
	newline := "\n"
	if n := strings.Count(k.front, "\r\n"); n > 0 && n == strings.Count(k.front, "\n") &&
		n == strings.Count(k.front, "\r") {
		newline = "\r\n"
	}
	front := im.out
	for {
		var text string
		for _, block := range [...]bool{true, false} {
			im.out = slices.Clone(front)
			im.out.nest("imported", k.lines(block)...)
			text = im.out.file(body, newline)
			if len(text) > definition.MaxFile {
				return nil, fault.New(fault.Invalid, "exchange.import",
					"%s with its translation beside what is kept of it is larger than %d KiB; make it shorter", im.file,
					definition.MaxFile>>10)
			}
			if t, ok := definition.ReadTree("", text); ok {
				if got := originalOf(t); got != nil && got.front == k.front {
					break
				}
			}
			text = ""
		}
		if text == "" {
			return nil, fault.New(fault.Invalid, "exchange.import",
				"the front-matter of %s is too large, or too unusual, to be kept beside its translation (%d KiB for both); write it shorter or simpler", im.file, definition.MaxFrontMatter>>10)
		}
		d := definition.Parse(source(fileOf(im.name, definition.Agentls), text, definition.Agentls))
		usable, why := d.Usable()
		if usable {
			return im.result(text, d)
		}
		// What our format is stricter about, and is no matter of power, goes.
		t, ok := definition.ReadTree("", text)
		if !ok {
			return nil, fault.New(fault.Invalid, "exchange.import", "%s: %s", im.file, why.Message)
		}
		key := keyOf(t, definition.NewIndex(text), why)
		i := slices.IndexFunc(front, func(e entry) bool { return e.key == key })
		if i < 0 || !loose(key) {
			return nil, fault.New(fault.Invalid, "exchange.import", "%s: %s", im.file, why.Message)
		}
		im.lose(key, definition.Warning, "The field is left out: "+why.Message)
		front = slices.Delete(front, i, i+1)
	}
}

// loose reports whether a key may be left out: it takes no power away.
// Limits, tools, confirmations and what keeps others from calling the agent are not among
// these.
func loose(key string) bool {
	switch key {
	case "version", "color", "query", "output", "initial_messages", "tracing", "triggers",
		"memory", "graph", "handoffs":
		return true
	}
	return false
}

// result returns the import, unless it may do more than the file did (fault.Invalid).
func (im *importer) result(text string, d *definition.Definition) (*Imported, error) {
	if found := growth(im.Definition, d); len(found) > 0 {
		return nil, fault.New(fault.Invalid, "exchange.import",
			"%s cannot be imported as it is: here it would have %s; take that out of the file",
			im.file, found[0].message)
	}
	return &Imported{Name: im.name, Text: []byte(text), From: im.Dialect, Loss: im.loss, Repaired: im.repaired}, nil
}
