package main

// The questions of create, a line each.

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// wizard asks for a new agent, a line for each question. What flags have said is not asked
// again. It writes nothing: create does, when all is known.
type wizard struct {
	w    *wanted
	conn *connection
	asks *terminal
}

// prompt is one line that the wizard asks for.
type prompt struct {
	// text is the question, with what Enter alone means in brackets.
	text string
	// asked reports whether it is to be asked, by what is known when its turn comes.
	asked func() bool
	// set takes what was typed, "" for Enter alone. It only changes wanted.
	set func(answer string)
}

// toolSets are the words that stand for several tools, besides all, which is no list.
var toolSets = map[string][]string{
	"read": {"read_file", "glob", "grep", "ls"},
	"edit": {"read_file", "glob", "grep", "ls", "edit_file", "write_file"},
	"none": {},
}

// ask asks all questions, each again until the daemon would make an agent of the answers:
// an answer that it refuses is taken back before the question comes again. Of a person who
// leaves nothing is written: the error is exit 130.
func (z *wizard) ask(ctx context.Context) error {
	questions, err := z.questions(ctx)
	if err != nil {
		return err
	}
	if err := z.try(ctx, "any-name"); err != nil { // what flags say is refused before it asks
		return err
	}
	for _, q := range questions {
		for q.asked() {
			answer := z.asks.listen()
			text := q.text
			if w := z.w; w.Template == "" || w.Template == "blank" { // which has none of these
				text = strings.NewReplacer("[the template's]", "[none]", "the template's, else ", "").Replace(text)
			}
			fmt.Fprint(z.asks.out, text)
			line, ok := z.asks.await(ctx, answer)
			if !ok {
				fmt.Fprintln(z.asks.out, "\nNothing was written.")
				return exit{exitInterrupted}
			}
			// Kept to take the answer back: set writes into what w has, also into the map.
			params, fields := z.w.CreateParams, maps.Clone(z.w.Fields)
			q.set(line)
			err := z.try(ctx, z.w.Name)
			if err == nil {
				break
			}
			fmt.Fprintln(z.asks.out, errorText(err))
			z.w.CreateParams = params
			z.w.Fields = fields
		}
	}
	return nil
}

// questions returns what is asked, in order; with --extended also what most agents do not
// need. Later questions look at the answers of earlier ones in asked.
func (z *wizard) questions(ctx context.Context) ([]prompt, error) {
	var templates wire.TemplatesResult
	if err := z.conn.Call(ctx, wire.MethodTemplates, nil, &templates); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range templates.Templates {
		names = append(names, tool.Escape(t.Name))
	}
	w := z.w
	// A flag that was given has put its field there already.
	absent := func(field string) func() bool {
		return func() bool { _, given := w.Fields[field]; return !given }
	}
	field := func(name string) func(string) {
		return func(answer string) {
			if answer != "" {
				w.Fields[name] = answer
			}
		}
	}
	all := []prompt{
		{"Name, lower-case words with dashes (as in code-fixer): ", func() bool { return w.Name == "" },
			func(s string) { w.Name = s }},
		{"Template (" + strings.Join(names, ", ") + ") [blank]: ",
			func() bool { return w.Template == "" && w.Prompt == "" }, func(s string) { w.Template = s }},
		{"Description, what it is for [the template's]: ", absent("description"), field("description")},
		{"Tools: read, edit (also files), all (also commands; it asks), or names by commas [the template's, else all]: ",
			absent("tools"), w.setTools},
	}
	if w.extended {
		all = append(all,
			prompt{"Title, the name that people see [made from the name]: ", absent("title"), field("title")},
			prompt{"Model, see agentls models [main's]: ", absent("model"), field("model")},
			prompt{"Scope: project (this folder) or global (all your folders) [the setting agents.defaultScope]: ",
				func() bool { return w.Scope == "" }, func(s string) { w.Scope = s }},
			prompt{"Keywords that route a request to it, by commas [the template's]: ",
				absent("triggers"), w.setKeywords},
			prompt{"Agents that it may hand over to, by commas, or user [the template's]: ",
				absent("handoffs"), w.setHandoffs})
	}
	// All templates but blank bring instructions of their own.
	return append(all, prompt{
		"Instructions, what it is to do [write them later with agentls edit]: ",
		func() bool { return w.Prompt == "" && (w.Template == "" || w.Template == "blank") },
		func(s string) { w.Prompt = s },
	}), nil
}

// setTools takes a word for several tools, or their names. Enter alone leaves the
// template's; all is null, which takes the template's list away.
func (w *wanted) setTools(answer string) {
	switch names, isSet := toolSets[answer]; {
	case answer == "":
	case answer == "all":
		w.Fields["tools"] = nil
	case isSet:
		w.Fields["tools"] = map[string]any{"allow": names}
	default:
		w.Fields["tools"] = map[string]any{"allow": listOf(answer)}
	}
}

// setKeywords takes words that route a request to the agent.
func (w *wanted) setKeywords(answer string) {
	if words := listOf(answer); len(words) > 0 {
		w.Fields["triggers"] = map[string]any{"keywords": words}
	}
}

// setHandoffs takes the agents that it may hand over to. Control passes when the agent
// has reached its goal (when: auto).
func (w *wanted) setHandoffs(answer string) {
	var to []any
	for _, name := range listOf(answer) {
		to = append(to, map[string]any{"to": name, "when": "auto"})
	}
	if len(to) > 0 {
		w.Fields["handoffs"] = to
	}
}

// listOf returns what was typed by commas, also those of Chinese and Japanese keyboards.
func listOf(text string) []string {
	return nonBlank(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、", r) }))
}

// checkIn is how long a person waits to hear whether an answer will do.
const checkIn = 20 * time.Second

// try asks the daemon whether it would make an agent of what is known so far. name stands
// in for a name that was not asked for yet; whether a file of that name exists does not
// count then.
func (z *wizard) try(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, checkIn)
	defer cancel()
	p := z.w.CreateParams
	p.DryRun = true
	if p.Name == "" && name != "" { // not asked yet
		p.Name, p.Force = name, true
	}
	return z.conn.Call(ctx, wire.MethodCreate, &p, nil)
}
