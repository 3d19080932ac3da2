package main

import (
	"cmp"
	"context"
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
	rows   int // of the terminal
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
	trusted, _, _ := trustOf(config).Lookup(folder) // records that cannot be read trust nothing
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
		f.allow, f.listed = f.usable(nonBlank(w.tools)), true
	}
	if _, given := w.Fields["mcp"]; given {
		f.mcp = f.each(nonBlank(w.mcp))
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
	columns, rows, _ := term.GetSize(int(std.in.Fd())) // asked before
	f.width, f.rows = min(max(columns, 40), 100), rows
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
	return errors.New(wrap(err.Error(), f.width-4))
}

// wrap breaks a text into lines of so many columns, between its words.
func wrap(text string, columns int) string {
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
	if given || !sameNames(f.allow, f.before.allow) || (f.listed && len(besides) > 0) {
		fields["tools"] = map[string]any{"allow": slices.Concat([]string{}, f.allow, besides)}
	}
	switch said, given := f.w.Fields["mcp"]; {
	case given && sameNames(f.mcp, f.each(nonBlank(f.w.mcp))):
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
