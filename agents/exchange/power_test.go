package exchange

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// class is a class of a glob.
var class = regexp.MustCompile(`\[\^?(.)[^\]]*\]`)

// probes are names of tools that an agent may have: all of ours, and tools of
// MCP servers and handoffs that no list names, as well as those that one does.
func probes(defs ...*definition.Definition) []string {
	names := []string{"transfer_to_somebody", "mcp.unheard.of", "mcp.github.unheard"}
	for _, t := range definition.ToolNames() {
		names = append(names, t.Name)
	}
	for _, d := range defs {
		for _, list := range [][]string{d.Tools.Allow, d.Tools.Deny, d.Confirmation.Require} {
			for _, name := range list {
				one := class.ReplaceAllString(name, "$1")
				names = append(names, name, one, strings.NewReplacer("*", "some", "?", "s").Replace(one), strings.NewReplacer("*", "", "?", "t").Replace(one))
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" }) // no tool is called so
}

// listed reports whether a list of an agent is about a tool, by the rules of spec
// 4.2; takes says that it takes away. Other tools have no classes and no escapes.
func listed(d *definition.Definition, list []string, name string, takes bool) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		if d.Dialect != definition.Agentls {
			p = strings.ReplaceAll(strings.ReplaceAll(p, `\`, `\\`), "[", `\[`)
		}
		ok, err := path.Match(p, name)
		return ok || (err != nil && takes)
	})
}

// may reports whether the lists let a tool be called.
func may(d *definition.Definition, name string) bool {
	return !listed(d, d.Tools.Deny, name, true) && (!d.Tools.Given || listed(d, d.Tools.Allow, name, false))
}

// asks reports whether a tool always asks.
func asks(d *definition.Definition, name string) bool {
	return listed(d, d.Confirmation.Require, name, true)
}

// done is what the tools that read files do, thing by thing: what a call of one does
// are such things and nothing else, without a question. agents/tool/builtin has a
// test that compares them by what they return.
var done = map[string][]string{
	"read_file":       {"shows a file by its name"},
	"grep":            {"shows text of files under any name"},
	"glob":            {"names files"},
	"ls":              {"names files"},
	"read_many_files": {"shows a file by its name", "shows text of files under any name", "names files"},
}

// able reports whether an agent may do what a tool does: by itself, or, where
// nothing in its file takes the tool away or asks for it, each thing by another that
// it may use unasked.
func able(d *definition.Definition, name string) bool {
	if may(d, name) {
		return true
	}
	if len(done[name]) == 0 || listed(d, d.Tools.Deny, name, true) || asks(d, name) {
		return false
	}
	for _, thing := range done[name] {
		found := false
		for other, things := range done {
			found = found || (slices.Contains(things, thing) && may(d, other) && !asks(d, other))
		}
		if !found {
			return false
		}
	}
	return true
}

// gains returns what to may do that from may not, one tool at a time, or "". It
// is written apart from what it tests.
func gains(from, to *definition.Definition) string { return gainsBy(from, to, may) }

// exceeds is gains for an export, where a tool is nothing new to who is able to do
// what it does.
func exceeds(from, to *definition.Definition) string { return gainsBy(from, to, able) }

func gainsBy(from, to *definition.Definition, could func(d *definition.Definition, name string) bool) string {
	for _, name := range probes(from, to) {
		if may(to, name) && !could(from, name) {
			return "the tool " + name
		}
		if may(to, name) && asks(from, name) && !asks(to, name) {
			return "the tool " + name + " without a question"
		}
	}
	all := func(names []string) bool { return slices.Contains(names, "*") }
	for _, s := range to.MCPServers {
		if !all(from.MCPServers) && !slices.Contains(from.MCPServers, s) {
			return "the MCP server " + s
		}
	}
	for _, s := range to.Subagents {
		if !all(from.Subagents) && !slices.Contains(from.Subagents, s) {
			return "the subagent " + s
		}
	}
	if len(to.Handoffs) > len(from.Handoffs) {
		return "handoffs"
	}
	for _, reason := range from.Authority {
		if !slices.Contains(to.Authority, reason) {
			return "a run, though " + reason
		}
	}
	if (from.MaxTurns > 0 && (to.MaxTurns == 0 || to.MaxTurns > from.MaxTurns)) || (from.MaxTime > 0 && (to.MaxTime == 0 || to.MaxTime > from.MaxTime)) {
		return "time or turns"
	}
	if !from.Delegable && to.Delegable {
		return "callers"
	}
	return ""
}

var dialects = []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode, definition.GeminiCLI}

// foreignName draws an entry of another tool's list, known or not.
func foreignName(d definition.Dialect) *rapid.Generator[string] {
	known := append(natives(d), "Read", "Bash", "MultiEdit", "NotebookEdit", "Nonsense", "search/codebase", "editFiles", "shell", "*", "read_file",
		"Bash(git:*)", "Edit(src/**)", "Task(a-b, c)", "Task", "mcp__github", "mcp__github__get", "mcp__a_b__c", "github/*", "github/issue", "mcp_x_*", "mcp_x_y", "mcp_*",
		"mcp.github.get", "gh_*", "Bash(*)", "mcp__gh__[ab]", "mcp__gh__a", "Ba[s]h", "[", `a\b`, "mcp__gh__a\npermissionMode:\tbypassPermissions", "mcp__gh__a: b", "transfer_to_x", "microsoft/playwright/click", "web_*", "read-file", "", " ", "a, b", "it's", `say "x"`, "#x", "漢")
	return rapid.OneOf(rapid.SampledFrom(known), rapid.SampledFrom(known), rapid.StringMatching(`[A-Za-z_./*?-]{1,12}`))
}

// foreignFile draws a file of a dialect, with lists, switches, modes and limits.
func foreignFile(t *rapid.T, d definition.Dialect) string {
	lines := []string{"name: Some Agent", "description: 'Does: things'", "emoji: 🦊 # as it was"}
	pick := func(what string) bool { return rapid.Bool().Draw(t, what) }
	names := func(what string) []string { return rapid.SliceOfN(foreignName(d), 0, 6).Draw(t, what) }
	if d == definition.GeminiCLI {
		lines = append(lines, "kind: local")
	}
	if pick("tools given") {
		switch {
		case d == definition.OpenCode:
			lines = append(lines, "tools:")
			seen := map[string]bool{}
			for _, n := range append(names("tools"), "bash") {
				if !seen[n] {
					seen[n] = true
					lines = append(lines, fmt.Sprintf("  %s: %v", definition.YAMLText(n), pick("on")))
				}
			}
		case pick("in one text"):
			lines = append(lines, "tools: "+definition.YAMLText(strings.Join(names("tools"), ", ")))
		default:
			lines = append(lines, "tools: "+listOf(names("tools")))
		}
	}
	if pick("denied") {
		lines = append(lines, "disallowedTools: "+listOf(names("denied tools")))
	}
	if pick("mode") {
		lines = append(lines, "permissionMode: "+rapid.SampledFrom([]string{"plan", "dontAsk", "acceptEdits", "bypassPermissions", "default", "strange"}).Draw(t, "mode"))
	}
	if pick("permission") {
		verdict := rapid.SampledFrom([]string{"allow", "ask", "deny", "perhaps", `{"*": ask, "rm *": deny}`, `{"*": allow, "git push": ask}`})
		if pick("one for all") {
			lines = append(lines, "permission: "+rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "verdict"))
		} else {
			lines = append(lines, "permission:")
			for _, n := range []string{"edit", "bash", "webfetch", "teleport", "external_directory"} {
				if pick(n) {
					lines = append(lines, "  "+n+": "+verdict.Draw(t, "verdict"))
				}
			}
		}
	}
	if pick("servers") {
		lines = append(lines, "mcpServers: "+rapid.SampledFrom([]string{"[github, x]", "{github: {command: run}}", "[]", "[github, {x: {command: y}}]"}).Draw(t, "servers"))
	}
	if pick("agents") {
		lines = append(lines, "agents: "+rapid.SampledFrom([]string{"[]", "[SWE, qa]", `"*"`}).Draw(t, "agents"))
	}
	if pick("authority") {
		lines = append(lines, rapid.SampledFrom([]string{"hooks: {PreToolUse: [{matcher: Bash}], Stop: []}", "isolation: worktree", "sandbox: true", "disable: true", "hooks: [x]", "hooks: {Stop: [{hooks: [{type: command, command: x}]}]}", "memory: user"}).Draw(t, "authority"))
	}
	if pick("limits") {
		lines = append(lines, rapid.SampledFrom([]string{"maxTurns: 7", "steps: 3", "timeout_mins: 900000", "max_time: 90s\nmaxCost: 0.5\nmaxTokens: 90071992547409"}).Draw(t, "limits"))
	}
	if pick("invocation") {
		lines = append(lines, "disable-model-invocation: true", "user-invocable: false")
	}
	return "---\n" + strings.Join(lines, "\n") + "\n---\n\nYou help.\n"
}

func listOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = definition.YAMLText(n)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// TestNothingGainsPower: over any lists of tools, modes, permissions, servers and
// limits: what an import makes may do no more than the file, each tool at a time;
// nor what an export of that makes than it; and the original returns.
func TestNothingGainsPower(t *testing.T) {
	imported, exported, denied := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(dialects).Draw(t, "from")
		text := foreignFile(t, from)
		file := fileOf("some-agent", from)
		original := definition.Parse(source(file, text, from))
		im, err := Import(file, []byte(text), Options{From: from})
		if err != nil {
			if ok, _ := original.Usable(); ok {
				t.Fatalf("a usable file is refused: %v\n%s", err, text)
			}
			return
		}
		imported++
		ours := definition.Parse(definition.Source{Path: im.Name + ".md", Data: im.Text})
		if ok, why := ours.Usable(); !ok {
			t.Fatalf("%v\n%s", why, im.Text)
		}
		if gained := gains(original, ours); gained != "" {
			t.Fatalf("import gains %s\n%s\n%s", gained, text, im.Text)
		}
		if original.Tools.Given && !ours.Tools.Given {
			t.Fatalf("no tools became all\n%s\n%s", text, im.Text)
		}
		if len(original.Authority) != len(ours.Authority) {
			t.Fatalf("authority %v became %v\n%s", original.Authority, ours.Authority, im.Text)
		}
		back, err := Export(im.Name+".md", im.Text, from, Options{})
		if err != nil || string(back.Data) != text || back.File != file {
			t.Fatalf("does not return: %v\n%s\n%s", err, text, im.Text)
		}
		allTold(t, back, from)
		for _, to := range dialects {
			if to != from { // what returns is the original, as was seen
				exportGainsNothing(t, ours, im.Text, to, &exported, &denied)
			}
		}
	})
	if imported == 0 || exported == 0 || denied == 0 {
		t.Errorf("%d imported, %d exported, %d denied: too few to say anything", imported, exported, denied)
	}
}

func exportGainsNothing(t *rapid.T, ours *definition.Definition, text []byte, to definition.Dialect, exported, denied *int) {
	out, err := Export(ours.Name+".md", text, to, Options{})
	if err != nil {
		*denied++
		if !restricted(ours) {
			t.Fatalf("to %s: refused without a restriction: %v\n%s", to, err, text)
		}
		forced, again := Export(ours.Name+".md", text, to, Options{Force: true})
		if again != nil {
			t.Fatalf("to %s by force: %v", to, again)
		}
		if !slices.ContainsFunc(forced.Loss, func(l Loss) bool { return l.Severity == definition.Error }) {
			t.Fatalf("to %s by force nothing is told: %v", to, forced.Loss)
		}
		return
	}
	*exported++
	theirs := definition.Parse(source(out.File, string(out.Data), to))
	if ok, why := theirs.Usable(); !ok {
		t.Fatalf("to %s: %v\n%s", to, why, out.Data)
	}
	if gained := exceeds(ours, theirs); gained != "" {
		t.Fatalf("export to %s gains %s\n%s\n%s", to, gained, text, out.Data)
	}
	if ours.Tools.Given && !theirs.Tools.Given {
		t.Fatalf("to %s: a list became all\n%s", to, out.Data)
	}
	onlyWritten(t, string(text), out, to)
	allTold(t, out, to)
}

// onlyWritten fails where another tool reads a key of an export that was not made of
// another agent's original, and that neither an export writes nor the agent's own
// file has.
func onlyWritten(t fataler, text string, out *Exported, to definition.Dialect) {
	own, _ := definition.ReadTree("", text) // which others may not be able to read
	front := asTheirs(t, string(out.Data))
	for _, k := range front.Keys {
		if !slices.Contains(written[to], k.Name) && !equal(own.Root.Get(k.Name), front.Get(k.Name)) {
			t.Fatalf("to %s: the key %s\n%s\n%s", to, k.Name, text, out.Data)
		}
	}
	head, _, _ := strings.Cut(strings.TrimPrefix(string(out.Data), "---\n"), "\n---\n")
	for line := range strings.FieldsFuncSeq(head, func(c rune) bool { return strings.ContainsRune("\n\r\u0085\u2028\u2029", c) }) {
		key, _, _ := strings.Cut(line, ":")
		if front.Get(key) == nil && !strings.HasPrefix(line, "  ") {
			t.Fatalf("to %s: a reader with other line ends reads %q\n%s", to, line, out.Data)
		}
	}
}

// written are the keys that an export writes on its own.
var written = map[definition.Dialect][]string{
	definition.Claude:    {"name", "description", "model", "tools", "disallowedTools", "maxTurns", "effort", "color"},
	definition.Copilot:   {"name", "description", "model", "tools", "agents", "user-invocable", "disable-model-invocation"},
	definition.OpenCode:  {"description", "model", "tools", "steps", "temperature", "top_p", "reasoningEffort", "color", "permission"},
	definition.GeminiCLI: {"kind", "name", "display_name", "description", "model", "tools", "max_turns", "timeout_mins", "temperature"},
}

// fataler is what fails a test: a property's or another's.
type fataler interface {
	Fatalf(format string, args ...any)
}

// others returns a file's front-matter as another tool reads it, which has no reader
// of ours; nil for what others cannot read.
func others(text string) map[string]any {
	tree, ok := definition.ReadTree("", text)
	var front map[string]any
	if !ok || tree.Repaired || yaml.Unmarshal([]byte(text[tree.Front.Start:tree.Front.End]), &front) != nil {
		return nil
	}
	return front
}

// asTheirs returns the front-matter of a file that we wrote: it fails unless others
// read the same as ours.
func asTheirs(t fataler, text string) *definition.Value {
	front := others(text)
	tree, ok := definition.ReadTree("", text)
	if !ok || !agrees(tree.Root, front) {
		t.Fatalf("others read %v\n%s", front, text)
	}
	return tree.Root
}

// equal reports whether two values say the same; numbers and booleans do as they are
// written, so that any reader makes the same of both. v may be nil.
func equal(v, w *definition.Value) bool {
	if v == nil || v.Kind != w.Kind || (v.Kind != definition.Null && v.Text != w.Text) || len(v.Items) != len(w.Items) {
		return false
	}
	for i := range v.Items {
		if (v.Kind == definition.Mapping && v.Keys[i].Name != w.Keys[i].Name) || !equal(&v.Items[i], &w.Items[i]) {
			return false
		}
	}
	return true
}

// powered is a number that the other reader takes for a text, against YAML 1.2.
var powered = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)

// agrees reports whether a value is what another reader made of it.
func agrees(v *definition.Value, a any) bool {
	switch a := a.(type) {
	case string:
		return (v.Kind == definition.String || (v.Kind == definition.Number && powered.MatchString(a))) && v.Text == a
	case bool:
		return v.Kind == definition.Boolean && strings.EqualFold(v.Text, fmt.Sprint(a))
	case nil:
		return v.Kind == definition.Null
	case []any:
		if v.Kind != definition.List || len(v.Items) != len(a) {
			return false
		}
		for i, one := range a {
			if !agrees(&v.Items[i], one) {
				return false
			}
		}
		return true
	case map[string]any:
		if v.Kind != definition.Mapping || len(v.Items) != len(a) {
			return false
		}
		for key, one := range a {
			if item := v.Get(key); item == nil || !agrees(item, one) {
				return false
			}
		}
		return true
	}
	return v.Kind == definition.Number
}

// leaves returns what is in a value, but for nothing.
func leaves(v any) (all []any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, item := range v {
			all = append(all, leaves(item)...)
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, leaves(item)...)
		}
	default:
		all = append(all, v)
	}
	return all
}

// describes reports whether a value describes an MCP server: whether it is, or holds
// in lists, an object with anything in it.
func describes(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, describes)
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// allTold fails where a key of an export gives power that has no meaning here, and
// no warning says so. It returns the front-matter as others read it.
func allTold(t fataler, out *Exported, to definition.Dialect) map[string]any {
	front := others(string(out.Data))
	for key, v := range front {
		gives := false
		switch key {
		case "hooks":
			gives = v != nil
		case "permissionMode":
			gives = v != nil && !slices.Contains([]string{"", "plan", "dontAsk", "default"}, fmt.Sprint(v))
		case "permission":
			gives = slices.ContainsFunc(leaves(v), func(leaf any) bool { return leaf != "ask" && leaf != "deny" })
		case "mcpServers":
			gives = describes(v)
		case "memory":
			word, is := v.(string)
			gives = is && !powered.MatchString(word) && to == definition.Claude
		case "tools":
			m, switches := v.(map[string]any)
			gives = (!switches && to != definition.OpenCode && strings.Contains(fmt.Sprint(v), "Bash(")) ||
				(switches && to == definition.OpenCode && m["*"] == false && (m["Nonsense"] == true || m["Bash(*)"] == true))
		}
		if gives && !slices.ContainsFunc(out.Loss, func(l Loss) bool { return l.Key == key && l.Severity == definition.Warning }) {
			t.Fatalf("to %s: %s: %v is not told: %v\n%s", to, key, v, out.Loss, out.Data)
		}
	}
	return front
}

// restricted reports whether an agent has a restriction beyond its lists of tools,
// servers and subagents, which every tool can express by a shorter list.
func restricted(d *definition.Definition) bool {
	return len(d.Confirmation.Require) > 0 || len(d.Authority) > 0 || !d.Delegable || d.MaxTurns > 0 || d.MaxTime > 0 || d.MaxTokens > 0 || d.MaxCost > 0
}

// TestOwnAgentsGainNoPower: the same for agents of ours that were never another
// tool's.
func TestOwnAgentsGainNoPower(t *testing.T) {
	var names []string
	for _, row := range definition.ToolNames() {
		names = append(names, row.Name)
	}
	names = append(names, "*", "read_*", "mcp.github.*", "mcp.github.get", "mcp.x.y", "mcp.*", "*file*", "web_?etch", "transfer_to_b", "mcp.*.get")
	odd := []string{
		"bas[h]", "[a-c]*", "[", `b\ash`, "mcp.github.[ab]", "mcp.github.a", "mcp.[^x]*", "mcp.github.é", "mcp.github.a: b", "mcp.github.a, Bash", "mcp.github.a #b",
		"mcp.github.a\npermissionMode:\tbypassPermissions", "mcp.github.a\r\nhooks: {}", "mcp.git\u2028hub.a", "mcp.git\u0085hooks: x.a", "mcp.github.\x1b[1m", `mcp.github."x"`, "mcp.a\nhooks:\n  PreToolUse: x.b",
	}
	callees := []string{"b", "c", "d-e", "folder:f", "B b", "b)", "b)\nhooks:\n  PreToolUse:\n    - hooks: [{type: command, command: x}]\nx: (y", "b\tc", "b, Bash", "[a]", "b: c", "#b"}
	names = append(names, odd...)
	exported, denied := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom(names), 0, 10)
		lines := []string{"kind: agent", "name: ours", "title: Ours"}
		pick := func(what string) bool { return rapid.Bool().Draw(t, what) }
		var tools []string
		if pick("allow") {
			reading := rapid.SampledFrom([][]string{nil, {"read_file", "ls", "glob", "grep"}, {"read_file", "grep", "ls"}, {"read_f*", "gre?", "glob"}, {"read_file", "glob"}, {"read_file", "grep"}, {"glob", "ls", "grep"}})
			tools = append(tools, "  allow: "+listOf(append(some.Draw(t, "allowed"), reading.Draw(t, "reading")...)))
		}
		if pick("deny") {
			tools = append(tools, "  deny: "+listOf(some.Draw(t, "denied")))
		}
		if pick("confirm") {
			tools = append(tools, "  confirmation: {require_confirmation: "+listOf(rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(t, "confirmed"))+"}")
		}
		if len(tools) > 0 {
			lines = append(lines, "tools:")
		}
		lines = append(lines, tools...)
		lines = append(lines, rapid.SampledFrom([]string{"mcp: {servers: [github]}", `mcp: {servers: "*"}`, "query: x", `mcp: {servers: [github, "git\u2028hub", "a\nhooks:\n  PreToolUse: x", "x: y"]}`}).Draw(t, "servers"))
		if pick("limited") {
			lines = append(lines, "subagents: "+listOf(rapid.SliceOfN(rapid.SampledFrom(callees), 0, 3).Draw(t, "subagents")))
		} else {
			lines = append(lines, rapid.SampledFrom([]string{`subagents: "*"`, "temperature: 1", "hooks: {PreToolUse: [{hooks: [{type: command, command: x}]}]}", "permission: {teleport: deny, bash: allow}"}).Draw(t, "others"))
		}
		if pick("limit") {
			lines = append(lines, "run: {max_turns: 5}")
		}
		text := "---\n" + strings.Join(lines, "\n") + "\n---\nYou help.\n"
		ours := definition.Parse(definition.Source{Path: "ours.md", Data: []byte(text)})
		if ok, why := ours.Usable(); !ok {
			t.Fatalf("%v\n%s", why, text)
		}
		for _, to := range dialects {
			exportGainsNothing(t, ours, []byte(text), to, &exported, &denied)
		}
	})
	if exported == 0 || denied == 0 {
		t.Errorf("%d exported, %d denied: too few to say anything", exported, denied)
	}
}

// TestForgedOriginals: who wrote a file of ours may have made up what it keeps of
// an original, whatever its own lists say. What that gives is told, or refused.
func TestForgedOriginals(t *testing.T) {
	returned, denied, gained := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(dialects).Draw(t, "from")
		front := strings.TrimSuffix(strings.TrimPrefix(foreignFile(t, from), "---\n"), "---\n\nYou help.\n")
		tools := rapid.SliceOfN(rapid.SampledFrom([]string{"read_file", "read_many_files", "bash", "ls", "grep", "mcp.github.get", "mcp.github.*"}), 0, 5)
		deny := rapid.SliceOfN(rapid.SampledFrom([]string{"bash", "bas[h]", "[", "write_file", "read_many*", "Nonsense"}), 0, 2)
		run := ""
		if rapid.Bool().Draw(t, "longer") && !strings.Contains(front, "max_time") {
			if run = "run: {max_time: 8784h}\n"; !strings.Contains(front, "timeout_mins") {
				front += "timeout_mins: 900000\n" // longer than an import can say
			}
		}
		text := "---\nkind: agent\nname: some-agent\ntitle: Some Agent\ndescription: 'Does: things'\ntools:\n  allow: " + listOf(tools.Draw(t, "allowed")) +
			"\n  deny: " + listOf(deny.Draw(t, "denied")) + "\n" + run + "imported:\n  from: " + string(from) + "\n  file: " + fileOf("some-agent", from) + "\n  front: " + definition.YAMLText(front) + "\n---\nYou help.\n"
		ours := definition.Parse(definition.Source{Path: "some-agent.md", Data: []byte(text)})
		if ok, why := ours.Usable(); !ok {
			t.Fatalf("%v\n%s", why, text)
		}
		out, err := Export("some-agent.md", []byte(text), from, Options{})
		if err != nil {
			denied++
			return
		}
		returned++
		read, was := allTold(t, out, from), others("---\n"+front+"\n---\nx\n")
		for key := range read {
			if _, kept := was[key]; !kept && !slices.Contains(written[from], key) {
				t.Fatalf("the key %s is nobody's\n%s\n%s", key, text, out.Data)
			}
		}
		theirs := definition.Parse(source(out.File, string(out.Data), from))
		if more := exceeds(ours, theirs); more != "" {
			if gained++; !slices.ContainsFunc(out.Loss, func(l Loss) bool {
				return l.Severity == definition.Warning && strings.HasPrefix(l.Message, "It returns as it was")
			}) {
				t.Fatalf("it gains %s, and nothing is told: %v\n%s\n%s", more, out.Loss, text, out.Data)
			}
		}
	})
	t.Logf("%d returned, %d of them with more, %d refused", returned, gained, denied)
	if returned == 0 || denied == 0 || gained == 0 {
		t.Errorf("%d returned, %d of them with more, %d refused: too few to say anything", returned, gained, denied)
	}
}
