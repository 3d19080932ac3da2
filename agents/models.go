package agents

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// choose returns the models that may answer for an agent: the one with the
// name, then those that are tried when it fails. The first error is that of the agent's
// own model. Fallbacks of the file come instead of those of the settings.
func (s *Service) choose(def *definition.Definition, name string, set *Settings) ([]run.Choice, error) {
	fallbacks := def.FallbackModels
	if len(fallbacks) == 0 {
		fallbacks = set.FallbackModels
	}
	var choices []run.Choice
	for i, name := range append([]string{name}, fallbacks...) {
		choice, err := s.choice(name)
		switch {
		case err != nil && i > 0:
			continue // a fallback that is not configured cannot help
		case err != nil && def.Graph == nil: // a graph asks none itself
			return nil, err
		}
		choices = append(choices, choice)
	}
	return choices, nil
}

// choice returns who answers by a name or an alias. With an error the choice can be
// used all the same: it asks for the provider when it is asked.
func (s *Service) choice(name string) (run.Choice, error) {
	id, entry, _ := s.Table.Resolve(name, defaultModel)
	_, retries, err := s.Provider(id)
	return run.Choice{ID: id, Model: runModel{s, id}, Entry: entry, Retries: retries}, err
}

// runModel is the model of a run: it is looked for each time that it is asked, so
// that a run which the credentials stopped goes on with those that the person
// has fixed meanwhile (REL-70). It is safe for concurrent use.
type runModel struct {
	service *Service
	id      string
}

// Searches implements [model.Searcher].
func (l runModel) Searches(id string) bool { return l.service.searches(id) }

// Embed implements [model.Embedder].
func (l runModel) Embed(ctx context.Context, req *model.Embedding) ([]float32, error) {
	m, _, err := l.service.Provider(l.id)
	if err != nil {
		return nil, l.unavailable(err)
	}
	if e, ok := m.(model.Embedder); ok {
		return e.Embed(ctx, req)
	}
	return nil, &model.Error{Class: model.Fatal, Message: "the provider of " + l.id + " makes no vectors"}
}

// unavailable is the error of a model that nobody could ask.
func (l runModel) unavailable(err error) *model.Error {
	class := model.Fatal
	if reason, _ := fault.ReasonOf(err); reason == fault.AuthRequired {
		class = model.Unauthorized
	}
	return &model.Error{Class: class, Message: fault.Message(err), Err: err}
}

// Generate implements [model.Model].
func (l runModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	// The error comes as the first chunk, as that of a provider would: credentials that are
	// missing pause the run instead of ending it.
	m, _, err := l.service.Provider(l.id)
	if err == nil {
		return m.Generate(ctx, req)
	}
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, l.unavailable(err)) }
}

// modelFor returns the model of a run that leaves it to the settings (spec 3.3). It
// goes by the size and the kind of what is asked, before anything is sent.
func modelFor(conv *conversation, contextID string, task *assignment, tools *tool.Set, set *Settings) string {
	facts := model.Facts{Mode: string(task.mode), Tools: tools.Names()}
	facts.Tokens, _ = conv.Tokens(contextID)
	if facts.Mode == "" {
		facts.Mode = string(definition.Chat)
	}
	for _, m := range append(conv.Context(contextID), model.Message{Parts: session.Render(task.input)}) {
		for _, p := range m.Parts {
			facts.Images = facts.Images || p.Media != nil || (p.Result != nil && len(p.Result.Media) > 0)
		}
	}
	// The request is not in the context before the run has begun.
	for _, p := range session.Render(task.input) {
		facts.Tokens += model.EstimateTokens(p.Text)
	}
	if name, ok := model.Choose(set.Routes, facts); ok {
		return name
	}
	return defaultModel
}

// summarizer returns how contexts of an agent are made shorter (spec 8.3). A
// model that is not configured is replaced by the agent's own. own is the first of the
// run's models.
func (s *Service) summarizer(set *Settings, own run.Choice) run.Compression {
	c := run.Compression{Compression: set.Compression, MaxTokens: set.MaxContextTokens, By: own}
	if set.Compression.Model != "" {
		if choice, err := s.choice(set.Compression.Model); err == nil {
			c.By = choice
		}
	}
	return c
}

// defaultModel is the entry of the table that agents run with when nobody says
// another.
const defaultModel = "flash"

// ModelOf returns the name of the model that an agent runs with: what the
// caller says, else the agent's file, else the settings, else the table's
// default. It may be an alias.
func (s *Service) ModelOf(def *definition.Definition, override string, set *Settings) string {
	for _, name := range []string{override, def.Model, set.Values.Model.Name} {
		if name != "" && name != "inherit" {
			return name
		}
	}
	return defaultModel
}

