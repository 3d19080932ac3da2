package exchange

// Export: an agent of ours for another tool.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// Export returns an agent's file in another tool's format. The path is where the
// agent's file lies, as in [Import]; one that is in another tool's format itself
// is imported first, and returned as it is for that very tool.
//
// The result may do no more there than the agent may here, as far as our table
// of tools can tell. Errors: fault.Invalid for an agent that is not usable, and
// for an imported one whose original cannot be changed in place; fault.Denied,
// together with what was made, for a restriction that the other tool cannot
// express: with o.Force it is left out, and listed as a loss that is an error.
func Export(path string, text []byte, to definition.Dialect, o Options) (*Exported, error) {
	if to == definition.Agentls || Folder(to) == "" {
		return nil, fault.New(fault.Invalid, "exchange.export",
			"agents are exported to claude, copilot, opencode or gemini-cli, not to %q", to)
	}
	d := definition.Parse(definition.Source{Path: path, Scope: definition.Project, Data: text, Dialect: o.From})
	if ok, why := d.Usable(); !ok {
		return nil, fault.New(fault.Invalid, "exchange.export", "%s, line %d: %s", base(path),
			why.Range.Start.Line+1, why.Message)
	}
	var loss []Loss
	switch d.Dialect {
	// The very bytes: a file in the tool's own format needs no translation, which could
	// only lose something.
	case to:
		out := &Exported{File: base(path), Data: slices.Clone(text)}
		if t, ok := definition.ReadTree(path, string(text)); ok {
			out.Loss = warnUnseen(d, t)
		}
		return out, nil
	case definition.Agentls:
	default:
		im, err := Import(path, text, Options{From: d.Dialect, Name: o.Name, Model: o.Model})
		if err != nil {
			return nil, err
		}
		path, text, loss = im.Name+".md", im.Text, im.Loss
		d = definition.Parse(source(path, string(text), definition.Agentls))
	}
	t, ok := definition.ReadTree(path, string(text))
	if !ok {
		return nil, fault.New(fault.Invalid, "exchange.export", "the front-matter of %s cannot be read", base(path))
	}
	x := &exporter{Definition: d, tree: t, to: to, kept: originalOf(t), loss: loss}
	if x.kept != nil {
		if t, ok := definition.ReadTree("", x.kept.original("")); ok {
			x.came = t.Root
		}
	}
	if err := x.write(); err != nil {
		return nil, err
	}
	return x.close(o.Force)
}

// exporter is one export. It is used once: write, then close.
type exporter struct {
	*definition.Definition
	tree *definition.Tree
	to   definition.Dialect
	kept *original         // nil for an agent that was not imported
	came *definition.Value // the front-matter of kept, nil where there is none or it cannot be read

	// The front-matter that is made, without what only the original has.
	out entries
	// The name of the new file.
	file string
	// Its whole text.
	data string
	loss []Loss
	was  *definition.Definition // the agent as it was imported; nil unless it returns
	ever []more                 // what the original might do more than its import, from the first
}

// back reports whether the agent returns to where it came from.
func (x *exporter) back() bool { return x.kept != nil && x.kept.from == x.to }

// body returns the prompt as the other file's text.
func (x *exporter) body() string {
	body := x.tree.Text[x.tree.Body.Start:]
	if strings.TrimSpace(body) == "" {
		return x.Prompt + "\n"
	}
	return body
}

// write makes the file. For a tool that the agent does not come from it is made anew.
// Where it returns, what would be exported of the unchanged import is compared with
// what is exported now, and only the keys that differ are put into the original's
// front-matter: all others keep their bytes.
// It fills out, file and data, and for an agent that returns also was and ever.
func (x *exporter) write() error {
	x.file = fileOf(x.Name, x.to)
	var loss []Loss
	x.out, loss = fresh(x.Definition, x.tree, x.to, x.back())
	if !x.back() {
		x.loss = append(x.loss, loss...)
		x.data = x.out.file(x.body(), "\n")
		return nil
	}
	was, d, err := x.before()
	if err != nil {
		return err
	}
	x.was = d
	// What the original may do more than its import there is no news to whoever has the
	// original already: close warns of it, and refuses only what is new.
	x.ever = growth(d, definition.Parse(source(x.kept.file, x.kept.original("x"), x.to)))
	front, err := splice(x.kept.file, x.kept.front, was, x.out)
	if err != nil {
		return err
	}
	// The losses of fresh are about tools alone: where that key stays as it was, nothing is lost.
	if slices.ContainsFunc(changedKeys(was, x.out), func(key string) bool { return alike(key, "tools") }) {
		x.loss = append(x.loss, loss...)
	}
	// A new name gets a new file; the same agent goes back into its own.
	if x.Name == d.Name && x.kept.file != "" {
		x.file = x.kept.file
	}
	body := x.tree.Text[x.tree.Body.Start:]
	if definition.Parse(source(x.kept.file, x.kept.original(body), x.to)).Prompt != x.Prompt {
		body = x.body() // the original has it not in its front-matter
	}
	again := *x.kept
	again.front = front
	x.data = again.original(body)
	return nil
}

