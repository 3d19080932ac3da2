package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// form asks for a new agent, in the order of spec 1.6. What flags have said is
// there as an answer that can be changed.
type form struct {
	w    *wanted
	conn *connection

	tools     []wire.ResolvedTool // all that there are, but for what the template denies
	tiers     map[string]explanation.Tool
	denied    []string // by the template: names and globs
	listed    bool     // the template or a flag says which tools it may use
	settled   []string // the servers that its list of tools speaks for already
	delegates bool     // the template has subagents
	inherited string   // the model of an agent that names none
	servers   []string // of the settings
	agents    []string // that it could hand over to

	// The answers.
	name, title, description, model, scope, prompt string
	allow, mcp                                     []string
	extra                                          extra

	before answersBefore
	width  int // of what is shown
}

// answersBefore is what the template says: what is left as it was is not written
// into the file again.
type answersBefore struct {
	description, model string
	allow, mcp         []string       // all tools that it may use, also where it does not say which
	keywords, examples string         // as they are shown
	has                map[string]any // its front-matter
}

// orTemplate says what an answer to --extended that is left as it is means for a
// field: none, or what the template has.
func (b *answersBefore) orTemplate(field, none string) string {
	if b.has[field] != nil {
		return "as in the template"
	}
	return none
}

// extra are the answers to what --extended asks.
type extra struct {
	keywords, examples, schema, onFailure, memory, graph string
	handoffs                                             []string
	traced                                               bool
}

// newForm looks up what can be chosen.
func newForm(ctx context.Context, conn *connection, config daemon.Config, w *wanted) (*form, error) {
	f := &form{w: w, conn: conn, name: w.Name, title: w.title, prompt: w.Prompt}
	folder, err := here()
	if err != nil {
		return nil, err
	}
	t, err := template.Find(templatesOf(config.Home), cmp.Or(w.Template, "blank"))
	if err != nil {
		return nil, err
	}
	d := definition.Parse(definition.Source{Scope: definition.Global, Data: t.Text})
	f.before = answersBefore{model: d.Model}
	if w.Template != "" {
		f.before.description = d.Description
	}
	var main wire.GetResult
	if err := conn.Call(ctx, wire.MethodGet, &wire.GetParams{Name: "main"}, &main); err != nil {
		return nil, err
	}
	f.tools, f.inherited = main.ResolvedTools, main.ResolvedModel
	var explained struct {
		Tools []explanation.Tool `json:"tools"`
	}
	if err := conn.Call(ctx, wire.MethodExplain, &wire.ExplainParams{Name: "main"}, &explained); err != nil {
		return nil, err
	}
	f.tiers = map[string]explanation.Tool{}
	for _, t := range explained.Tools {
		f.tiers[t.Name] = t
	}
	var list wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return nil, err
	}
	for _, a := range list.Agents {
		if a.State != "shadowed" && a.State != "invalid" && a.Scope != "system" && !slices.Contains(f.agents, a.Name) {
			f.agents = append(f.agents, a.Name)
		}
	}
	trusted, _, _ := trustOf(config).Trusted(folder) // records that cannot be read trust nothing
	settings := workspace.LoadSettings(ctx, workspace.SettingsFiles{User: filepath.Join(config.Home, "settings.json"), Folder: folder, Trusted: trusted || config.Trust})
	for name := range settings.MCPServers {
		f.servers = append(f.servers, name)
	}
	// Of a folder that is not trusted none starts, and an agent may name those that
	// its settings describe.
	if !trusted && !config.Trust {
		for name := range workspace.LoadSettings(ctx, workspace.SettingsFiles{Folder: folder, Trusted: true}).MCPServers {
			if !slices.Contains(f.servers, name) {
				f.servers = append(f.servers, name)
			}
		}
	}
	slices.Sort(f.servers)
	hidden := f.begin(d)
	f.beginMore(d)
	f.scope = cmp.Or(w.Scope, settings.Agents.DefaultScope.Value, "project")
	f.description, f.model, f.allow, f.mcp = f.before.description, f.before.model, slices.Clone(f.before.allow), slices.Clone(f.before.mcp)
	if _, given := w.Fields["description"]; given {
		f.description = w.description
	}
	if _, given := w.Fields["model"]; given {
		f.model = w.model
	}
	if _, given := w.Fields["tools"]; given {
		f.allow, f.listed = f.usable(trimmed(w.tools)), true
	}
	if _, given := w.Fields["mcp"]; given {
		f.mcp = f.each(trimmed(w.mcp))
	}
	if f.listed {
		f.settled = slices.Clone(f.mcp)
	}
	if f.model == "inherit" {
		f.model = ""
	}
	// What flags say, and what the form does not show of the template, is refused
	// before it asks.
	maps.Copy(hidden, w.Fields)
	_, err = f.tryPart(ctx, wire.CreateParams{Template: w.Template, Prompt: w.Prompt, Fields: hidden})
	return f, err
}

