package handlers

import (
	"context"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// parse serves agents/parse. It runs nothing: agents/run takes its input word
// for word, so that what a person pastes is never read as a command.
// A strategy that there is not is bad params; a name at the start that no agent has is
// fault.NotFound.
func (h *Handlers) parse(ctx context.Context, _ struct{}, p *wire.ParseParams) (*wire.ParseResult, error) {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	references := h.resourcesIn(*p.Text)
	if text := strings.TrimSpace(*p.Text); len(references) > 0 && strings.HasPrefix(text, references[0]) {
		return &wire.ParseResult{Prompt: text, Mentions: []wire.Mention{}, References: references},
			nil // it names no agent
	}
	parsed, err := mention.Parse(*p.Text, h.addresseesIn(catalog))
	if fault.KindOf(err) == fault.Invalid {
		return nil, server.BadParams(wire.MethodParse, "text", "cannot be read: %s", fault.Message(err))
	}
	if err != nil {
		return nil, err
	}
	result := &wire.ParseResult{
		Agent: parsed.Agent, Auto: parsed.Auto, Strategy: parsed.Strategy, Prompt: parsed.Prompt,
		Mentions: []wire.Mention{},
		Command:  h.commandOf(parsed.Prompt), References: references,
	}
	units := h.units(*p.Text)
	for _, m := range parsed.Mentions {
		result.Mentions = append(result.Mentions, wire.Mention{Name: m.Name, Start: units(m.Start), End: units(m.End)})
	}
	return result, nil
}

// units returns what counts how far a byte offset of a text is from its
// beginning, in the encoding that the client asked for. Offsets must not fall.
func (h *Handlers) units(text string) func(offset int) int {
	encoding := h.Workspace.Snapshot().Encoding()
	at, n := 0, 0
	return func(offset int) int {
		if encoding == workspace.UTF8 {
			return offset
		}
		for _, c := range text[at:offset] {
			if n++; encoding == workspace.UTF16 && c > 0xFFFF {
				n++
			}
		}
		at = offset
		return n
	}
}

// addressees is who can be named in a text. It implements [mention.Agents].
type addressees struct {
	catalog *registry.Snapshot
	// As they can be typed, with folder:name for a project's agents.
	names map[string]bool
}

// addresseesIn returns the agents of a catalog by what they can be called.
// An agent of a project can also be called by its folder: folder:name.
// They are all agents, also those that cannot run.
func (h *Handlers) addresseesIn(catalog *registry.Snapshot) addressees {
	a := addressees{catalog, make(map[string]bool)}
	folders := h.Workspace.Snapshot().Folders()
	for _, e := range catalog.Entries() {
		d := e.Definition
		a.names[d.Name] = true
		if d.Scope != definition.Project {
			continue
		}
		for _, f := range folders {
			if f.Canonical == d.Folder {
				a.names[f.Name+":"+d.Name], a.names[f.Canonical+":"+d.Name] = true, true
			}
		}
	}
	return a
}

// Has implements [mention.Agents].
func (a addressees) Has(name string) bool { return a.names[name] }

// Unknown implements [mention.Agents].
func (a addressees) Unknown(name string) error {
	if _, err := a.catalog.Lookup("", name); err != nil {
		return err
	}
	return fault.New(fault.NotFound, "handlers.parse", "there is no agent %s", name).Because(fault.UnknownAgent,
		"suggestions", []string{})
}

// templates serves agents/templates.
// One that cannot be used is listed with why. The error is that of reading the folder.
func (h *Handlers) templates(context.Context, struct{}, *struct{}) (*wire.TemplatesResult, error) {
	list, err := template.List(h.daemon.Templates)
	if err != nil {
		return nil, err
	}
	result := &wire.TemplatesResult{Templates: []wire.Template{}}
	for _, t := range list {
		shown := wire.Template{Name: t.Name, Title: t.Title, Description: t.Description}
		if t.Problem != "" {
			shown.Description = "It cannot be used: " + t.Problem
		}
		result.Templates = append(result.Templates, shown)
	}
	return result, nil
}
