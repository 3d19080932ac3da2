package workspace

// What an editor shows of a settings file as its author types (spec 2.9):
// findings, completions, and what a key means.

import (
	"context"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// SettingsFinding is one finding about the text of a settings file. Start and
// End are bytes of it.
type SettingsFinding struct {
	Start, End int
	Code       string // settings/json, settings/value, settings/unknown-key, settings/agent-unknown or settings/mcp-unpinned; never renamed
	Severity   string // error, warning, info or hint
	Message    string // one sentence: what, and what to do
	Fixes      []SettingsFix
}

// SettingsFix is a change of the text that removes a finding: the bytes from
// Start up to End become Text.
type SettingsFix struct {
	Title      string
	Start, End int
	Text       string
}

// SettingsNames is what a settings file may name. The zero value knows nothing:
// no name is found fault with then.
type SettingsNames struct {
	Agents []string // of agents.overrides; nil = not known
	Models []string
	Tools  []string
	// Version returns the version of a package that is on this machine already,
	// by what fetches it (npx, uvx); nil = none is known.
	Version func(fetcher, name string) (string, bool)
}

// settingShape is what a key takes, where its path has * for a name that a
// person gave and [] for an element of a list.
type settingShape struct {
	path, kind, doc string
	values          []string    // the only ones, of a list those of its elements; nil = any
	bounds          *[2]float64 // of a number, both included; nil = any
	typed           bool        // its value is checked where the settings are read
}

// The kinds of a [settingShape].
const (
	objectKind  = "object"
	textKind    = "string"
	boolKind    = "boolean"
	numberKind  = "number"
	wholeKind   = "whole number"
	textsKind   = "list of strings"
	objectsKind = "list of objects"
	anyKind     = "value"
)

// hookEvents are the keys of hooks (spec 9.2).
var hookEvents = []string{"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
	"BeforeToolSelection", "BeforeTool", "AfterTool", "PreCompress", "Notification"}

// settingShapes returns the shape of all that is read of a settings file, the
// typed keys among it. They are made once; nobody changes them.
var settingShapes = sync.OnceValue(makeSettingShapes)

// settingShapesByPath are those of settingShapes by their paths.
var settingShapesByPath = sync.OnceValue(func() map[string]*settingShape {
	shapes := settingShapes()
	byPath := make(map[string]*settingShape, len(shapes))
	for i := range shapes {
		if byPath[shapes[i].path] == nil {
			byPath[shapes[i].path] = &shapes[i]
		}
	}
	return byPath
})

func makeSettingShapes() []settingShape {
	own := "; the person's own settings only"
	list := []settingShape{
		{path: "agents", kind: objectKind, doc: "How agents run."},
		{path: "agents.compression", kind: objectKind, doc: "How long contexts are made shorter."},
		{path: "agents.inline", kind: objectKind, doc: "Commands to agents in any document."},
		{path: "agents.prompt", kind: objectKind, doc: "The system prompt of main."},
		{path: "agents.limits", kind: objectKind, doc: "What a tree of runs may use; a project can lower it only."},
		{path: "agents.routing", kind: objectKind, doc: "How an agent is picked for what names none."},
		{path: "agents.routing.llm", kind: objectKind, doc: "The model that picks an agent."},
		{path: "agents.routing.rule", kind: objectKind, doc: "Picking by triggers and examples."},
		{path: "agents.retention", kind: objectKind, doc: "Which sessions are removed" + own + "."},
		{path: "agents.tracing", kind: objectKind, doc: "Where traces of runs go" + own + "."},
		{path: "agents.memory", kind: objectKind, doc: "Where agents remember across sessions" + own + "."},
		{path: "agents.overrides", kind: objectKind, doc: "What is changed of agents, by their names."},
		{path: "agents.overrides.*", kind: objectKind,
			doc: "What is changed of this agent; a project's settings can only take away."},
		{path: "agents.overrides.*.enabled", kind: boolKind, doc: "false switches the agent off."},
		{path: "agents.overrides.*.model", kind: textKind, doc: "The agent's model" + own + "."},
		{path: "agents.overrides.*.temperature", kind: numberKind, doc: "From 0 to 2."},
		{path: "agents.overrides.*.top_p", kind: numberKind, doc: "From 0 to 1."},
		{path: "agents.overrides.*.thinking_budget", kind: wholeKind, doc: "Tokens; -1 is no limit."},
		{path: "agents.overrides.*.run", kind: objectKind, doc: "The limits of a run."},
		{path: "agents.overrides.*.run.max_turns", kind: wholeKind, doc: "Turns of a run, from 1."},
		{path: "agents.overrides.*.run.max_time", kind: anyKind, doc: "Seconds, or a duration such as \"5m\"."},
		{path: "agents.overrides.*.run.max_tokens", kind: wholeKind, doc: "Tokens of a run, prompt and output."},
		{path: "agents.overrides.*.run.max_cost", kind: numberKind, doc: "What a run may cost, in USD."},
		{path: "agents.overrides.*.run.mode", kind: textKind, doc: "Whether a run is a chat or a task.",
			values: []string{"chat", "task"}},
		{path: "agents.overrides.*.tools", kind: objectKind, doc: "Which tools the agent has."},
		{path: "agents.overrides.*.tools.allow", kind: textsKind,
			doc: "The agent's tools, by name or glob; a project's list takes away what it does not name."},
		{path: "agents.overrides.*.tools.deny", kind: textsKind, doc: "Tools that the agent does not get."},
		{path: "model", kind: objectKind, doc: "Models."},
		{path: "model.routes", kind: objectsKind, doc: "Rules of the model auto, the first that fits" + own + "."},
		{path: "model.routes.[].model", kind: textKind, doc: "The model where the rule fits."},
		{path: "model.routes.[].when", kind: objectKind, doc: "What must hold of a run; all of it."},
		{path: "model.routes.[].when.minTokens", kind: wholeKind, doc: "The context has at least so many tokens."},
		{path: "model.routes.[].when.maxTokens", kind: wholeKind, doc: "The context has at most so many tokens."},
		{path: "model.routes.[].when.images", kind: boolKind, doc: "Whether there are images in the context."},
		{path: "model.routes.[].when.mode", kind: textKind, doc: "The run's mode.", values: []string{"chat", "task"}},
		{path: "model.routes.[].when.tools", kind: textsKind, doc: "Tools that the agent is offered, all of them."},
		{path: "model.table", kind: objectsKind, doc: "Rows that are added to the table of models" + own + "."},
		{path: "security", kind: objectKind, doc: "What agents may do" + own + "."},
		{path: "tools", kind: objectKind, doc: "Which tools there are, and which calls need no question."},
		{path: "tools.sandbox", kind: objectKind, doc: "What the wall around commands lets through" + own + "."},
		{path: "providers", kind: objectKind, doc: "Providers of models" + own + "."},
	}
	list = append(list, nestedShapes(own)...)
	standard := defaultSettings()
	for _, k := range settingKeys() {
		s := settingShape{path: k.key, doc: k.doc, values: k.values, bounds: k.bounds, typed: true}
		switch v, _ := k.get(standard); v.(type) {
		case bool:
			s.kind = boolKind
		case int:
			s.kind = wholeKind
		case float64:
			s.kind = numberKind
		case []string:
			s.kind = textsKind
		default:
			s.kind = textKind
		}
		list = append(list, s)
	}
	return list
}

// nestedShapes are those of MCP servers and hooks; own is said of what only the person's
// own settings have.
func nestedShapes(own string) []settingShape {
	return []settingShape{
		{path: "mcpServers", kind: objectKind, doc: "MCP servers by their names."},
		{path: "mcpServers.*", kind: objectKind, doc: "An MCP server: a command to start, or an address."},
		{path: "mcpServers.*.command", kind: textKind, doc: "The executable that is the server."},
		{path: "mcpServers.*.args", kind: textsKind, doc: "The executable's arguments."},
		{path: "mcpServers.*.env", kind: objectKind,
			doc: "Variables that the server gets; ${NAME} is taken from the environment."},
		{path: "mcpServers.*.cwd", kind: textKind, doc: "The folder in which the server is started."},
		{path: "mcpServers.*.url", kind: textKind, doc: "The address of a server that speaks SSE."},
		{path: "mcpServers.*.httpUrl", kind: textKind, doc: "The address of a server that speaks streamable HTTP."},
		{path: "mcpServers.*.headers", kind: objectKind, doc: "Headers of each request."},
		{path: "mcpServers.*.timeout", kind: numberKind,
			doc: "The hard end of a call in ms; 600000 where it is not given."},
		{path: "mcpServers.*.trust", kind: boolKind, doc: "Whether its calls need no question" + own + "."},
		{path: "mcpServers.*.safeTools", kind: textsKind, doc: "Its tools that only read" + own + "."},
		{path: "mcpServers.*.sampling", kind: boolKind,
			doc: "Whether it may have your model answer something; you are asked each time" + own + "."},
		{path: "mcpServers.*.includeTools", kind: textsKind, doc: "Its only tools that are offered."},
		{path: "mcpServers.*.excludeTools", kind: textsKind, doc: "Its tools that are not offered."},
		{path: "mcpServers.*.description", kind: textKind, doc: "What the server is for."},
		{path: "mcpServers.*.autoStart", kind: boolKind,
			doc: "Whether it is started with the workspace, and not on first need."},
		{path: "mcpServers.*.oauth", kind: objectKind,
			doc: "How you log in at a server over HTTP; `agentls mcp-servers login NAME` does it."},
		{path: "mcpServers.*.oauth.enabled", kind: boolKind, doc: "false: no login is used."},
		{path: "mcpServers.*.oauth.clientId", kind: textKind,
			doc: "What agentls is called there; without it, agentls registers itself."},
		{path: "mcpServers.*.oauth.clientSecret", kind: textKind,
			doc: "The secret of a client that has one, as ${NAME}."},
		{path: "mcpServers.*.oauth.scopes", kind: textsKind, doc: "What is asked for."},
		{path: "mcpServers.*.oauth.authorizationUrl", kind: textKind,
			doc: "Where you log in, where the server does not say it" + own + "."},
		{path: "mcpServers.*.oauth.tokenUrl", kind: textKind,
			doc: "Where the token comes from, where the server does not say it" + own + "."},
		{path: "mcpServers.*.oauth.registrationUrl", kind: textKind,
			doc: "Where agentls registers itself, where the server does not say it" + own + "."},
		{path: "mcpServers.*.oauth.redirectUri", kind: textKind,
			doc: "An address of this machine that the answer comes to, as http://localhost:7777/oauth/callback."},
		{path: "hooks", kind: objectKind, doc: "Commands that are run at points of a run, by event."},
		{path: "hooks.*", kind: objectsKind,
			doc: "What is run at this event; all in parallel where none is sequential."},
		{path: "hooks.*.[].matcher", kind: textKind,
			doc: "A regular expression over the tool's name, or the trigger; all where it is not given."},
		{path: "hooks.*.[].sequential", kind: boolKind,
			doc: "Whether its hooks are run one after another, and each sees what those before it changed."},
		{path: "hooks.*.[].hooks", kind: objectsKind, doc: "The commands."},
		{path: "hooks.*.[].hooks.[].type", kind: textKind, doc: "What kind of hook it is.",
			values: []string{"command"}},
		{path: "hooks.*.[].hooks.[].command", kind: textKind,
			doc: "A line for bash, as it is; with args an executable. It gets JSON on its standard input."},
		{path: "hooks.*.[].hooks.[].args", kind: textsKind, doc: "The arguments of an executable."},
		{path: "hooks.*.[].hooks.[].timeout", kind: numberKind,
			doc: "Milliseconds, at most 600000; 60000 where it is not given."},
		{path: "hooks.*.[].hooks.[].name", kind: textKind, doc: "What it is called in messages."},
		{path: "hooks.*.[].hooks.[].description", kind: textKind, doc: "What it is for."},
		{path: "hooks.*.[].hooks.[].env", kind: objectKind,
			doc: "Variables that it gets; ${NAME} is taken from the environment."},
		{path: "hooks.*.[].hooks.[].sandbox", kind: textKind,
			doc: "The wall that confines it: read, write or full; the person's own settings only: a project's always has write.", values: []string{"read", "write", "full"}},
		{path: "hooks.*.[].hooks.[].sequential", kind: boolKind,
			doc: "Whether it is run after the one before, and sees what that changed."},
	}
}

// shapeOf returns the shape of a path, nil where there is none.
func shapeOf(path []string) *settingShape { return settingShapesByPath()[genericPath(path)] }

// genericPath returns a path with * for the names in it.
func genericPath(path []string) string {
	name := -1
	switch {
	case len(path) > 2 && path[0] == "agents" && path[1] == "overrides":
		name = 2
	case len(path) > 1 && (path[0] == "mcpServers" || path[0] == "hooks"):
		name = 1
	}
	var b strings.Builder
	for i, key := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if i == name {
			key = "*"
		}
		b.WriteString(key)
	}
	return b.String()
}