// ask shows the questions and puts the answers into the parameters. A person who
// leaves has made nothing: the error is exit 130.
func (f *form) ask(ctx context.Context, std streams) error {
	// Of one width, since huh cannot show a field in a window that became too narrow
	// for it.
	columns, _, _ := term.GetSize(int(std.in.Fd())) // asked before
	f.width = min(max(columns, 40), 100)
	groups := append([]*huh.Group{f.basics(ctx)}, f.lists(ctx)...)
	if f.w.Template == "" {
		groups = append(groups, huh.NewGroup(huh.NewText().Title("System prompt").Lines(8).
			Description("What it is, what it does, and what it must not do. Empty: written later, with agentls edit.").Value(&f.prompt)))
	}
	if f.w.extended {
		groups = append(groups, f.more(ctx)...)
	}
	in, out := io.Reader(std.in), std.err
	if file, ok := out.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		out = std.in // what it writes goes to a file
	}
	// Without its own handler of signals: ctx ends with ours, and beside it theirs
	// would wait for a form that has ended.
	questions := huh.NewForm(groups...).WithProgramOptions(tea.WithoutSignalHandler()).WithInput(in).WithOutput(out).WithWidth(f.width).WithTheme(huh.ThemeFunc(huh.ThemeBase16))
	err := questions.RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil {
		fmt.Fprintln(std.err, "Nothing was written.")
		return exit{exitInterrupted}
	}
	if err != nil {
		return err
	}
	return f.put()
}

// shows reports whether a terminal can show a form: one that has a size, and can
// go back and write anew.
func (t *terminal) shows() bool {
	columns, lines, err := term.GetSize(int(t.in.Fd()))
	return t.there && err == nil && columns > 0 && lines > 0 && os.Getenv("TERM") != "dumb"
}

// basics asks for name, title, description, model and scope.
func (f *form) basics(ctx context.Context) *huh.Group {
	return huh.NewGroup(
		huh.NewInput().Title("Name").Description("Lower-case words with dashes: it is what you run it by.").Placeholder("code-fixer").Value(&f.name).
			Validate(func(name string) error { return f.checkName(ctx, name) }),
		huh.NewInput().Title("Title").Description("What people see. Empty: made from the name, as in Code Fixer.").Value(&f.title),
		huh.NewInput().Title("Description").Description("What it is for, in a sentence: people, routers and other agents decide by it.").Value(&f.description),
		huh.NewInput().Title("Model").Description(modelsInWords()).Placeholder(fmt.Sprintf("inherit (now %s)", tool.Escape(f.inherited))).Suggestions(models()).Value(&f.model).
			Validate(func(name string) error { return f.checkModel(ctx, name) }),
		huh.NewSelect[string]().Title("Scope").Options(huh.NewOption("project: this folder's, in .gemini/agents", "project"), huh.NewOption("global: yours, in every folder", "global")).Value(&f.scope).
			Validate(func(scope string) error {
				_, err := f.try(ctx, &wire.CreateParams{Name: f.name, Scope: scope, Force: f.w.Force})
				return f.fitted(err)
			}),
	)
}

// checkName refuses a name that will not do, or that is taken.
func (f *form) checkName(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("a name is needed")
	}
	// Here, and not where the scope is chosen: the form does not go back from there
	// while it is refused.
	_, err := f.try(ctx, &wire.CreateParams{Name: name, Scope: f.scope, Force: f.w.Force})
	return f.fitted(err)
}

// checkModel refuses a model that nobody knows.
func (f *form) checkModel(ctx context.Context, name string) error {
	if name = strings.TrimSpace(name); name == "" {
		return nil
	}
	r, err := f.tryPart(ctx, wire.CreateParams{Fields: map[string]any{"model": name}})
	for _, p := range r.Problems {
		if p.Code == "agent/model-unknown" {
			return f.fitted(errors.New(p.Message))
		}
	}
	return f.fitted(err)
}

// tryPart asks the daemon what an agent would be made of a part of the answers.
func (f *form) tryPart(ctx context.Context, part wire.CreateParams) (wire.CreateResult, error) {
	const name = "any-name"
	part.Name, part.Scope, part.Force = name, f.scope, true
	r, err := f.try(ctx, &part)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "the agent "+name+" would not be valid: "))
	}
	return r, err
}

