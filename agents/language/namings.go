package language

// The places of one file that name one agent.

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/internal/fault"
)

// naming is one place of a file that names an agent.
type naming struct {
	definition.Span        // of the name alone
	name            string // "name", or "folder:name" where the folder stands before Span
}

// namings returns the places where a file names an agent by a name, in the order of the
// text, but for its own field name. It goes by the tree of the text and not by the
// definition, so that files with errors, and of other tools, have places too.
func namings(f *File, name string) []naming {
	var found []naming
	add := func(start, end int, as string) {
		found = append(found, naming{definition.Span{Start: start, End: end}, as})
	}
	if root := f.Tree.Root; root != nil {
		for i, key := range root.Keys {
			v := &root.Items[i]
			switch key.Name {
			case "handoffs":
				for j := range v.Items {
					whole(f, v.Items[j].Get("to"), name, add)
					whole(f, v.Items[j].Get("agent"), name, add)
				}
			case "subagents", "agents":
				for _, s := range v.Strings() {
					if v.Kind == definition.String {
						parts(f, s, name, add)
					} else {
						whole(f, s, name, add)
					}
				}
			case "tools", "tool_confirmation", "disallowedTools", "disallowed-tools", "disallowed_tools":
				toolNamings(f, v, name, add)
			case "graph":
				graphNamings(f, v, name, add)
			case "guardrails":
				guardNamings(f, v, name, add)
			case "query", "systemPrompt", "system_prompt", "prompt":
				if v.Kind == definition.String {
					prose(f.Text[v.Start:v.End], v.Start, name, add)
				}
			case "initial_messages":
				for j := range v.Items {
					if s := v.Items[j].Get("text"); s != nil && s.Kind == definition.String {
						prose(f.Text[s.Start:s.End], s.Start, name, add)
					}
				}
			}
		}
	}
	prose(f.Text[f.Tree.Body.Start:f.Tree.Body.End], f.Tree.Body.Start, name, add)
	slices.SortFunc(found, func(a, b naming) int { return a.Start - b.Start })
	return found
}

// whole adds a scalar that is the name, or folder:name. In a file of another tool it may
// be the name as that tool shows it. A scalar with escapes, or over lines, is left out:
// its place cannot be edited.
func whole(f *File, v *definition.Value, name string, add func(int, int, string)) {
	if v == nil || v.Kind == definition.List || v.Kind == definition.Mapping {
		return
	}
	if folder, ok := strings.CutSuffix(v.Text, ":"+name); ok && folder != "" {
		if s := scalarSpan(f, v); f.Text[s.Start:s.End] == v.Text {
			add(s.End-len(name), s.End, v.Text)
		}
		return
	}
	if v.Text != name && (f.Tree.Dialect == definition.Agentls || makeSlug(v.Text) != makeSlug(name)) {
		return
	}
	start, end := v.Start, v.End
	if end-start >= 2 && (f.Text[start] == '"' || f.Text[start] == '\'') && f.Text[end-1] == f.Text[start] {
		start, end = start+1, end-1
	}
	if end > start && !strings.ContainsAny(f.Text[start:end], "\n\r\"'|>") {
		add(start, end, name)
	}
}

// parts adds the name where it is a word of a scalar.
func parts(f *File, v *definition.Value, name string, add func(int, int, string)) {
	for at, word := range words(f.Text[v.Start:v.End]) {
		if word == name {
			add(v.Start+at, v.Start+at+len(word), name)
		}
	}
}