// keysBelow returns the shapes of the keys that the object at path may have; nil
// where they are names.
func keysBelow(shapes []settingShape, path []string) []settingShape {
	generic := genericPath(path)
	prefix := generic + "."
	if len(path) == 0 {
		prefix = ""
	}
	if generic == "hooks" {
		var events []settingShape
		row := shapeOf([]string{"hooks", "*"})
		for _, name := range hookEvents {
			events = append(events, settingShape{path: "hooks." + name, kind: row.kind, doc: row.doc})
		}
		return events
	}
	var keys []settingShape
	for _, s := range shapes {
		if rest, ok := strings.CutPrefix(s.path, prefix); ok && rest != "" && rest != "*" && rest != "[]" &&
			!strings.Contains(rest, ".") {
			keys = append(keys, s)
		}
	}
	return keys
}

// name returns the last part of the shape's path.
func (s *settingShape) name() string { return s.path[strings.LastIndexByte(s.path, '.')+1:] }

// DiagnoseSettings returns the findings about a settings file in the order of
// its text. under are the files that it stands over, as the person's own under a
// project's: some of a project's values count only where they are stricter. The
// cost is linear in the text. The error is ctx's.
func DiagnoseSettings(ctx context.Context, source SettingsSource, names SettingsNames,
	under ...SettingsSource) ([]SettingsFinding, error) {
	d := settingsReader{ctx: ctx, content: withoutBOM(source.Content), scope: source.Scope, names: names,
		shapes: settingShapes(), told: make(map[int]bool)}
	lines := startsOf(d.content)
	root, err := parseJSON(d.content)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		line, column, message := syntaxError(err)
		start := lines.offset(line, column, len(d.content))
		d.find(start, lineEndAt(d.content, start), "settings/json", "error",
			"The file is ignored: %s; fix it here.", message)
		return d.findings, nil
	}
	d.ends = make(map[int]int)
	d.places(&root)
	var all []exposable
	for _, other := range under {
		all = append(all, exposable{SettingsSource: other, checked: true})
	}
	merged := mergeSettings(append(all, exposable{SettingsSource: source, root: &root, checked: true}))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, p := range merged.Problems {
		if p.File == source.File && len(d.findings) < maxSettingsFindings {
			start := lines.offset(p.Line, p.Column, len(d.content))
			severity := "error"
			if strings.HasSuffix(p.Message, "the last one counts") {
				severity = "warning"
			}
			d.find(start, max(start, d.ends[start]), "settings/value", severity, "%s.", upperFirst(p.Message))
		}
	}
	if object, ok := root.Value.(*hujson.Object); ok {
		d.object(object, nil)
	}
	slices.SortStableFunc(d.findings, func(a, b SettingsFinding) int { return a.Start - b.Start })
	return d.findings, ctx.Err()
}

