package agents

// Which agent an input is for that names none (spec 5.1).

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/route"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// The strategies of routing, what counts when no agent is picked, and who picked one.
const (
	byRule       = "rule"
	byModel      = "llm"
	hybrid       = "hybrid"
	byUser       = "user"
	byDefault    = "default"
	promptUser   = "prompt_user"
	defaultAgent = "default_agent"
)

const (
	matchIn       = 50 * time.Millisecond // what patterns may take of an input
	maxCandidates = 32                    // that a model is offered, or an analysis lists
	maxMatches    = 16                    // of a candidate that an analysis lists
	maxChoices    = 12                    // that a person is asked to pick from
	maxRouted     = 16 << 10              // bytes of an input that a model is shown
)

// RoutingRequest asks which agent an input is for.
type RoutingRequest struct {
	Input    string
	Strategy string // rule, llm or hybrid; "" = the settings'
	Folder   string // of the document that it is about; "" = the first
}

// Route says which agent an input is for that names none, and why. A model may be
// asked; nothing runs, and no person is asked. The error is ctx's. The result is the
// caller's and goes into the log as it is (route.decided). It blocks for a model where
// the strategy asks one.
func (s *Service) Route(ctx context.Context, r RoutingRequest) (activity.RouteDecided, error) {
	folder := s.folderOr(r.Folder)
	d := &deciding{s: s, ctx: ctx, folder: folder, set: s.Settings(folder)}
	d.RouteDecided = activity.RouteDecided{
		Strategy: cmp.Or(r.Strategy, d.set.Routing.Strategy), Threshold: d.set.Routing.Threshold,
		Settings: routingSettings(&d.set.Values, r.Strategy),
	}
	d.known = s.routable(folder, d.set)
	d.rank(r.Input)
	d.decide(r.Input)
	return d.RouteDecided, ctx.Err()
}

// folderOr returns a folder, or the first of the workspace for "".
func (s *Service) folderOr(folder string) string {
	if folders := s.Folders(); folder == "" && len(folders) > 0 {
		return folders[0]
	}
	return folder
}

// routingSettings returns the settings that count for a request, each with where it
// comes from.
func routingSettings(v *settings.Values, asked string) []activity.RouteSetting {
	var list []activity.RouteSetting
	r := v.Routing
	add := func(key string, value any) {
		raw, _ := json.Marshal(value) // of a string, a number or a bool
		list = append(list, activity.RouteSetting{Key: key, Value: raw, Origin: v.Origins["agents.routing."+key].String()})
	}
	add("enabled", r.Enabled)
	add("strategy", cmp.Or(asked, r.Strategy))
	if asked != "" {
		list[1].Origin = "request"
	}
	add("rule.confidence_threshold", r.Threshold)
	add("llm.model", r.Model)
	add("llm.timeout", r.Timeout.Milliseconds())
	add("fallback", r.Fallback)
	add("default_agent", r.DefaultAgent)
	return list
}

// deciding is one input on its way to an agent. It is made for one input, on one
// goroutine.
type deciding struct {
	activity.RouteDecided
	s      *Service
	ctx    context.Context
	folder string
	set    *Settings
	known  *routable
	ranked route.Analysis
	before string // what was said before the decision, in its line
}

// rank scores the input on this machine. Patterns have matchIn; what was not tried is
// told by Partial.
func (d *deciding) rank(input string) {
	within, cancel := context.WithTimeout(d.ctx, matchIn)
	defer cancel()
	d.ranked = d.known.index.Rank(within, input)
	d.Considered, d.Partial, d.Candidates = len(d.known.agents), d.ranked.Partial, []activity.RouteCandidate{}
	for i, c := range d.ranked.Candidates[:min(len(d.ranked.Candidates), maxCandidates)] {
		shown := activity.RouteCandidate{Agent: c.Agent, Score: c.Score, Confidence: c.Confidence}
		for _, m := range c.Matches[:min(len(c.Matches), maxMatches)] {
			shown.Matches = append(shown.Matches, activity.RouteMatch{Kind: m.Kind, Text: m.Text, Intent: m.Intent,
				Points: math.Round(10*m.Points) / 10})
		}
		d.Candidates = append(d.Candidates, shown)
		switch i {
		// Margin is the distance of the first two scores, or the score of a lone candidate.
		case 0:
			d.Margin = c.Score
		case 1:
			d.Margin -= c.Score
		}
	}
}

