package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// schemaAddress is where editors find the schema of settings files.
const schemaAddress = "https://raw.githubusercontent.com/agentls/agentls/main/docs/settings.schema.json"

// settingsExample stands on the page; a test reads it without a finding.
const settingsExample = `{
  "$schema": "` + schemaAddress + `",
  "model": {"name": "flash"},
  "agents": {
    "limits": {"modelCalls": 100},      // of a run and all that it starts
    "overrides": {"reviewer": {"model": "pro"}}
  },
  "tools": {
    "exclude": ["bash(git push)"],      // never
    "allowed": ["bash(go test *)"]      // without a question
  }
}`

// settingsPage is the page of settings: a table for each section.
func settingsPage() []byte {
	p := newPage("Settings")
	p.say("`~/.gemini/settings.json` holds your own settings for all folders, `.gemini/settings.json` those of a project, which count only in a folder that you trust. Both are JSON, in which comments and commas behind the last element are allowed. A project's value counts over yours, but for keys marked *own*: those count in your own file only. Limits a project can only lower, and `tools.exclude` adds up.")
	p.say("Editors that know JSON Schema complete and check these files by [settings.schema.json](../settings.schema.json); put its address into `\"$schema\"`. An editor that runs `agentls serve` needs no schema. `agentls config` shows what holds and where it comes from, `agentls config KEY VALUE` changes it.")
	p.say("```jsonc\n%s\n```", settingsExample)
	rows := workspace.SettingsReference()
	var sections []string
	for _, r := range rows {
		if section := sectionOf(r.Key); !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
	}
	for _, section := range sections {
		p.say("## %s", section)
		var cells [][]string
		for _, r := range rows {
			switch {
			case r.Key == section && r.Kind == "object":
				p.say("%s", r.Doc)
			case sectionOf(r.Key) == section && r.Kind != "object":
				cells = append(cells, []string{code(r.Key), typeOf(r), defaultOf(r), docOf(r)})
			}
		}
		if section == "hooks" {
			p.say("Events: %s. [hooks.md](../hooks.md) says when each comes and what a hook answers.",
				codes(settings.HookEvents()))
		}
		if len(cells) > 0 {
			slices.SortStableFunc(cells, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
			p.table([]string{"key", "type", "default", "effect"}, cells)
		}
	}
	p.say("`env` holds variables by their names, as [environment](environment.md) lists them, for keys and addresses of models that are not in the environment itself; *own*.")
	return p.text()
}

// sectionOf returns the part of a key that has a heading: two words of agents,
// else one.
func sectionOf(key string) string {
	words := strings.Split(key, ".")
	if words[0] == "agents" && len(words) > 2 {
		return "agents." + words[1]
	}
	return words[0]
}

// typeOf says what a key takes.
func typeOf(r workspace.SettingsRow) string {
	switch {
	case r.Values != nil && r.Kind == "list of strings":
		return "list of " + codes(r.Values)
	case r.Values != nil:
		return codes(r.Values)
	case r.Bounds != nil:
		return fmt.Sprintf("%s, %.0f to %.0f", r.Kind, r.Bounds[0], r.Bounds[1])
	}
	return r.Kind
}

func defaultOf(r workspace.SettingsRow) string {
	if r.Default == nil {
		return ""
	}
	text, err := json.Marshal(r.Default)
	if err != nil {
		return fmt.Sprint(r.Default)
	}
	return code(string(text))
}

// docOf is what a key means, and whether it is for a person's own settings.
func docOf(r workspace.SettingsRow) string {
	doc := strings.TrimSuffix(r.Doc, ".")
	own := r.Own
	for _, said := range []string{"; the person's own settings only", ". The person's own settings only"} {
		if rest, ok := strings.CutSuffix(doc, said); ok {
			doc, own = rest, true
		}
	}
	doc += "."
	if own {
		return "*own* · " + doc
	}
	return doc
}

// settingsSchema is the JSON Schema of a settings file. It refuses no key that
// it does not know: gemini-cli reads the same file and has more of them.
func settingsSchema() ([]byte, error) {
	root := map[string]any{
		"$schema":    "http://json-schema.org/draft-07/schema#", // the one that editors know best
		"$id":        schemaAddress,
		"title":      "Settings of agentls",
		"type":       "object",
		"properties": map[string]any{"$schema": map[string]any{"type": "string"}},
	}
	for _, r := range workspace.SettingsReference() {
		at := root
		words := strings.Split(r.Key, ".")
		for _, word := range words[:len(words)-1] {
			at = below(at, word)
		}
		describe(below(at, words[len(words)-1]), r)
	}
	below(root, "env")["additionalProperties"] = map[string]any{"type": "string"}
	below(root, "hooks")["propertyNames"] = map[string]any{"enum": settings.HookEvents()}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// below returns the schema of a key of an object, of each key, or of an element.
func below(at map[string]any, word string) map[string]any {
	inside := func(key string, in map[string]any) map[string]any {
		found, ok := in[key].(map[string]any)
		if !ok {
			found = make(map[string]any)
			in[key] = found
		}
		return found
	}
	switch word {
	case "*":
		return inside("additionalProperties", at)
	case "[]":
		return inside("items", at)
	}
	return inside(word, inside("properties", at))
}

// describe writes what a row says into its schema.
func describe(schema map[string]any, r workspace.SettingsRow) {
	schema["description"] = docOf(r)
	item := schema
	switch r.Kind {
	case "object":
		schema["type"] = "object"
	case "string", "boolean", "number":
		schema["type"] = r.Kind
	case "whole number":
		schema["type"] = "integer"
	case "list of strings":
		item = map[string]any{"type": "string"}
		schema["type"], schema["items"] = "array", item
	case "list of objects":
		schema["type"] = "array"
		below(schema, "[]")["type"] = "object"
	}
	if r.Values != nil {
		item["enum"] = r.Values
	}
	if r.Bounds != nil {
		schema["minimum"], schema["maximum"] = r.Bounds[0], r.Bounds[1]
	}
	if r.Default != nil {
		schema["default"] = r.Default
	}
}
