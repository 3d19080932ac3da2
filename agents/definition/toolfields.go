package definition

// The fields that say what an agent may use: tools, MCP servers, subagents.

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// toolsField reads tools: ours is an object, other tools' a list, a text with
// commas, or an object of switches.
// In another tool's file an empty value is no tools, which is the strict reading; in ours
// it is as if the field were not there.
func (r *reader) toolsField(v *node) {
	switch {
	case v.kind == null:
		if r.Dialect != Agentls {
			r.Tools.Given = true
			r.at(v, "agent/dialect", Hint, "An empty list of tools is read as no tools; remove the field to allow all.")
		}
	case v.kind == mapping && (r.Dialect == OpenCode || (r.Dialect != Agentls && switches(v))):
		r.late = append(r.late, func() { r.switchTools(v) })
	case v.kind == mapping:
		r.ourTools(v)
	case v.kind == list || v.kind == str:
		if r.Dialect == Agentls {
			r.at(v, "agent/dialect", Hint,
				"A plain list of tools is read as tools.allow; write tools: with allow: under it.")
		}
		// Servers that the file describes may stand after its tools.
		r.late = append(r.late, func() { r.allowForeign(v) })
	default:
		r.reportType(v, "tools", "an object with allow and deny")
	}
}

// ourTools reads tools as ours has it. An unknown name gives nothing, and takes what it
// says: in both cases the agent has less power.
func (r *reader) ourTools(v *node) {
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		switch k.name {
		case "allow":
			if n.kind == null {
				r.at(k.node(), "agent/type", Error,
					"tools.allow is empty: write [] for no tools, or remove it for all.")
			}
			r.Tools.Given = true
			names := r.strings(n, "tools.allow")
			r.Tools.Allow = slices.Grow(r.Tools.Allow, len(names))
			outcome := "is left out"
			if !slices.ContainsFunc(names, func(name listed) bool {
				_,
					known := CanonicalTool(name.name)
				return known
			}) {
				outcome += ", so the agent has no tools"
			}
			for _, name := range names {
				// An unknown name gives nothing, whatever tool of that name a server may
				// bring one day.
				if canonical, ok := r.ourTool(name, outcome, false); ok {
					r.checkServerTool(canonical, name)
					r.Tools.Allow = add(r.Tools.Allow, canonical)
					r.allowed = append(r.allowed, listed{canonical, name.start, name.end})
				}
			}
		case "deny":
			for _, name := range r.strings(n, "tools.deny") {
				// An unknown name stays: should a tool of that name turn up, it is denied.
				canonical, _ := r.ourTool(name, "is denied as it is written", true)
				r.Tools.Deny = add(r.Tools.Deny, canonical)
				r.denied = append(r.denied, listed{canonical, name.start, name.end})
			}
		case "confirmation":
			r.confirmation(n)
		default:
			r.unknown(k, "tools.", "tools")
		}
	}
}

// node returns a node in the place of a key, for problems.
func (k *key) node() *node { return &node{start: k.start, end: k.end} }

// add appends a name that is not there yet.
func add(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// unique returns names without those that are there before.
// It changes names, which must be the caller's own.
func unique(names []string) []string {
	seen := make(map[string]bool, len(names))
	return slices.DeleteFunc(names, func(name string) bool {
		before := seen[name]
		seen[name] = true
		return before
	})
}

// ourTool returns the canonical form of a name in a file of ours; outcome says what
// becomes of one that is not known. Where the list is kept as written, a glob with
// classes does what it says: it is no error.
func (r *reader) ourTool(name listed, outcome string, kept bool) (string, bool) {
	canonical, ok := CanonicalTool(name.name)
	if ok {
		return canonical, true
	}
	message := fmt.Sprintf("The tool %s is not known; ", name.name)
	meant := ""
	if r.guesses++; r.guesses <= maxGuesses {
		meant = nearestTool(name.name)
	}
	if meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "correct it, or name an MCP server's tool as mcp.<server>.<tool>."
	}
	message += " It " + outcome + "." // last: an editor may cut a long line
	severity := Error
	if kept && slices.ContainsFunc(toolNames, func(t ToolName) bool {
		ok, _ := path.Match(name.name, t.Name) // one that cannot be read is an error
		return ok
	}) {
		severity = Warning
	}
	r.suggest("agent/tool-unknown", severity, name.start, name.end, meant, message)
	return canonical, false
}