// decide picks an agent by the strategy, or none. A model that fails leaves it to the
// rules where these are half as sure as they would have to be.
func (d *deciding) decide(input string) {
	best, found := d.best()
	switch d.Strategy {
	case byRule:
		d.Why = "The strategy rule asks no model."
		switch {
		case !found:
			d.fallBack("no trigger, example or description matches")
		case d.ranked.Tied:
			d.fallBack(fmt.Sprintf("%s and %s lead equally", best.Agent, d.Candidates[1].Agent))
		default:
			d.take(best)
		}
		return
	case hybrid:
		if found && best.Confidence >= d.Threshold {
			d.Why = fmt.Sprintf("No model was needed: %d %% is at or over the threshold of %d %%.",
				best.Confidence, d.Threshold)
			d.take(best)
			return
		}
		d.Why = fmt.Sprintf("A model was asked, since %d %% is below the threshold of %d %%.",
			best.Confidence, d.Threshold)
		d.before = fmt.Sprintf("rule %d %% is too low, asking %s", best.Confidence, d.set.Routing.Model)
	default:
		d.Why = "The strategy llm asks a model."
		d.before = "asking " + d.set.Routing.Model
	}
	// Checked only here: without a model the rules say the same in their own words.
	if len(d.known.agents) == 0 {
		d.before, d.Why = "", "No model was asked: there is no agent to pick from."
		d.fallBack("there is no agent to pick from")
		return
	}
	picked, err := d.ask(input)
	switch {
	case err != nil && found && !d.ranked.Tied && 2*best.Confidence > d.Threshold:
		d.before += ": " + err.Error()
		d.take(best)
	case err != nil:
		d.fallBack(err.Error())
	case picked == "":
		d.fallBack(cmp.Or(d.Reason, "the model finds no agent for it"))
	default:
		// A model gives no number: a fixed one stands for its pick (spec 5.1).
		d.Agent, d.By, d.Confidence = picked, byModel, 95
		d.Text = d.line("→ %s · llm · %d %%", picked, d.Confidence)
	}
}

// best returns the leader of the rules; false where nothing speaks for anybody.
func (d *deciding) best() (activity.RouteCandidate, bool) {
	if len(d.Candidates) == 0 || (d.Candidates[0].Score == 0 && d.Candidates[0].Confidence == 0) {
		return activity.RouteCandidate{}, false
	}
	return d.Candidates[0], true
}

// take decides for the leader of the rules.
func (d *deciding) take(c activity.RouteCandidate) {
	d.Agent, d.By, d.Confidence = c.Agent, byRule, c.Confidence
	d.Text = d.line("→ %s · rule · %d %% · %s", c.Agent, c.Confidence, evidence(c.Matches))
}

// evidence names what speaks for an agent: keywords and patterns, else what is alike.
func evidence(matches []activity.RouteMatch) string {
	const few = 4
	var names []string
	alike := ""
	for _, m := range matches {
		if m.Kind == "keyword" || m.Kind == "pattern" {
			names = append(names, m.Text)
		} else if alike == "" {
			alike = fmt.Sprintf("like %q", m.Text)
		}
	}
	if len(names) > few {
		names = append(names[:few], "…")
	}
	return cmp.Or(strings.Join(names, ", "), alike)
}

// noAgentSays is followed by why nobody was picked, in the line of a decision.
const noAgentSays = "→ no agent: "

// fallBack decides for nobody, or for the agent that takes what is nobody's.
func (d *deciding) fallBack(why string) {
	d.Fallback = d.set.Routing.Fallback
	if d.Fallback != defaultAgent || d.set.Routing.DefaultAgent == "" {
		d.Text = d.line(noAgentSays+"%s", why)
		return
	}
	d.Agent, d.By = d.set.Routing.DefaultAgent, byDefault
	d.Text = d.line("→ %s · default · %s", d.Agent, why)
}

