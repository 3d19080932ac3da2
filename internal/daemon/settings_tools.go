package daemon

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// places are what the paths in rules go by.
type places struct {
	home      string   // the person's; "" = not known
	folder    string   // what relative paths start at, canonical; "" = none
	workspace []string // all folders of the workspace, in which others put links
}

// readTools takes the lists of the section tools: which tools there are, which
// calls of them are refused, and which need no question (spec 4.2). What cannot
// be read takes the strict side, and is a problem: where it is not known what is
// denied, whatever is riskier than reading is (SEC-140).
func (s *folderSettings) readTools(all *workspace.Settings, in places) {
	if all.Unclear != "" {
		s.runs.Deny = append(s.runs.Deny, tool.Rule{Tool: "*", Above: true,
			Text:   "that nothing but reading runs until it is known what the settings deny (" + all.Unclear + ")",
			Origin: explanation.Origin{What: "settings that cannot be read"}})
	}
	for _, list := range all.Lists("tools", "exclude") {
		for _, e := range list {
			s.exclude(e, explanation.OriginOf("tools.exclude", e.Origin), in)
		}
	}
	for _, list := range all.Lists("tools", "core") {
		from := all.Origins["tools.core"]
		if len(list) > 0 {
			from = list[0].Origin
		}
		s.narrow(list, explanation.OriginOf("tools.core", from))
	}
	for _, list := range all.Lists("tools", "sandbox", "allowedHosts") { // a project's has none any more
		for _, e := range list {
			s.allowHost(e)
		}
	}
	if all.Origins["tools.allowed"].Scope != settings.UserScope {
		return
	}
	for _, list := range all.Lists("tools", "allowed") { // a project's has none any more
		for _, e := range list {
			s.allow(e, in)
		}
	}
}

// allowHost reads an entry of tools.sandbox.allowedHosts.
func (s *folderSettings) allowHost(e settings.Entry) {
	host, err := dial.ParseHostRule(e.Text)
	if err != nil {
		s.ignore(e.Origin, "tools.sandbox.allowedHosts", err)
		return
	}
	s.runs.Hosts = append(s.runs.Hosts, host)
}

// exclude reads an entry of tools.exclude, which comes from a place. One that
// cannot be read denies its whole tool, and one of a tool that is not known but by
// its name is a shell denies such commands of bash.
func (s *folderSettings) exclude(e settings.Entry, from explanation.Origin, in places) {
	rule, err := tool.ParseRule(e.Text, toolOfEntry)
	// The name is needed also for an entry that ParseRule refuses.
	name, _, _ := strings.Cut(strings.TrimSpace(e.Text), "(")
	name = strings.TrimSpace(name)
	_, known := definition.CanonicalTool(name)
	meant, likely := toolOfEntry(name)
	if !likely {
		meant = name // no built-in tool is meant, so the name stays as it is written
	}
	switch {
	case name == "":
		s.ignore(e.Origin, "tools.exclude", err)
		return
	case err != nil:
		s.problems = append(s.problems, at(e.Origin, fmt.Sprintf("tools.exclude: %v; all of %q is denied", err,
			name)))
		s.runs.Exclude = append(s.runs.Exclude, authority.List{Names: []string{meant}, Origin: from})
		return
	case !known && likely:
		s.problems = append(s.problems, at(e.Origin, fmt.Sprintf("tools.exclude: %q is read as %s; write it so", name,
			meant)))
	}
	if !rule.Limited() {
		s.runs.Exclude = append(s.runs.Exclude, authority.List{Names: []string{meant}, Origin: from})
		return
	}
	if !known && !likely {
		s.problems = append(s.problems,
			at(e.Origin, fmt.Sprintf("tools.exclude: %q is no tool that is known; the rule denies calls of a tool of exactly this name", name)))
	}
	if rule.Path != "" {
		rule.Path = filepath.ToSlash(expandHome(rule.Path, in.home))
		rule.Also = in.resolveLinks(rule.Path)
	}
	rule.Origin = from
	s.runs.Deny = append(s.runs.Deny, rule)
}

// toolOfEntry returns the tool that an entry of tools.exclude means by a name: as
// [definition.CanonicalTool], and also in other capitals and as other programs
// call theirs. To deny what was not meant is the lesser harm.
func toolOfEntry(name string) (string, bool) {
	if canonical, ok := definition.CanonicalTool(name); ok {
		return canonical, true
	}
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	for _, t := range definition.ToolNames() {
		for _, known := range append([]string{t.Name}, t.Aliases...) {
			if known = strings.ReplaceAll(known, "_", ""); plain == known || plain == known+"tool" {
				return t.Name, true
			}
		}
	}
	words := []string{"shell", "terminal", "runcommand", "executecommand", "exec", "cmd", "sh", "zsh"}
	// Short words are parts of others, as sh is of push.
	if slices.ContainsFunc(words, func(w string) bool {
		return plain == w ||
			(len(w) > 4 && strings.Contains(plain, w))
	}) {
		return "bash", true
	}
	others := map[string]string{"read": "read_file", "write": "write_file", "multiedit": "edit_file",
		"readmanyfiles": "read_many_files", "listfiles": "ls", "webfetch": "web_fetch", "websearch": "web_search",
		"find": "glob", "search": "grep"}
	meant, ok := others[strings.TrimSuffix(plain, "tool")]
	return meant, ok
}