// allowForeign reads another tool's list of allowed tools. A list that maps to
// nothing is no tools.
//
// It waits for the other keys (late), as the file's own servers decide what mcp_a_b means.
func (r *reader) allowForeign(v *node) {
	r.Tools.Given = true
	// Each message says it, since the loss of the last tool is what the author has to see.
	names, outcome := r.words(v, "tools"), "left out"
	if !slices.ContainsFunc(names, func(name listed) bool {
		return len(translate(name.name, r.Dialect,
			r.declared).allow) > 0
	}) {
		outcome += ", so the agent has no tools"
	}
	for _, name := range names {
		t := r.allowTranslated(name, outcome)
		for _, canonical := range t.allow {
			r.allowed = append(r.allowed, listed{canonical, name.start, name.end})
		}
		if t.only {
			r.limited = true
			for _, a := range t.agents {
				r.Subagents = add(r.Subagents, a)
			}
		}
	}
	if len(r.Tools.Allow) == 0 {
		r.at(v, "agent/dialect", Hint, "None of these tools has a counterpart here, so the agent has no tools.")
	}
}

// allowTranslated allows what an entry of another tool's list means here. outcome says what
// becomes of one that is not known.
// It also notes what the entry means for servers and delegation, which
// subagentsAndServers reads when the list is done.
func (r *reader) allowTranslated(name listed, outcome string) translation {
	t := translate(name.name, r.Dialect, r.declared)
	switch {
	case t.partial != "":
		r.report("agent/tool-unknown", Hint, name.start, name.end,
			fmt.Sprintf("%s cannot be limited to %s here, so it is left out.", firstWord(name.name),
				strings.TrimPrefix(name.name, firstWord(name.name))))
	case !t.known:
		r.foreignUnknown(name, outcome)
	case len(t.allow) == 0:
		r.report("agent/tool-unknown", Hint, name.start, name.end,
			fmt.Sprintf("The tool %s has no counterpart here and is left out.", name.name))
	}
	for _, canonical := range t.allow {
		r.Tools.Allow = add(r.Tools.Allow, canonical)
		r.spawn = r.spawn || canonical == "delegate_to_agent"
	}
	r.foreignServerTools(t, name)
	return t
}

// firstWord returns a name without its parentheses.
func firstWord(name string) string {
	word, _, _ := strings.Cut(name, "(")
	return word
}

// denyForeign reads another tool's list of denied tools. What is not known is
// denied by its own name.
func (r *reader) denyForeign(v *node, field string) {
	for _, name := range r.words(v, field) {
		r.deny(name)
	}
}

// deny denies all that can do what another tool's name does.
// What cannot be denied in part is denied altogether.
func (r *reader) deny(name listed) {
	t := translate(name.name, r.Dialect, r.declared)
	switch {
	case t.partial != "":
		r.report("agent/dialect", Hint, name.start, name.end,
			fmt.Sprintf("%s cannot be limited by its arguments here, so it is denied altogether.",
				firstWord(name.name)))
	case !t.known:
		r.foreignUnknown(name, "denied by that name")
	}
	if t.only {
		// Only some subagents are denied, which a list of the others cannot say.
		r.report("agent/dialect", Hint, name.start, name.end,
			"Some subagents cannot be denied here, so delegation is denied altogether.")
	}
	for _, canonical := range t.foreign.deny {
		r.Tools.Deny = add(r.Tools.Deny, canonical)
		r.denied = append(r.denied, listed{canonical, name.start, name.end})
	}
}

// switchTools reads opencode's object of switches. Its own * is the default of
// the others.
//
// A switch that is off denies also where the default is off.
func (r *reader) switchTools(v *node) {
	all := true
	if star := v.get("*"); star != nil && star.kind == boolean {
		all = star.truth
	}
	// Where the default is on, switches can only deny.
	r.Tools.Given = r.Tools.Given || !all
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		name := listed{k.name, k.start, k.end}
		switch {
		case k.name == "*":
		case n.kind != boolean:
			r.reportType(n, "tools."+k.name, "true or false")
		case !n.truth:
			r.deny(name)
		case !all:
			r.allowTranslated(name, "left out")
		}
	}
}

// confirmation reads tools.confirmation, or tool_confirmation, which adds to it.
//
// Names are only ever added, so two spellings of the field together ask for more.
func (r *reader) confirmation(v *node) {
	if !r.shape(v, "tools.confirmation", mapping) {
		return
	}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		switch k.name {
		case "require_confirmation":
			for _, name := range r.strings(n, "tools.confirmation.require_confirmation") {
				// An unknown name stays, so that no question is lost.
				canonical, _ := r.ourTool(name, "asks as it is written", true)
				r.Confirmation.Require = add(r.Confirmation.Require, canonical)
			}
		case "prompt_template":
			if r.stringField(n, "tools.confirmation.prompt_template", &r.Confirmation.Prompt) {
				r.questionText(n)
			}
		case "timeout":
			if d, ok := r.durationField(n, "tools.confirmation.timeout"); ok {
				r.Confirmation.Timeout, r.Confirmation.Given = d, true
			}
		default:
			r.unknown(k, "tools.confirmation.", "tools.confirmation")
		}
	}
}