// checkFields refuses what cannot be in a file, whatever the other answers are.
func (f *form) checkFields(ctx context.Context, fields map[string]any) error {
	_, err := f.tryPart(ctx, wire.CreateParams{Fields: fields})
	return f.fitted(err)
}

// try asks the daemon what would be made.
func (f *form) try(ctx context.Context, p *wire.CreateParams) (r wire.CreateResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkIn)
	defer cancel()
	p.DryRun = true
	err = f.conn.Call(ctx, wire.MethodCreate, p, &r)
	return r, err
}

// fitted is an error as huh shows it, behind a mark and as much as a line has.
func (f *form) fitted(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(wrapped(err.Error(), f.width-4))
}

// wrapped breaks a text into lines of so many columns, between its words.
func wrapped(text string, columns int) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		word = tool.Escape(word)
		w := columnsOf(word)
		switch {
		case at == 0:
		case at+1+w > columns:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += w
	}
	return b.String()
}

// checkIn is how long a person waits to hear whether a name will do.
const checkIn = 20 * time.Second

// models returns what can be typed as a model.
func models() []string {
	names := []string{"inherit", "auto"}
	for _, e := range writers() {
		names = append(append(names, e.Aliases...), e.ID)
	}
	return names
}

// writers returns the models that an agent can have: completion offers the same.
func writers() []model.Entry {
	return slices.DeleteFunc(slices.Clone(model.NewTable(time.Now).Entries()), func(e model.Entry) bool { return e.MaxOutput == 0 && e.Window > 0 })
}

// modelsInWords says what can be typed as a model, without the ids that have an
// alias.
func modelsInWords() string {
	var names []string
	for _, e := range writers() {
		names = append(names, e.Aliases...)
	}
	return "Empty: as main's. Or " + strings.Join(names, ", ") + ", auto, or an id."
}

// more asks what --extended adds.
func (f *form) more(ctx context.Context) []*huh.Group {
	f.extra.onFailure = "reject"
	groups := []*huh.Group{
		huh.NewGroup(
			huh.NewInput().Title("Trigger keywords").Description("Words that route a request to it, by commas. Empty: "+f.emptied("keywords", f.before.keywords)+".").Value(&f.extra.keywords),
			huh.NewText().Title("Trigger examples").Description("Sentences that it is for, one a line. Empty: "+f.emptied("examples", f.before.examples)+".").Lines(4).Value(&f.extra.examples),
		),
		huh.NewGroup(f.checklist("Handoffs", "Whom it may hand a conversation over to. None ticked: "+f.before.orTemplate("handoffs", "nobody")+".", &f.extra.handoffs, huh.NewOptions(append([]string{"user"}, f.agents...)...)...)),
		huh.NewGroup(
			huh.NewText().Title("Guardrail").Description("A JSON Schema that its result must have. Empty: "+f.before.orTemplate("guardrails", "none")+".").Lines(4).Value(&f.extra.schema).
				Validate(func(text string) error { return f.checkObject(ctx, "guardrails", "output_schema", text) }),
			huh.NewSelect[string]().Title("When the result does not have it").Value(&f.extra.onFailure).Options(
				huh.NewOption("reject: the run ends", "reject"), huh.NewOption("repair: the model mends it, twice at most", "repair"), huh.NewOption("warn: it goes on", "warn")),
		),
		huh.NewGroup(
			huh.NewSelect[string]().Title("Memory").Description("What it keeps between sessions.").Value(&f.extra.memory).Options(
				huh.NewOption(f.before.orTemplate("memory", "off"), ""), huh.NewOption("by key", "key_value"), huh.NewOption("by meaning", "vector")),
			huh.NewText().Title("Graph").Description("Several agents as one: nodes, edges and an entry, as JSON. Empty: "+f.before.orTemplate("graph", "none")+".").Lines(4).Value(&f.extra.graph).
				Validate(func(text string) error { return f.checkObject(ctx, "graph", "", text) }),
			huh.NewConfirm().Title("Trace its runs?").Affirmative("Yes").Negative(asWord(f.before.orTemplate("tracing", "as the settings say"))).Value(&f.extra.traced),
		),
	}
	return groups
}

// checkObject refuses a text that is no JSON object, and one that cannot be the
// value of a field, or of its key.
func (f *form) checkObject(ctx context.Context, field, key, text string) error {
	o, err := object(text)
	if o == nil || err != nil {
		return err
	}
	fields := map[string]any{field: o}
	if key != "" {
		fields[field] = map[string]any{key: o}
	}
	return f.checkFields(ctx, fields)
}

// object reads a JSON object; an empty text is none at all.
func object(text string) (map[string]any, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil || o == nil {
		return nil, errors.New("this is no JSON object")
	}
	return o, nil
}