// settingsReader is one run of DiagnoseSettings.
type settingsReader struct {
	ctx      context.Context
	content  []byte
	scope    Scope
	names    SettingsNames
	shapes   []settingShape
	ends     map[int]int  // of names and values, by where they start
	told     map[int]bool // where a value is said to be wrong
	findings []SettingsFinding
}

// maxSettingsFindings is how many findings of one file are told: more help nobody.
const maxSettingsFindings = 500

// settingsAtOnce is after how many members it is looked whether anybody still wants
// to know.
const settingsAtOnce = 64

func (d *settingsReader) find(start, end int, code, severity, format string, args ...any) *SettingsFinding {
	if len(d.findings) == maxSettingsFindings {
		return new(SettingsFinding)
	}
	if code == "settings/value" {
		d.told[start] = true
	}
	d.findings = append(d.findings, SettingsFinding{Start: start, End: end, Code: code, Severity: severity,
		Message: fmt.Sprintf(format, args...)})
	return &d.findings[len(d.findings)-1]
}

// places notes where names and values end.
func (d *settingsReader) places(v *hujson.Value) {
	d.ends[v.StartOffset] = v.EndOffset
	switch value := v.Value.(type) {
	case *hujson.Object:
		for i := range value.Members {
			m := &value.Members[i]
			d.ends[m.Name.StartOffset] = m.Name.EndOffset
			d.places(&m.Value)
		}
	case *hujson.Array:
		for i := range value.Elements {
			d.places(&value.Elements[i])
		}
	}
}