// mcpField reads mcp, which has servers alone.
func (r *reader) mcpField(v *node) {
	if !r.shape(v, "mcp", mapping) {
		return
	}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		if k.name != "servers" {
			r.unknown(k, "mcp.", "mcp")
			continue
		}
		r.MCPServers = r.namesOrAll(n, "mcp.servers", r.checkServer)
	}
}

// subagentsField adds subagents, each once, with their places as long as they are this
// field's.
// The names of another tool's file become slugs, as the agents' own names do. Places are
// kept only as long as there is one for each name.
func (r *reader) subagentsField(v *node, field string) {
	r.limited = true
	seen := make(map[string]bool)
	for _, name := range r.Subagents {
		seen[name] = true
	}
	// Of a name that is there twice the first place counts.
	at := make(map[string]Range)
	for _, name := range r.namesOrAll(v, field, func(name listed) {
		if _, known := at[name.name]; !known {
			at[name.name] = r.text.span(name.start, name.end)
		}
	}) {
		place, listed := at[name]
		if name != "*" && r.Dialect != Agentls && !validName(name) {
			name = slug(name)
		}
		if name != "" && !seen[name] {
			seen[name] = true
			if listed && len(r.SubagentRanges) == len(r.Subagents) {
				r.SubagentRanges = append(r.SubagentRanges, place)
			}
			r.Subagents = append(r.Subagents, name)
		}
	}
}

// namesOrAll reads a list of names, or * for all; each is looked at first.
// nil stands for a value of a wrong type. look gets each name with its place, also one
// that is there twice.
func (r *reader) namesOrAll(v *node, field string, look func(listed)) []string {
	if v.kind == str && v.text == "*" {
		return []string{"*"}
	}
	var names []string
	// In files of ours commas make no list.
	if r.Dialect == Agentls && v.kind == str {
		r.reportType(v, field, "a list of strings or *")
		return nil
	}
	for _, name := range r.words(v, field) {
		look(name)
		names = append(names, name.name)
	}
	return unique(names)
}

// foreignServers reads MCP servers as other tools have them: names, or whole
// descriptions, which only settings may hold.
// The names count as declared, so that tools of these servers can be told from others.
func (r *reader) foreignServers(k *key, v *node) {
	hint := func(k *key, name string) {
		r.declared = add(r.declared, name)
		r.report("agent/dialect", Hint, k.start, k.end,
			fmt.Sprintf("An agent file cannot start the MCP server %s; describe it in the settings under mcpServers.",
				name))
	}
	switch v.kind {
	case mapping:
		for i := range v.keys {
			hint(&v.keys[i], v.keys[i].name)
		}
	case list:
		for i := range v.items {
			item := &v.items[i]
			r.trimSmartQuotes(item)
			switch item.kind {
			case str:
				r.checkServer(listed{item.text, item.start, item.end})
				r.MCPServers = add(r.MCPServers, item.text)
				r.declared = add(r.declared, item.text)
			case mapping:
				for j := range item.keys {
					hint(&item.keys[j], item.keys[j].name)
				}
			}
		}
	case null:
	default:
		r.reportType(v, k.name, "a list or an object")
	}
}

// subagentsAndServers gives a file of another tool the subagents and servers
// that its list of tools names.
func (r *reader) subagentsAndServers() {
	for _, s := range r.servers {
		if !slices.Contains(r.MCPServers, "*") {
			r.MCPServers = add(r.MCPServers, s)
		}
	}
	// A file that may delegate and names nobody may delegate to all.
	if r.spawn && !r.limited {
		r.Subagents = []string{"*"}
	}
}

// onlySafe leaves only tools that read (permissionMode: plan).
//
// Tools that the list has besides are gone, and no finding says so but the hint at the
// mode.
func (r *reader) onlySafe() {
	if !r.readOnly {
		return
	}
	safe := safeTools()
	if r.Tools.Given {
		safe = slices.DeleteFunc(safe, func(name string) bool {
			return !slices.ContainsFunc(r.Tools.Allow, func(pattern string) bool { return MatchTool(pattern, name) })
		})
	}
	r.Tools.Allow, r.Tools.Given = safe, true
}

// conflicts reports tools that are allowed and denied.
// Names are compared in their canonical spelling; a pattern is only compared as a whole
// with what is denied.
func (r *reader) conflicts() {
	// No honest file has so many of both, and each is compared with each.
	if len(r.allowed) == 0 || len(r.denied) == 0 || len(r.allowed)*len(r.denied) > math.MaxUint16 {
		return
	}
	for _, a := range r.allowed {
		for _, d := range r.denied {
			if a.name == d.name || (!strings.ContainsAny(a.name, "*?") && MatchTool(d.name, a.name)) {
				r.report("agent/tool-conflict", Warning, a.start, a.end,
					fmt.Sprintf("The tool %s is also denied, which counts; remove it from one list.", a.name))
				break
			}
		}
	}
}
