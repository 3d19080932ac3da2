package workspace

import (
	"strings"
	"sync"

	"github.com/agentls/agentls/internal/settings"
)

// SettingsRow is one key of a settings file: what editors are told of it, and the
// reference page and the JSON Schema of settings. Nobody changes what rows share.
type SettingsRow struct {
	Key     string      // with dots: * is a name that a person gives, [] an element of a list
	Kind    string      // object, string, boolean, number, whole number, list of strings, list of objects, value
	Doc     string      // what it means, in one sentence
	Values  []string    // all that it, or an element of its list, may be; nil = any
	Bounds  *[2]float64 // the least and the most of a number; nil = any
	Default any         // nil = none
	Own     bool        // a project's file cannot set it

	typed bool // its value is checked where the settings are read
}

// The kinds of a [SettingsRow].
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

// SettingsReference returns all keys that are read of a settings file, an object
// before what is in it. The caller must not change what the rows share.
func SettingsReference() []SettingsRow { return settingRows() }

// settingRows returns the rows of all that is read of a settings file. They are made
// once; nobody changes them.
var settingRows = sync.OnceValue(func() []SettingsRow {
	rows := append(sectionRows(), nestedRows()...)
	defaults := settings.Defaults()
	for _, k := range settingKeys(&defaults) {
		r := SettingsRow{Key: k.key, Kind: k.kind(), Doc: k.doc, Values: k.values, Default: k.value(), typed: true}
		if r.Kind == numberKind || r.Kind == wholeKind {
			r.Bounds = &[2]float64{k.least, k.most}
		}
		if list, isList := r.Default.([]string); r.Default == "" || (isList && len(list) == 0) {
			r.Default = nil
		}
		rows = append(rows, r)
	}
	// Own comes from the rule that restricts files, so editors and loader agree.
	for i := range rows {
		rows[i].Own = ownOnly(strings.Split(rows[i].Key, "."))
	}
	return rows
})

// settingRowsByKey are those of settingRows by their keys.
var settingRowsByKey = sync.OnceValue(func() map[string]*SettingsRow {
	rows := settingRows()
	byKey := make(map[string]*SettingsRow, len(rows))
	for i := range rows {
		byKey[rows[i].Key] = &rows[i]
	}
	return byKey
})

// row returns a row of a key; values are all that it may be, none = any.
func row(key, kind, doc string, values ...string) SettingsRow {
	return SettingsRow{Key: key, Kind: kind, Doc: doc, Values: values}
}

// sectionRows are those of sections, of what agents are overridden with, and of the
// lists of models.
func sectionRows() []SettingsRow {
	return []SettingsRow{
		row("agents", objectKind, "How agents run."),
		row("agents.compression", objectKind, "How long contexts are made shorter."),
		row("agents.inline", objectKind, "Commands to agents in any document."),
		row("agents.prompt", objectKind, "The system prompt of main."),
		row("agents.limits", objectKind, "What a tree of runs may use; a project can lower it only."),
		row("agents.routing", objectKind, "How an agent is picked for what names none."),
		row("agents.routing.llm", objectKind, "The model that picks an agent."),
		row("agents.routing.rule", objectKind, "Picking by triggers and examples."),
		row("agents.retention", objectKind, "Which sessions are removed; the person's own settings only."),
		row("agents.tracing", objectKind, "Where traces of runs go; the person's own settings only."),
		row("agents.memory", objectKind, "Where agents remember across sessions; the person's own settings only."),
		row("agents.overrides", objectKind, "What is changed of agents, by their names."),
		row("agents.overrides.*", objectKind,
			"What is changed of this agent; a project's settings can only take away."),
		row("agents.overrides.*.enabled", boolKind, "false switches the agent off."),
		row("agents.overrides.*.model", textKind, "The agent's model; the person's own settings only."),
		row("agents.overrides.*.temperature", numberKind, "From 0 to 2."),
		row("agents.overrides.*.top_p", numberKind, "From 0 to 1."),
		row("agents.overrides.*.thinking_budget", wholeKind, "Tokens; -1 is no limit."),
		row("agents.overrides.*.run", objectKind, "The limits of a run."),
		row("agents.overrides.*.run.max_turns", wholeKind, "Turns of a run, from 1."),
		row("agents.overrides.*.run.max_time", anyKind, "Seconds, or a duration such as \"5m\"."),
		row("agents.overrides.*.run.max_tokens", wholeKind, "Tokens of a run, prompt and output."),
		row("agents.overrides.*.run.max_cost", numberKind, "What a run may cost, in USD."),
		row("agents.overrides.*.run.mode", textKind, "Whether a run is a chat or a task.", "chat", "task"),
		row("agents.overrides.*.tools", objectKind, "Which tools the agent has."),
		row("agents.overrides.*.tools.allow", textsKind,
			"The agent's tools, by name or glob; a project's list takes away what it does not name."),
		row("agents.overrides.*.tools.deny", textsKind, "Tools that the agent does not get."),
		row("model", objectKind, "Models."),
		row("model.routes", objectsKind,
			"Rules of the model auto, the first that fits; the person's own settings only."),
		row("model.routes.[].model", textKind, "The model where the rule fits."),
		row("model.routes.[].when", objectKind, "What must hold of a run; all of it."),
		row("model.routes.[].when.minTokens", wholeKind, "The context has at least so many tokens."),
		row("model.routes.[].when.maxTokens", wholeKind, "The context has at most so many tokens."),
		row("model.routes.[].when.images", boolKind, "Whether there are images in the context."),
		row("model.routes.[].when.mode", textKind, "The run's mode.", "chat", "task"),
		row("model.routes.[].when.tools", textsKind, "Tools that the agent is offered, all of them."),
		row("model.table", objectsKind, "Rows that are added to the table of models; the person's own settings only."),
		row("security", objectKind, "What agents may do; the person's own settings only."),
		row("tools", objectKind, "Which tools there are, and which calls need no question."),
		row("tools.sandbox", objectKind, "What the wall around commands lets through; the person's own settings only."),
		row("env", objectKind,
			"Variables that say how models are reached, as GEMINI_API_KEY; the environment counts over them; the person's own settings only."),
	}
}