// before returns the front-matter that the agent would be exported with had
// nobody changed it since its import, and the agent as it was then.
//
// The model is taken from what the import noted, and not read again: which models there
// are may have changed since.
func (x *exporter) before() (entries, *definition.Definition, error) {
	front := x.kept.original("x")
	if t, _ := definition.ReadTree("", front); front[t.Front.Start:t.Front.End] != x.kept.front {
		return nil, nil, fault.New(fault.Invalid, "exchange.export",
			"what %s keeps of its original (imported.front) is no front-matter any more; undo its change, or remove imported", x.Name)
	}
	im, unnamed, err := x.again()
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "exchange.export",
			"what %s keeps of its original (imported.front) cannot be read any more: %w", x.Name, err)
	}
	d := definition.Parse(source(im.Name+".md", string(im.Text), definition.Agentls))
	t, ok := definition.ReadTree("", string(im.Text))
	if !ok {
		return nil, nil, fault.New(fault.Internal, "exchange.export",
			"the translation of %s cannot be read", x.kept.file)
	}
	// What its model was read as depends on what was configured then.
	if d.Model, d.FallbackModels = "inherit", nil; len(x.kept.models) > 0 {
		d.Model, d.FallbackModels = x.kept.models[0], x.kept.models[1:]
	}
	was, _ := fresh(d, t, x.to, true)
	if unnamed {
		d.Name = ""
		was = slices.DeleteFunc(was, func(e entry) bool { return e.key == "name" })
	}
	return was, d, nil
}

// again imports the original with the prompt of today. Where its own name cannot
// be read, unnamed is true and today's stands for it.
func (x *exporter) again() (im *Imported, unnamed bool, err error) {
	// The prompt may have moved from below the front-matter to systemPrompt.
	for _, body := range [...]string{x.tree.Text[x.tree.Body.Start:], x.body()} {
		for _, name := range [...]string{"", x.Name} {
			im, err = Import(x.kept.file, []byte(x.kept.original(body)), Options{From: x.kept.from, Name: name})
			if err == nil {
				return im, name != "", nil
			}
		}
	}
	return nil, false, err
}

// close reads the result again, and lists what it does not say. It trusts nothing that
// write did: a key that nobody wrote, as one that a name with a line end would make, is
// fault.Internal, and power that the agent has not here is fault.Denied unless force.
// What the original itself had more than its import (ever) returns with a warning.
func (x *exporter) close(force bool) (*Exported, error) {
	d := definition.Parse(source(x.file, x.data, x.to))
	if ok, why := d.Usable(); !ok {
		return nil, fault.New(fault.Invalid, "exchange.export", "%s cannot be written for %s: %s", x.Name,
			Title(x.to), why.Message)
	}
	t, ok := definition.ReadTree(x.file, x.data)
	if !ok {
		return nil, fault.New(fault.Internal, "exchange.export",
			"what was written of %s for %s cannot be read", x.Name, Title(x.to))
	}
	// The tool's own parser sees more keys than were written where a value broke out of its
	// line. The original's are not among those that were written, and are known.
	for _, k := range t.Root.Keys {
		if _, written := x.out.get(definition.YAMLText(k.Name)); !written && !(x.back() && x.original(k.Name) != nil) {
			return nil, fault.New(fault.Internal, "exchange.export",
				"what was written of %s for %s has a key %s that nobody wrote", x.Name, Title(x.to), k.Name)
		}
	}
	// The agent counts with what its tools cover: choose may have named a tool that gives it
	// nothing new.
	var found []more
	for _, m := range growth(covering(x.Definition), d) {
		if slices.Contains(x.ever, m) {
			x.loss = append(x.loss, Loss{m.key, fmt.Sprintf("It returns as it was: there the agent may have %s.",
				m.message), definition.Warning})
			continue
		}
		found = append(found, m)
		x.loss = append(x.loss, Loss{m.key, fmt.Sprintf("%s cannot be kept from it: there the agent may have %s.",
			Title(x.to), m.message), definition.Error})
	}
	x.loss = append(x.loss, warnUnseen(d, t)...)
	x.losses(d)
	out := &Exported{File: x.file, Data: []byte(x.data), Loss: x.loss}
	if len(found) > 0 && !force {
		messages := make([]string, len(found))
		for i, m := range found {
			messages[i] = m.message
		}
		return out, fault.New(fault.Denied, "exchange.export",
			"%s cannot express what restricts %s; there it would have %s; remove the restriction, or leave it out with --drop-restrictions", Title(x.to), x.Name, strings.Join(messages, "; "))
	}
	return out, nil
}

