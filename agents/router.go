package agents

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
)

// noSuitable is the tool by which a model picks nobody.
const noSuitable = "no_suitable_agent"

// routerPrompt is what the model is told that picks an agent.
//
//go:embed router.md
var routerPrompt string

// ask has a model pick an agent, "" for none. The error is for a person, a clause. It
// sends one request, waits Routing.Timeout at most, and does not try again: a person
// waits. What it used is in d.Model in any case, and counts for the run.
func (d *deciding) ask(input string) (agent string, err error) {
	d.Model = &activity.RouteModel{ID: d.set.Routing.Model}
	defer func() {
		if err != nil {
			d.Model.Error = err.Error()
		}
	}()
	choice, err := d.s.choice(d.set.Routing.Model)
	if err != nil {
		return "", errors.New(fault.Message(err))
	}
	d.Model.ID = choice.ID
	if wait := choice.Retries.Turn(choice.ID); wait > 0 {
		return "", errors.New("the provider has asked everybody with this key to wait")
	}
	req := &model.Request{
		Model: choice.ID, System: d.s.routerPrompt(d.folder), Asker: model.Asker{Purpose: "route"},
		Messages: []model.Message{{Role: model.User,
			Parts: []model.Part{{Text: strings.ToValidUTF8(input[:min(len(input), maxRouted)], "")}}}},
	}
	offered := d.offer(req)
	ctx, cancel := context.WithTimeout(d.ctx, d.set.Routing.Timeout)
	defer cancel()
	began := d.s.Now()
	answer, err := generate(ctx, choice.Model, req)
	d.Model.DurationMs = d.s.Now().Sub(began).Milliseconds()
	if err != nil {
		if bad, ok := errors.AsType[*model.Error](err); ok {
			choice.Retries.RecordRefusal(choice.ID, bad)
		}
		if ctx.Err() != nil && d.ctx.Err() == nil {
			return "", fmt.Errorf("%s did not answer within %s", choice.ID, d.set.Routing.Timeout)
		}
		return "", fmt.Errorf("%s failed (%w)", choice.ID, err)
	}
	choice.Retries.RecordAnswer()
	d.Model.Usage = answer.Usage
	if usd, known := model.Cost(choice.Entry, answer.Usage); known {
		d.Model.Cost = &activity.Cost{Amount: usd, Currency: "USD"}
	}
	for _, p := range answer.Message.Parts {
		if p.Call == nil {
			continue
		}
		// The first call counts that names an agent, or says that there is none.
		var said struct{ Reason, Context string }
		_ = json.Unmarshal(p.Call.Args, &said) // whom it picks is what counts
		if p.Call.Name == noSuitable {
			d.Reason = said.Reason
			return "", nil
		}
		if name, ok := offered[strings.ReplaceAll(p.Call.Name, "-", "_")]; ok {
			d.Reason, d.Context = said.Reason, said.Context
			return name, nil
		}
	}
	return "", fmt.Errorf("%s picked none of the agents", choice.ID)
}

// generate asks a model once. An answer is the last chunk.
func generate(ctx context.Context, m model.Model, req *model.Request) (*model.Answer, error) {
	for chunk, err := range m.Generate(ctx, req) {
		if err != nil {
			return nil, err
		}
		if chunk.Answer != nil {
			return chunk.Answer, nil
		}
	}
	return nil, errors.New("the answer ended before it was complete")
}

// offer adds a tool for each candidate to a request: for all agents or, where there are
// too many, for those with the most score. It returns who is meant by each name of a
// tool, written with underscores. Names are compared with underscores, since models
// write them so.
func (d *deciding) offer(req *model.Request) map[string]string {
	const arguments = `{"type":"object","properties":{"reason":{"type":"string","description":"Why, in one short sentence."}%s},"required":["reason"]}`
	with := fmt.Sprintf(arguments,
		`,"context":{"type":"string","description":"What the agent should know that the request only implies."}`)
	agents := slices.Clone(d.known.agents)
	if len(agents) > maxCandidates {
		place := make(map[string]int, len(d.ranked.Candidates))
		for i, c := range d.ranked.Candidates {
			place[c.Agent] = i - len(d.ranked.Candidates) // before those without
		}
		slices.SortStableFunc(agents, func(a, b *definition.Definition) int {
			return cmp.Compare(place[a.Name],
				place[b.Name])
		})
		agents = agents[:maxCandidates]
	}
	offered := make(map[string]string, len(agents))
	for _, a := range agents {
		name := handoff.ToolName(a.Name)
		about := a.Title + ": " + a.Description
		if a.Description == "" {
			about = a.Title + ", for requests such as: " + strings.Join(a.Examples[:min(len(a.Examples), 5)], " / ")
			for _, t := range a.Triggers {
				about += ", " + strings.Join(append([]string{t.Intent}, t.Keywords...), " ")
			}
		}
		offered[strings.ReplaceAll(name, "-", "_")] = a.Name
		req.Tools = append(req.Tools, model.Declaration{Name: name, Description: about,
			Parameters: json.RawMessage(with)})
	}
	req.Tools = append(req.Tools, model.Declaration{
		Name: noSuitable, Description: "No agent clearly fits the request.",
		Parameters: json.RawMessage(fmt.Sprintf(arguments, "")),
	})
	return offered
}

// routerPrompt returns what the model is told: the body of an agent file that replaces
// the router, or ours (spec 8.2).
func (s *Service) routerPrompt(folder string) string {
	for _, name := range []string{"router", "router-agent"} {
		e := s.Agents().Find(folder, name)
		// An agent that only has the name, without scope: system, is one like any other.
		if e == nil || e.State != registry.OK || !e.Definition.Router || s.checkPermitted(e.Definition) != nil {
			continue
		}
		return e.Definition.Prompt
	}
	return routerPrompt
}