// put makes parameters of the answers.
func (f *form) put() error {
	p := &f.w.CreateParams
	p.Name, p.Scope, p.Prompt = f.name, f.scope, strings.TrimSpace(f.prompt)
	fields := map[string]any{}
	if title := strings.TrimSpace(f.title); title != "" {
		fields["title"] = title
	}
	switch description := strings.TrimSpace(f.description); {
	case description != "" && description != f.before.description:
		fields["description"] = description
	case description == "":
		fields["description"] = nil
	}
	if m := cmp.Or(strings.TrimSpace(f.model), "inherit"); m != f.before.model {
		fields["model"] = m
	}
	_, given := f.w.Fields["tools"]
	besides := f.besides()
	if given || !sameNames(f.allow, f.before.allow) || f.listed && len(besides) > 0 {
		fields["tools"] = map[string]any{"allow": slices.Concat([]string{}, f.allow, besides)}
	}
	switch said, given := f.w.Fields["mcp"]; {
	case given && sameNames(f.mcp, f.each(trimmed(f.w.mcp))):
		fields["mcp"] = said // * is also what will be configured later
	case given || !sameNames(f.mcp, f.before.mcp):
		fields["mcp"] = map[string]any{"servers": append([]string{}, f.mcp...)}
	}
	p.Fields = fields
	if !f.w.extended {
		return nil
	}
	return f.putMore(fields)
}

// beginMore takes from a template what --extended shows of it: the lists of its
// triggers that can be typed as they are.
func (f *form) beginMore(d *definition.Definition) {
	f.before.has = d.FrontMatter()
	if list, ok := texts(f.before.has, "triggers", "keywords"); ok && slices.Equal(keywordsOf(strings.Join(list, ", ")), list) {
		f.before.keywords = strings.Join(list, ", ")
	}
	if list, ok := texts(f.before.has, "triggers", "examples"); ok && slices.Equal(examplesOf(strings.Join(list, "\n")), list) {
		f.before.examples = strings.Join(list, "\n")
	}
	f.extra.keywords, f.extra.examples = f.before.keywords, f.before.examples
}

// emptied says what no text means for a list of the triggers: none, but where the
// template has one that is not shown.
func (f *form) emptied(list, shown string) string {
	if triggers, _ := f.before.has["triggers"].(map[string]any); triggers[list] != nil && shown == "" {
		return "as in the template"
	}
	return "none"
}

// asWord begins a text with a capital letter, as the words of a button do.
func asWord(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// keywordsOf and examplesOf return what was typed as a list.
func keywordsOf(text string) []string {
	return trimmed(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、\n", r) }))
}

func examplesOf(text string) []string { return trimmed(strings.Split(text, "\n")) }

// putMore makes fields of what --extended asked. What was left as it is, is as the
// template has it.
func (f *form) putMore(fields map[string]any) error {
	triggers := map[string]any{}
	for key, list := range map[string]struct {
		before []string
		now    []string
	}{
		"keywords": {keywordsOf(f.before.keywords), keywordsOf(f.extra.keywords)}, "examples": {examplesOf(f.before.examples), examplesOf(f.extra.examples)},
	} {
		switch {
		case slices.Equal(list.now, list.before):
		case len(list.now) == 0:
			triggers[key] = nil
		default:
			triggers[key] = list.now
		}
	}
	if len(triggers) > 0 {
		fields["triggers"] = triggers
	}
	own, _ := f.before.has["triggers"].(map[string]any)
	left := map[string]any{}
	maps.Copy(left, own)
	maps.Copy(left, triggers)
	maps.DeleteFunc(left, func(_ string, value any) bool { return value == nil })
	if len(own) > 0 && len(left) == 0 {
		fields["triggers"] = nil
	}
	if len(f.extra.handoffs) > 0 {
		var to []any
		for _, name := range f.extra.handoffs {
			to = append(to, map[string]any{"to": name, "when": "auto"})
		}
		fields["handoffs"] = to
	}
	schema, err := object(f.extra.schema)
	if err != nil {
		return err
	}
	if schema != nil {
		fields["guardrails"] = map[string]any{"output_schema": schema, "on_failure": f.extra.onFailure}
	}
	if f.extra.memory != "" {
		fields["memory"] = map[string]any{"enabled": true, "type": f.extra.memory, "backend": "local"}
	}
	graph, err := object(f.extra.graph)
	if err != nil {
		return err
	}
	if graph != nil {
		fields["graph"] = graph
	}
	if f.extra.traced {
		fields["tracing"] = map[string]any{"enabled": true}
	}
	return nil
}