// binding are the keys without which an agent does something else.
var binding = [...]string{"handoffs", "guardrails", "graph", "inputs", "output"}

// losses lists the keys of the agent's file without effect in what was made. Each key
// has to be in one of the cases, or its loss is not told; unchanged ones of an agent
// that returns are none.
func (x *exporter) losses(d *definition.Definition) {
	lose := func(key string, severity definition.Severity, format string, args ...any) {
		x.loss = append(x.loss, Loss{key, fmt.Sprintf(format, args...), severity})
	}
	none := func(key string, severity definition.Severity) {
		lose(key, severity, "%s has no counterpart for %s.", Title(x.to), key)
	}
	index := definition.NewIndex(x.tree.Text)
	unknown := make(map[string]bool)
	for _, p := range x.Problems {
		if p.Code == "agent/unknown-field" {
			unknown[keyOf(x.tree, index, p)] = true
		}
	}
	// What has a counterpart there is judged by what the result means when it is read again.
	unchanged := x.sameKeys(d)
	for i, k := range x.tree.Root.Keys {
		key := k.Name
		if same, plain := unchanged[key]; plain {
			if !same {
				none(key, definition.Hint)
			}
			continue
		}
		switch key {
		case "model":
			if _, said := x.out.get("model"); x.Model != "inherit" && !said &&
				(x.was == nil || x.was.Model != x.Model) {
				lose(key, definition.Hint, "%s has no model %s, so the agent gets the one that is chosen there.",
					Title(x.to), x.Model)
			}
		case "run":
			if x.Mode != definition.Chat && (x.was == nil || x.was.Mode != x.Mode) {
				lose(key, definition.Hint, "%s has no counterpart for run.mode: %s.", Title(x.to), x.Mode)
			}
		case "tools":
			if allow := x.tree.Root.Items[i].Get("allow"); x.Dialect == definition.Agentls && allow != nil {
				if names := meaningless(x.Definition, x.tree, allow); len(names) > 0 {
					lose(key, definition.Warning, "Not known, so left out: %s.", strings.Join(names, ", "))
				}
			}
		// Where the original has the same value, that returns with it, and nothing is lost.
		case "triggers", "memory", "tracing", "initial_messages", "handoffs", "guardrails", "graph", "inputs", "output":
			if v := x.original(key); x.back() && v != nil && flow(v) == flow(x.tree.Root.Get(key)) {
				continue
			}
			severity := definition.Hint
			if slices.Contains(binding[:], key) {
				severity = definition.Warning
			}
			none(key, severity)
		// A field that nobody here knows returns to a tool whose file had it.
		default:
			if unknown[key] && (x.original(key) == nil || !x.back()) {
				lose(key, definition.Hint, "The field %s is not known and is left out.", key)
			}
		}
	}
	if c := x.Confirmation; c.Prompt != "" || c.Given {
		if d.Confirmation.Prompt != c.Prompt || d.Confirmation.Timeout != c.Timeout {
			lose("tools", definition.Hint, "%s has no counterpart for what a question says and how long it waits.",
				Title(x.to))
		}
	}
	if x.kept != nil && !x.back() {
		lose("imported", definition.Hint,
			"What the file kept of its original (%s) is left out; export to %s to have it again.",
			x.kept.file, Title(x.kept.from))
	}
}

// sameKeys says of plain keys whether what was made means the same by them.
//
// Keys that it does not have are judged elsewhere in losses.
func (x *exporter) sameKeys(d *definition.Definition) map[string]bool {
	fallbacks := x.was != nil && slices.Equal(x.was.FallbackModels, x.FallbackModels)
	return map[string]bool{
		"title": d.Title == x.Title, "displayName": d.Title == x.Title,
		"fallback_models": fallbacks, "fallbackModels": fallbacks,
		"color": d.Color == x.Color, "version": d.Version == x.Version, "query": d.Query == x.Query,
		"temperature": same(d.Temperature, x.Temperature), "temp": same(d.Temperature, x.Temperature),
		"top_p": same(d.TopP, x.TopP), "topP": same(d.TopP, x.TopP),
		"thinking_budget": same(d.ThinkingBudget, x.ThinkingBudget),
		"thinkingBudget":  same(d.ThinkingBudget, x.ThinkingBudget),
		"thinking_level":  d.ThinkingLevel == x.ThinkingLevel, "thinkingLevel": d.ThinkingLevel == x.ThinkingLevel,
		"user_invocable": d.UserInvocable == x.UserInvocable, "routable": d.Routable == x.Routable,
		"memory_files": d.MemoryFiles == x.MemoryFiles,
	}
}

// original returns a key's value in the file that the agent came from, or nil.
func (x *exporter) original(key string) *definition.Value { return x.came.Get(key) }

// same reports whether two numbers that need not be there are the same.
func same[T int | float64](a, b *T) bool { return a == b || (a != nil && b != nil && *a == *b) }