// toolNamings adds the tools of a value that lead to the agent: transfer_to_name,
// and Task(name) of Claude Code.
func toolNamings(f *File, v *definition.Value, name string, add func(int, int, string)) {
	switch v.Kind {
	case definition.String:
		text := f.Text[v.Start:v.End]
		depth := 0 // where the last list of agents, as in Task(a, b), ends
		for at, word := range words(text) {
			if to, ok := transferTarget(word); ok && to == name {
				add(v.Start+at+len(word)-len(to), v.Start+at+len(word), name)
			}
			switch {
			case word == "Task" || word == "Agent":
				if rest := text[at+len(word):]; strings.HasPrefix(rest, "(") {
					if shut := strings.IndexByte(rest, ')'); shut > 0 {
						depth = at + len(word) + shut
					}
				}
			case at < depth && word == name:
				add(v.Start+at, v.Start+at+len(word), name)
			}
		}
	case definition.List, definition.Mapping:
		for i := range v.Items {
			toolNamings(f, &v.Items[i], name, add)
		}
	}
}

// graphNamings adds the agents of a graph's nodes: agent: and graph:.
func graphNamings(f *File, v *definition.Value, name string, add func(int, int, string)) {
	for i := range v.Items {
		if v.Kind == definition.Mapping && (v.Keys[i].Name == "agent" || v.Keys[i].Name == "graph") &&
			v.Items[i].Kind == definition.String {
			whole(f, &v.Items[i], name, add)
			continue
		}
		graphNamings(f, &v.Items[i], name, add)
	}
}

// guardNamings adds the agents that guards ask: validator: agent:name.
func guardNamings(f *File, v *definition.Value, name string, add func(int, int, string)) {
	for i := range v.Items {
		item := &v.Items[i]
		switch {
		case item.Kind == definition.Mapping:
			guardNamings(f, item, name, add)
		case item.Kind == definition.String && item.Text == "agent:"+name:
			if s := scalarSpan(f, item); f.Text[s.Start:s.End] == item.Text {
				add(s.End-len(name), s.End, name)
			}
		}
	}
}

// only is the one agent that mentions are looked for of.
type only string

// Has reports whether a name means the agent, with whatever folder before it.
func (o only) Has(name string) bool {
	return name == string(o) || strings.HasSuffix(name, ":"+string(o))
}

// Unknown is the error for any other name.
func (o only) Unknown(name string) error {
	return fault.New(fault.NotFound, "language.mention", "there is no agent %s; correct the name", name)
}

// prose adds the places of a prompt that mention the agent, as package mention reads them,
// and its tool transfer_to_name. at is the offset of the text in the file.
func prose(text string, at int, name string, add func(int, int, string)) {
	if !strings.Contains(text, name) {
		return
	}
	if strings.Contains(text, "@") {
		// A word before it: in a prompt, no @ is a command.
		const before = "- "
		if parsed, err := mention.Parse(before+text, only(name)); err == nil {
			for _, m := range parsed.Mentions {
				end := at + m.End - len(before)
				add(end-len(name), end, m.Name)
			}
		}
	}
	for _, mark := range [...]string{"transfer", "handoff"} {
		for from := 0; ; {
			i := strings.Index(text[from:], mark)
			if i < 0 {
				break
			}
			start := from + i
			from = start + len(mark)
			if start > 0 && nameByte(text[start-1]) {
				continue
			}
			end := wordEnd(text, start)
			for end > start && (text[end-1] == '-' || text[end-1] == '_') {
				end--
			}
			if to, ok := transferTarget(text[start:end]); ok && to == name {
				add(at+end-len(name), at+end, name)
			}
		}
	}
}

// commands returns the places of a document whose lines call an agent by a name, as
// [InlineCommands] finds them where a person may call it, usable at the moment or not.
func commands(d Document, name string) []naming {
	if !strings.Contains(d.Text, "@") || !strings.Contains(d.Text, name) {
		return nil
	}
	var found []naming
	for c := range styleOf(d.LanguageID).candidates(d.Text) {
		p, err := mention.Parse(d.Text[c.text.Start:c.text.End], only(name))
		if err == nil && p.Agent != "" && p.Prompt != "" {
			end := c.text.Start + len("@") + len(p.Agent)
			found = append(found, naming{definition.Span{Start: end - len(name), End: end}, p.Agent})
		}
	}
	return found
}