// resolveLinks returns a pattern with the links in its beginning resolved, where
// that makes another one of it: tools name files by where they are.
// Only the part before the first wildcard is resolved; what an unresolved name would mean
// stays in the pattern itself, which is kept beside.
func (in places) resolveLinks(pattern string) []string {
	if !filepath.IsAbs(filepath.FromSlash(pattern)) {
		if in.folder == "" {
			return nil
		}
		pattern = path.Join(filepath.ToSlash(in.folder), pattern)
	}
	pattern = path.Clean(pattern)
	elements := strings.Split(pattern, "/")
	n := slices.IndexFunc(elements, func(e string) bool { return strings.ContainsAny(e, `*?[{\`) })
	if n < 0 {
		n = len(elements)
	}
	fixed, err := workspace.Canonical(filepath.FromSlash(strings.Join(elements[:n], "/")))
	if err != nil {
		return nil
	}
	escape := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`)
	also := path.Join(append([]string{escape.Replace(filepath.ToSlash(fixed))}, elements[n:]...)...)
	if also == pattern {
		return nil
	}
	return []string{also}
}

// allow reads an entry of tools.allowed. One that names a file, whole and by
// itself, lets agents read it though it holds credentials.
// What cannot be read permits nothing.
func (s *folderSettings) allow(e settings.Entry, in places) {
	rule, err := tool.ParseRule(e.Text, definition.CanonicalTool)
	if err != nil {
		s.ignore(e.Origin, "tools.allowed", err)
		return
	}
	if _, known := definition.CanonicalTool(rule.Tool); !known {
		s.ignore(e.Origin, "tools.allowed", fmt.Errorf("%q is no tool that is known", rule.Tool))
		return
	}
	if rule.Tool == "bash" && strings.ContainsAny(strings.Join(rule.Words, " "), "&|;<>\"'`$\\") {
		s.notes = append(s.notes, at(e.Origin,
			fmt.Sprintf("tools.allowed: %q matches no call: a rule is the words of one command, without quotes, pipes and redirections; each command of a call needs a rule", e.Text)))
	}
	rule.Path = filepath.ToSlash(expandHome(rule.Path, in.home))
	if rule.Tool == "read_file" && filepath.IsAbs(rule.Path) && !strings.ContainsAny(rule.Path, "*?[{\\") {
		file, err := workspace.Canonical(rule.Path)
		if err == nil {
			err = in.checkRedirect(rule.Path)
		}
		if err != nil {
			s.ignore(e.Origin, "tools.allowed", err)
			return
		}
		// The rule is about the file itself, wherever links lead.
		rule.Path = filepath.ToSlash(file)
		s.runs.Reveal = append(s.runs.Reveal, file)
	}
	rule.Origin = explanation.OriginOf("tools.allowed", e.Origin)
	s.runs.Allow = append(s.runs.Allow, rule)
}

// maxLinks is how many links may lie on the way to a file.
const maxLinks = 40

// checkRedirect returns why a path does not say which file is meant: a link that
// lies in the workspace, where a repository can put one, is on the way (SEC-20).
// It walks the path as the system would, element by element, and looks where each link
// lies and not where it leads: a link of the person's own may lead anywhere.
func (in places) checkRedirect(file string) error {
	rest := strings.Split(filepath.Clean(file), string(filepath.Separator))
	at := filepath.VolumeName(file) + string(filepath.Separator)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil {
			at = next // no link, or not there
			continue
		}
		for _, folder := range in.workspace {
			if _, inside := workspace.Below(folder, next); inside && folder != "" {
				return fmt.Errorf("%q is a link in the workspace, so that the file it leads to was chosen there; name that file itself", next)
			}
		}
		if links++; links > maxLinks {
			return fmt.Errorf("there are too many links on the way to %q", file)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(at, target)
		}
		rest = append(strings.Split(filepath.Clean(target), string(filepath.Separator)), rest...)
		at = filepath.VolumeName(target) + string(filepath.Separator)
	}
	return nil
}

// narrow reads a list of tools.core, which comes from a place: what is built in and
// not in it is not offered. An entry with an argument is none that a list of tools
// can say.
func (s *folderSettings) narrow(list []settings.Entry, from explanation.Origin) {
	var core []string
	for _, e := range list {
		rule, err := tool.ParseRule(e.Text, definition.CanonicalTool)
		if err == nil && rule.Limited() {
			err = fmt.Errorf("%q is of some calls only; name the tool here, and say in tools.allowed which of its calls need no question", e.Text)
		}
		if err != nil {
			s.problems = append(s.problems, at(e.Origin, fmt.Sprintf("tools.core: %v; the tool is not offered", err)))
			continue
		}
		core = append(core, rule.Tool)
	}
	var missing []string
	// tools.core is a list of built-in tools, and takes no tool of an MCP server away.
	for _, t := range (builtin.Config{}).Tools() {
		if name := t.Spec().Name; !tool.AnyGives(core, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		s.runs.Exclude = append(s.runs.Exclude, authority.List{Names: missing, Origin: from})
	}
}