// object checks the members of an object that has a shape.
func (d *settingsReader) object(object *hujson.Object, path []string) {
	keys := keysBelow(d.shapes, path)
	for i := range object.Members {
		if len(d.findings) == maxSettingsFindings || (i%settingsAtOnce == 0 && d.ctx.Err() != nil) {
			return
		}
		m := &object.Members[i]
		name := memberName(m)
		inner := append(slices.Clone(path), name)
		if d.scope == ProjectScope && whyNotProject(inner) != "" {
			continue
		}
		shape := shapeOf(inner)
		if len(path) == 1 && path[0] == "hooks" && (name == "enabled" || name == "disabled") {
			continue // gemini-cli's switches
		}
		if len(path) == 1 && path[0] == "hooks" && !slices.Contains(hookEvents, name) && name != "ToolNotification" {
			shape = nil
		}
		if shape == nil {
			d.unknown(m, path, keys)
			continue
		}
		if genericPath(inner) == "agents.overrides.*" && d.names.Agents != nil &&
			!slices.Contains(d.names.Agents, name) {
			d.reportName(m, "settings/agent-unknown", "warning",
				fmt.Sprintf("There is no agent %s", name), d.names.Agents)
		}
		if m.Value.Value.Kind() != 'n' {
			d.value(&m.Value, inner, shape)
		}
	}
	if genericPath(path) == "mcpServers.*" {
		d.server(object)
	}
}