// line is the decision for people, after what led to it.
func (d *deciding) line(format string, args ...any) string {
	return tool.Escape(strings.TrimSpace(d.before + " " + fmt.Sprintf(format, args...)))
}

// routable is the agents that inputs in a folder may be routed to, with their index.
// Nobody changes it.
type routable struct {
	catalog *registry.Snapshot
	folder  string
	set     *Settings
	agents  []*definition.Definition
	files   []*definition.Definition // as the catalog has them, before the settings' overrides
	index   *route.Index
}

// routing keeps the newest [routable]. Its lock is held while one is compiled: who
// asks meanwhile needs it.
type routing struct {
	mu sync.Mutex
	of *routable
}

// routable returns the agents that inputs in a folder may be routed to, compiled once
// for each catalog and reading of the settings. What changes trust and reviews makes
// the catalog another (registry.Renumber). It blocks while the index is compiled, which
// takes a moment with a thousand agents.
func (s *Service) routable(folder string, set *Settings) *routable {
	s.routing.mu.Lock()
	defer s.routing.mu.Unlock()
	catalog := s.Agents()
	if r := s.routing.of; r != nil && r.catalog == catalog && r.folder == folder && r.set == set {
		return r
	}
	r := &routable{catalog: catalog, folder: folder, set: set}
	var indexed []route.Agent
	for _, e := range catalog.Entries() {
		if e.State != registry.OK || catalog.Find(folder, e.Definition.Name) != e {
			continue
		}
		d := override(s.unhide(e.Definition, e.Definition.Name), set.Overrides[e.Definition.Name])
		if !s.mayRoute(&d) {
			continue
		}
		r.agents, r.files = append(r.agents, d.Definition), append(r.files, e.Definition)
		indexed = append(indexed, route.Agent{
			Name: d.Name, Description: d.Description, Triggers: d.Triggers, Examples: d.Examples, Priority: d.Priority,
		})
	}
	r.index = route.NewIndex(indexed)
	s.routing.of = r
	return r
}

// mayRoute reports whether inputs may be routed to an agent: it can run, wants to be
// routed to, and says what it is for.
func (s *Service) mayRoute(d *effective) bool {
	router := d.Router || (d.Scope == definition.System && d.Name == "router")
	says := len(d.Triggers)+len(d.Examples) > 0 || d.Description != ""
	if !d.Routable || !says || router || (d.Name == mainAgent && d.Scope == definition.System) ||
		needsInputs(d.Definition) {
		return false
	}
	return len(d.Authority) == 0 && d.Off == (authority.Origin{}) && s.checkPermitted(d.Definition) == nil
}

// needsInputs reports whether an agent cannot begin with a request alone.
func needsInputs(d *definition.Definition) bool {
	var schema struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(d.Inputs, &schema) // what cannot be read requires nothing that is known
	return len(schema.Required) > 0
}

// routeStart finds the agent of a run that names none. One that names its agent, or is
// main's, stays as it is. It changes p: the agent and the decision. A model or the
// person may be asked, and a run that is cancelled meanwhile under its reserved id ends
// it.
func (s *Service) routeStart(ctx context.Context, p *Start) error {
	// A request with a definition (that of a buffer) has its agent.
	auto := p.Agent == mention.Auto
	if !auto && (p.Agent != "" || p.Definition != nil) {
		return nil
	}
	set := s.Settings(s.folderOr(p.Folder))
	switch {
	case !auto && !(set.AutoRoute && set.Routing.Enabled):
		return nil
	case !set.Routing.Enabled:
		return fault.New(fault.Invalid, "agents.route",
			`Routing is disabled in config. Name an agent: @<name> "<prompt>"`).Because(fault.Config)
	}
	input := promptOf(p.Input)
	if input == "" {
		return badParam("input", "has no text to pick an agent by; say what is to be done, or name an agent")
	}
	ctx, done := s.untilCancelled(ctx, p.Run)
	defer done()
	d, err := s.Route(ctx, RoutingRequest{Input: input, Strategy: p.Strategy, Folder: p.Folder})
	if err == nil && d.Agent == "" {
		err = s.pickByPerson(ctx, p, &d)
	}
	if err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.Canceled, "agents.route", "the request was cancelled before it had an agent")
		}
		return err
	}
	p.Agent, p.decided = d.Agent, &d
	return nil
}