// Resolve returns the id of the model that an agent would run with. model.Auto where
// each run has its own.
func (s *Service) Resolve(def *definition.Definition) string {
	name := s.nameOf(def)
	if name == model.Auto {
		return name // each run's own
	}
	id, _, _ := s.Table.Resolve(name, defaultModel)
	return id
}

// nameOf returns the name of the model of an agent as the settings have it.
// It is an alias or an id, or model.Auto.
func (s *Service) nameOf(def *definition.Definition) string {
	settings := s.Settings(cmp.Or(def.Folder, s.homeOf(def)))
	agent := override(def, settings.Overrides[def.Name])
	return s.ModelOf(agent.Definition, "", settings)
}

// ToolsOf returns the tools that an agent is offered, by name. They are those of a run
// that a person starts; MCP servers are told as they were last seen.
func (s *Service) ToolsOf(def *definition.Definition) []tool.Tool {
	folder := s.homeOf(def)
	settings := s.Settings(folder)
	agent := override(def, settings.Overrides[def.Name])
	all := slices.Concat(s.toolsFor(agent.Definition, folder, settings), s.toolsOf(agent.Definition, folder))
	return tool.NewSet(s.setConfig(&agent, all, settings)).List()
}

// toolsOfRun returns the tools of a run, and among them the one that it delegates with,
// nil where it does not; ofServers are those of its MCP servers. Who is delegated to has no
// tool that its caller has not. The set is what the run's model is offered, and what
// [Service.Explain] says.
func (s *Service) toolsOfRun(r *planned, from origin, shared *tree, ofServers []tool.Tool) (*tool.Set, *delegation) {
	all := slices.Concat(s.toolsFor(r.def, r.folder, r.settings), ofServers)
	var delegate *delegation
	// At the lowest depth nobody is delegated to, so the tool is not offered there.
	all = slices.DeleteFunc(all, func(t tool.Tool) bool {
		d, is := t.(*delegation)
		if is && from.depth < shared.limits.Depth {
			delegate = d
		}
		return is && delegate == nil
	})
	c := s.setConfig(r.agent, all, r.settings)
	if parent := from.parent; parent != nil {
		c.Subagent, c.Within = true, parent.tools
		if parent.def.Graph != nil && !parent.def.Tools.Given {
			c.Within = append(slices.Clip(c.Within), tool.Delegate) // a graph asks no model: its nodes' files say it
		}
	}
	set := tool.NewSet(c)
	// Its file or the settings may have taken the tool away.
	if delegate != nil && !slices.Contains(set.Names(), tool.Delegate) {
		delegate = nil
	}
	return set, delegate
}

// toolsFor returns the registered tools without those that the provider of an
// agent's model has not got: the search of the web. A provider that cannot be
// asked yet, since there is no key, counts as if it had all. An agent that may delegate
// has the tool for it besides.
func (s *Service) toolsFor(def *definition.Definition, folder string, settings *Settings) []tool.Tool {
	all := s.withoutMemory(def, s.extraTools(def, settings))
	if s.Skills != nil {
		all = append(slices.Clip(all), s.Skills(folder)...)
	}
	if settings.Limits.Depth > 0 {
		if d := s.delegation(def, folder, settings); d != nil {
			all = append(slices.Clip(all), d)
		}
	}
	return all
}

// extraTools are the registered tools, without the search of the web where the agent's provider has
// none.
// The result may be s.Tools itself: whoever adds to it clips it first.
func (s *Service) extraTools(def *definition.Definition, settings *Settings) []tool.Tool {
	name := s.ModelOf(def, "", settings)
	// The rules of auto go by the tools of a run, so they cannot be asked which tools it has.
	if name == model.Auto {
		name = defaultModel
	}
	id, _, _ := s.Table.Resolve(name, defaultModel)
	if _, _, err := s.Provider(id); err != nil || s.searches(id) {
		return s.Tools
	}
	return slices.DeleteFunc(slices.Clone(s.Tools), func(t tool.Tool) bool { return t.Spec().Name == "web_search" })
}

// searches reports whether the provider of a model can search the web.
func (s *Service) searches(id string) bool {
	m, _, err := s.Provider(id)
	searcher, ok := m.(model.Searcher)
	return err == nil && ok && searcher.Searches(id)
}

// setConfig says which of all tools an agent gets: by its file, the settings and what is excluded.
func (s *Service) setConfig(agent *effective, all []tool.Tool, settings *Settings) tool.SetConfig {
	def := agent.Definition
	return tool.SetConfig{
		Tools: agent.tools(all), Exclude: settings.Exclude.Names(), Deny: def.Tools.Deny,
		Allow: def.AllowedTools(), Restricted: def.Tools.Given, Canonical: definition.CanonicalTool,
	}
}