// unknown reports a key that nothing reads. Sections that gemini-cli has keys in
// are silent about what is like none of ours.
func (d *settingsReader) unknown(m *hujson.ObjectMember, path []string, keys []settingShape) {
	if keys == nil {
		return
	}
	known := make([]string, len(keys))
	for i := range keys {
		known[i] = keys[i].name()
	}
	name := memberName(m)
	if foreign := len(path) == 0 || (path[0] != "agents" && len(path) == 1 && path[0] != "hooks"); foreign &&
		nearestKey(name, known) == "" {
		return
	}
	d.reportName(m, "settings/unknown-key", "hint", fmt.Sprintf("The key %s is not known and has no effect",
		strings.Join(append(slices.Clone(path), name), ".")), known)
}

// reportName reports a name, with the one that was meant if there is one.
func (d *settingsReader) reportName(m *hujson.ObjectMember, code, severity, what string, known []string) {
	start, end := m.Name.StartOffset, m.Name.EndOffset
	meant := nearestKey(memberName(m), known)
	if meant == "" {
		d.find(start, end, code, severity, "%s; correct or remove it.", what)
		return
	}
	f := d.find(start, end, code, severity, "%s; did you mean %s?", what, meant)
	f.Fixes = []SettingsFix{{Title: "Change to " + meant, Start: start, End: end, Text: string(hujson.String(meant))}}
}

// value checks a value against its shape.
func (d *settingsReader) value(v *hujson.Value, path []string, shape *settingShape) {
	key := strings.Join(path, ".")
	wrong := func(at *hujson.Value, format string, args ...any) {
		if !shape.typed && !d.told[at.StartOffset] {
			d.find(at.StartOffset, at.EndOffset, "settings/value", "error", "%s %s.", key, fmt.Sprintf(format, args...))
		}
	}
	switch value := v.Value.(type) {
	case *hujson.Object:
		if shape.kind == objectKind {
			d.object(value, path)
			return
		}
	case *hujson.Array:
		if shape.kind == textsKind || shape.kind == objectsKind {
			for i := range value.Elements {
				e := &value.Elements[i]
				switch inner, ok := e.Value.(*hujson.Object); {
				case shape.kind == textsKind && e.Value.Kind() != '"':
					wrong(e, "must be a list of strings; element %d is %s", i+1, kindName(e))
				case shape.kind == objectsKind && !ok:
					wrong(e, "must be a list of objects; element %d is %s", i+1, kindName(e))
				case ok:
					d.object(inner, append(slices.Clone(path), "[]"))
				}
			}
			return
		}
	case hujson.Literal:
		switch {
		case shape.kind == anyKind, shape.kind == boolKind && (v.Value.Kind() == 't' || v.Value.Kind() == 'f'),
			shape.kind == numberKind && v.Value.Kind() == '0',
			shape.kind == wholeKind && v.Value.Kind() == '0' && !strings.ContainsAny(string(value), ".eE"):
			return
		case shape.kind == textKind && v.Value.Kind() == '"':
			text := value.String()
			if shape.values != nil && !slices.Contains(shape.values, text) {
				wrong(v, "must be %s, not %q", strings.Join(shape.values, " or "), text)
			} else if shape.name() == "matcher" && text != "*" {
				if _, err := syntax.Parse(text, syntax.Perl); err != nil {
					wrong(v, "does not compile: %v; correct the pattern", err)
				}
			}
			return
		}
	}
	article := "a "
	if shape.kind == objectKind {
		article = "an "
	}
	wrong(v, "must be %s, not %s", article+shape.kind, kindName(v))
}