// untilCancelled returns a context that ends when the person cancels the run that is
// being started, too. The function that is returned must be called.
func (s *Service) untilCancelled(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	r := s.reserved[id]
	s.mu.Unlock()
	if r == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(r.over, cancel)
	return ctx, func() { stop(); cancel() }
}

// promptOf returns what an input asks for in words: its first text. What follows may be
// about where it was asked.
func promptOf(input []activity.ContentBlock) string {
	for _, b := range input {
		if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
			return b.Text
		}
	}
	return ""
}

// pickByPerson has the person pick an agent, where the settings say so and the client
// can be asked. Else the error has the list. Only a name from the list counts.
func (s *Service) pickByPerson(ctx context.Context, p *Start, d *activity.RouteDecided) error {
	names, list := s.pickable(p.Folder, d)
	if d.Fallback != promptUser {
		return noAgent(d, list, "")
	}
	ask := p.Frontend.Ask(cmp.Or(p.Session, session.Default), p.Run, "agentls")
	if ask == nil || len(names) == 0 {
		return noAgent(d, list, "\n"+formatPickables(list))
	}
	answer, err := ask(ctx, tool.Question{
		Title: "Which agent?", Message: "No agent clearly fits. Which one is it for?\n" + formatPickables(list),
		Choices: names[:min(len(names), maxChoices)],
	})
	name := strings.TrimPrefix(strings.TrimSpace(answer.Text), "@")
	if err != nil || answer.Action != "accept" || !slices.Contains(names, name) {
		return noAgent(d, list, "\n"+formatPickables(list))
	}
	d.Agent, d.By = name, byUser
	d.Text += fmt.Sprintf(" → %s · chosen by you", name)
	return nil
}

// Pickable is an agent that a person can name.
type Pickable struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// pickable returns the agents that a person can pick, those first that most speaks for.
func (s *Service) pickable(folder string, d *activity.RouteDecided) (names []string, list []Pickable) {
	folder = s.folderOr(folder)
	place := make(map[string]int)
	for i, c := range d.Candidates {
		// Below 0 for candidates, 0 for all others: these stay in the catalog's order.
		place[c.Agent] = i - len(d.Candidates)
	}
	agents := slices.Clone(s.routable(folder, s.Settings(folder)).agents)
	slices.SortStableFunc(agents, func(a, b *definition.Definition) int {
		return cmp.Compare(place[a.Name],
			place[b.Name])
	})
	for _, a := range agents[:min(len(agents), maxCandidates)] {
		names = append(names, a.Name)
		list = append(list, Pickable{a.Name, a.Description})
	}
	return names, list
}

// LikelyAgents returns the agents that an input may be for, those first that most speaks
// for. No model is asked.
func (s *Service) LikelyAgents(ctx context.Context, folder, input string) ([]string, error) {
	d, err := s.Route(ctx, RoutingRequest{Input: input, Strategy: byRule, Folder: folder})
	names, _ := s.pickable(folder, &d)
	return names, err
}

// formatPickables is a list for people, with how to name an agent.
func formatPickables(list []Pickable) string {
	var b strings.Builder
	for i, a := range list {
		fmt.Fprintf(&b, "%d. %s", i+1, a.Name)
		if a.Description != "" {
			b.WriteString(" – " + tool.Escape(a.Description))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// noAgent is the error of an input that is for nobody. The reason is noAgent, with the
// candidates as its data.
func noAgent(d *activity.RouteDecided, list []Pickable, shown string) error {
	if list == nil {
		list = []Pickable{}
	}
	why := d.Text
	if at := strings.LastIndex(why, noAgentSays); at >= 0 {
		why = why[at+len(noAgentSays):]
	}
	return fault.New(fault.NotFound, "agents.route", "No agent fits this request: %s. Name one: @<name> \"<prompt>\"%s",
		strings.TrimSuffix(why, "."), strings.TrimSuffix(shown, "\n")).
		Because(fault.NoAgent, "candidates", list)
}
