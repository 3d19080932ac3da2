package main

// The pages of `create --extended`.

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"charm.land/huh/v2"

	"github.com/agentls/agentls/agents/definition"
)

// more asks what --extended adds.
func (f *form) more(ctx context.Context) []*huh.Group {
	f.extra.onFailure = "reject"
	groups := []*huh.Group{
		huh.NewGroup(
			huh.NewInput().Title("Trigger keywords").Description("Words that route a request to it, by commas. Empty: "+f.emptied("keywords", f.before.keywords)+"."+asYet("triggers")).Value(&f.extra.keywords),
			huh.NewText().Title("Trigger examples").Description("Sentences that it is for, one a line. Empty: "+f.emptied("examples", f.before.examples)+"."+asYet("triggers")).Lines(4).Value(&f.extra.examples),
		),
		huh.NewGroup(f.checklist("Handoffs", "Whom it may hand a conversation over to. None ticked: "+f.before.orTemplate("handoffs", "nobody")+"."+asYet("handoffs"), &f.extra.handoffs, huh.NewOptions(append([]string{"user"}, f.agents...)...)...)),
		huh.NewGroup(
			huh.NewText().Title("Guardrail").Description("A JSON Schema that its result must have. Empty: "+f.before.orTemplate("guardrails", "none")+"."+asYet("guardrails")).Lines(4).Value(&f.extra.schema).
				Validate(func(text string) error { return f.checkObject(ctx, "guardrails", "output_schema", text) }),
			huh.NewSelect[string]().Title("When the result does not have it").Value(&f.extra.onFailure).Options(
				huh.NewOption("reject: the run ends", "reject"), huh.NewOption("repair: the model fixes it, twice at most", "repair"), huh.NewOption("warn: it goes on", "warn")),
		),
		huh.NewGroup(
			huh.NewSelect[string]().Title("Memory").Description("What it keeps between sessions."+asYet("memory")).Value(&f.extra.memory).Options(
				huh.NewOption(f.before.orTemplate("memory", "off"), ""), huh.NewOption("by key", "key_value"), huh.NewOption("by meaning", "vector")),
			huh.NewText().Title("Graph").Description("Several agents as one: nodes, edges and an entry, as JSON. Empty: "+f.before.orTemplate("graph", "none")+"."+asYet("graph")).Lines(4).Value(&f.extra.graph).
				Validate(func(text string) error { return f.checkObject(ctx, "graph", "", text) }),
			huh.NewConfirm().Title("Trace its runs?").Description(strings.TrimSpace(asYet("tracing"))).Affirmative("Yes").Negative(asWord(f.before.orTemplate("tracing", "as the settings say"))).Value(&f.extra.traced),
		),
	}
	return groups
}

// asYet says of a field that has no effect in this version that it has none.
func asYet(field string) string {
	if text := definition.NoEffect(field); text != "" {
		return " " + asWord(text) + "."
	}
	return ""
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
	return nonBlank(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",，、\n", r) }))
}

func examplesOf(text string) []string { return nonBlank(strings.Split(text, "\n")) }

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
