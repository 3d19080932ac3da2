package daemon

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/workspace"
)

// readTools takes the lists of the section tools: which tools there are, which
// calls of them are refused, and which need no question (spec 4.2). What cannot
// be read takes the strict side, and is a problem.
func (s *folderSettings) readTools(all *workspace.Settings, home string) {
	for _, list := range all.Lists("tools", "exclude") {
		for _, raw := range list {
			s.exclude(raw)
		}
	}
	for _, list := range all.Lists("tools", "core") {
		s.narrow(list)
	}
	if all.Tools.Allowed.Origin.Scope != workspace.UserScope {
		return
	}
	for _, list := range all.Lists("tools", "allowed") { // a project's has none any more
		for _, raw := range list {
			s.allow(raw, home)
		}
	}
}

// exclude reads an entry of tools.exclude. One that cannot be read denies its
// whole tool.
func (s *folderSettings) exclude(raw workspace.Raw) {
	var text string
	if json.Unmarshal(raw.JSON, &text) != nil {
		return // the list has a problem already
	}
	rule, err := tool.ParseRule(text, definition.CanonicalTool)
	name, _, _ := strings.Cut(strings.TrimSpace(text), "(")
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		s.ignore(raw.Origin, "tools.exclude", err)
	case err != nil:
		s.problems = append(s.problems, at(raw.Origin, fmt.Sprintf("tools.exclude: %v; all of %q is denied", err, name)))
		s.runs.Exclude = append(s.runs.Exclude, name)
	case !rule.Limited():
		s.runs.Exclude = append(s.runs.Exclude, text)
	default:
		if _, known := definition.CanonicalTool(name); !known {
			s.problems = append(s.problems, at(raw.Origin, fmt.Sprintf("tools.exclude: %q is no tool that is known; the rule denies calls of a tool of exactly this name", name)))
		}
		s.runs.Deny = append(s.runs.Deny, rule)
	}
}

// allow reads an entry of tools.allowed. One that names a file, whole and by
// itself, lets agents read it though it holds credentials.
func (s *folderSettings) allow(raw workspace.Raw, home string) {
	var text string
	if json.Unmarshal(raw.JSON, &text) != nil {
		return // the list has a problem already, and does not count
	}
	rule, err := tool.ParseRule(text, definition.CanonicalTool)
	if err != nil {
		s.ignore(raw.Origin, "tools.allowed", err)
		return
	}
	if _, known := definition.CanonicalTool(rule.Tool); !known {
		s.ignore(raw.Origin, "tools.allowed", fmt.Errorf("%q is no tool that is known", rule.Tool))
		return
	}
	rule.Path = filepath.ToSlash(expanded(rule.Path, home))
	if rule.Tool == "read_file" && filepath.IsAbs(rule.Path) && !strings.ContainsAny(rule.Path, "*?[\\") {
		file, err := workspace.Canonical(rule.Path)
		if err != nil {
			s.ignore(raw.Origin, "tools.allowed", err)
			return
		}
		rule.Path = filepath.ToSlash(file)
		s.runs.Reveal = append(s.runs.Reveal, file)
	}
	s.runs.Allow = append(s.runs.Allow, rule)
}

// narrow reads a list of tools.core: what is built in and not in it is not
// offered. An entry with an argument is none that a list of tools can say.
func (s *folderSettings) narrow(list []workspace.Raw) {
	var core []string
	for _, raw := range list {
		var text string
		if json.Unmarshal(raw.JSON, &text) != nil {
			continue // the list has a problem already; what it names counts
		}
		rule, err := tool.ParseRule(text, definition.CanonicalTool)
		if err == nil && rule.Limited() {
			err = fmt.Errorf("%q is of some calls only; name the tool here, and say in tools.allowed which of its calls need no question", text)
		}
		if err != nil {
			s.problems = append(s.problems, at(raw.Origin, fmt.Sprintf("tools.core: %v; the tool is not offered", err)))
			continue
		}
		core = append(core, rule.Tool)
	}
	for _, t := range (builtin.Config{}).Tools() {
		name := t.Spec().Name
		if !slices.ContainsFunc(core, func(glob string) bool { ok, err := path.Match(glob, name); return err == nil && ok }) {
			s.runs.Exclude = append(s.runs.Exclude, name)
		}
	}
}