// nestedRows are those of MCP servers and hooks.
func nestedRows() []SettingsRow {
	return []SettingsRow{
		row("mcpServers", objectKind, "MCP servers by their names."),
		row("mcpServers.*", objectKind, "An MCP server: a command to start, or an address."),
		row("mcpServers.*.command", textKind, "The executable that is the server."),
		row("mcpServers.*.args", textsKind, "The executable's arguments."),
		row("mcpServers.*.env", objectKind, "Variables that the server gets; ${NAME} is taken from the environment."),
		row("mcpServers.*.cwd", textKind, "The folder in which the server is started."),
		row("mcpServers.*.url", textKind, "The address of a server that speaks SSE."),
		row("mcpServers.*.httpUrl", textKind, "The address of a server that speaks streamable HTTP."),
		row("mcpServers.*.headers", objectKind, "Headers of each request."),
		row("mcpServers.*.timeout", numberKind, "The hard end of a call in ms; 600000 where it is not given."),
		row("mcpServers.*.trust", boolKind, "Whether its calls need no question; the person's own settings only."),
		row("mcpServers.*.safeTools", textsKind, "Its tools that only read; the person's own settings only."),
		row("mcpServers.*.sampling", boolKind,
			"Whether it may have your model answer something; you are asked each time; the person's own settings only."),
		row("mcpServers.*.includeTools", textsKind, "Its only tools that are offered."),
		row("mcpServers.*.excludeTools", textsKind, "Its tools that are not offered."),
		row("mcpServers.*.description", textKind, "What the server is for."),
		row("mcpServers.*.autoStart", boolKind, "Whether it is started with the workspace, and not on first need."),
		row("mcpServers.*.sandbox", textKind,
			"The wall around its command: read, write or full; none in the person's own settings, write in a project's.",
			"read", "write", "full"),
		row("mcpServers.*.oauth", objectKind,
			"How you log in at a server over HTTP; `agentls mcp-servers login NAME` does it."),
		row("mcpServers.*.oauth.enabled", boolKind, "false: no login is used."),
		row("mcpServers.*.oauth.clientId", textKind,
			"What agentls is called there; without it, agentls registers itself."),
		row("mcpServers.*.oauth.clientSecret", textKind, "The secret of a client that has one, as ${NAME}."),
		row("mcpServers.*.oauth.scopes", textsKind, "What is asked for."),
		row("mcpServers.*.oauth.issuer", textKind,
			"Who must have sent the answer of a login, where your settings say where you log in (RFC 9207)."),
		row("mcpServers.*.oauth.authorizationUrl", textKind,
			"Where you log in, where the server does not say it; the person's own settings only."),
		row("mcpServers.*.oauth.tokenUrl", textKind,
			"Where the token comes from, where the server does not say it; the person's own settings only."),
		row("mcpServers.*.oauth.registrationUrl", textKind,
			"Where agentls registers itself, where the server does not say it; the person's own settings only."),
		row("mcpServers.*.oauth.redirectUri", textKind,
			"An address of this machine that the answer comes to, as http://localhost:7777/oauth/callback."),
		row("hooks", objectKind, "Commands that are run at points of a run, by event."),
		row("hooks.*", objectsKind, "What is run at this event; all in parallel where none is sequential."),
		row("hooks.*.[].matcher", textKind,
			"A regular expression over the tool's name, or the trigger; all where it is not given."),
		row("hooks.*.[].sequential", boolKind,
			"Whether its hooks are run one after another, and each sees what those before it changed."),
		row("hooks.*.[].hooks", objectsKind, "The commands."),
		row("hooks.*.[].hooks.[].type", textKind, "What kind of hook it is.", "command"),
		row("hooks.*.[].hooks.[].command", textKind,
			"A line for bash, as it is; with args an executable. It gets JSON on its standard input."),
		row("hooks.*.[].hooks.[].args", textsKind, "The arguments of an executable."),
		row("hooks.*.[].hooks.[].timeout", numberKind, "Milliseconds, at most 600000; 60000 where it is not given."),
		row("hooks.*.[].hooks.[].name", textKind, "What it is called in messages."),
		row("hooks.*.[].hooks.[].description", textKind, "What it is for."),
		row("hooks.*.[].hooks.[].env", objectKind, "Variables that it gets; ${NAME} is taken from the environment."),
		row("hooks.*.[].hooks.[].sandbox", textKind,
			"The wall that confines it: read, write or full; the person's own settings only: a project's always has write.", "read", "write", "full"),
		row("hooks.*.[].hooks.[].sequential", boolKind,
			"Whether it is run after the one before, and sees what that changed."),
	}
}
