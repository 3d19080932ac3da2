package definition

// What an installation has, which a file alone does not say: findings that need
// the settings.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/pattern"
)

// Installed answers what findings of spec 1.5 need to know of the settings. A
// func that is nil does not know, and nothing is said then. They are called on
// the goroutine of Parse; folder is the agent's workspace folder, "" for one that
// has none. Slices are not changed.
// They must be fast and safe for concurrent use: files are parsed on several
// goroutines, and while somebody types.
type Installed struct {
	// Models are the names that a misspelt model may have meant.
	Models func() []string
	// Retired reports whether a model is retired, and the id or alias that runs in
	// its place; "" where none is known.
	Retired func(model string) (successor string, retired bool)
	// Sampling reports whether a model takes a temperature and a top_p; true for one
	// that is not known.
	Sampling func(model string) bool
	// Servers are the names of the configured MCP servers.
	Servers func(folder string) []string
	// ServerTools are the tools of a configured server, by the server's own names,
	// and false while it is not connected.
	ServerTools func(folder, server string) (tools []string, connected bool)
	// Validator reports whether a guard's validator exists (spec 6.1): command:…
	// or a bare name, which is none of the built-in ones.
	Validator func(folder, validator string) bool
	// Expression says why a condition does not compile, nil for one that does, and
	// how large it is, as pattern.Size has it. names are what it may ask for; none is all.
	Expression func(condition string, names ...string) (size int, err error)
}

// checkRetired reports a model that does not answer any more.
// id is the model's, name what is written, which may be an alias.
func (r *reader) checkRetired(id, name string, start, end int) {
	if r.source.Installed.Retired == nil {
		return
	}
	successor, retired := r.source.Installed.Retired(id)
	switch {
	case !retired:
	case successor == "":
		r.report("agent/model-retired", Warning, start, end,
			fmt.Sprintf("The model %s is retired, and what follows it is not known; choose another.", name))
	default:
		r.suggest("agent/model-retired", Warning, start, end, successor,
			fmt.Sprintf("The model %s is retired and runs as %s; write that.", name, successor))
	}
}

// modelUnknown reports a model that nobody has.
func (r *reader) modelUnknown(name string, start, end int) {
	meant := ""
	if r.source.Installed.Models != nil {
		meant = r.nearest(name, r.source.Installed.Models())
	}
	message := fmt.Sprintf("The model %s is not known and no configured provider has it; ", name)
	if meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "correct it, or configure its provider."
	}
	r.suggest("agent/model-unknown", Warning, start, end, meant, message)
}

// serversKnown returns the configured servers, and whether they are known.
func (r *reader) serversKnown() ([]string, bool) {
	if r.source.Installed.Servers == nil {
		return nil, false
	}
	return r.source.Installed.Servers(r.Folder), true
}

// checkServer reports a server of mcp.servers that is not configured.
// * is never reported. In another tool's file it is a hint, since that tool has servers
// of its own.
func (r *reader) checkServer(name listed) {
	servers, known := r.serversKnown()
	if !known || name.name == "*" || slices.Contains(servers, name.name) {
		return
	}
	severity := Error
	if r.Dialect != Agentls {
		severity = Hint
	}
	meant := r.nearest(name.name, servers)
	message := fmt.Sprintf("The MCP server %s is not configured and is left out; ", name.name)
	if meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "describe it in the settings under mcpServers."
	}
	r.suggest("agent/mcp-unknown", severity, name.start, name.end, meant, message)
}

// checkServerTool reports a tool mcp.<server>.<tool> that no configured server
// has, or whose server is not connected, so that nobody knows.
// In the file of another tool all of that is a hint, because the file works there.
func (r *reader) checkServerTool(canonical string, name listed) {
	rest, ok := strings.CutPrefix(canonical, "mcp.")
	servers, known := r.serversKnown()
	if !ok || !known {
		return
	}
	severity := Error
	if r.Dialect != Agentls {
		severity = Hint
	}
	server, tool, _ := strings.Cut(rest, ".")
	// A glob over servers may match one that is not configured now.
	if strings.ContainsAny(server, "*?") {
		return
	}
	if !slices.Contains(servers, server) {
		message := fmt.Sprintf("The MCP server %s of this tool is not configured, so the tool is left out; ", server)
		meant := respell(name.name, server, r.nearest(server, servers), false)
		if meant != "" {
			message += "did you mean " + meant + "?"
		} else {
			message += "describe it in the settings under mcpServers."
		}
		r.suggest("agent/tool-unknown", severity, name.start, name.end, meant, message)
		return
	}
	var tools []string
	connected := false
	if r.source.Installed.ServerTools != nil {
		tools, connected = r.source.Installed.ServerTools(r.Folder, server)
	}
	if !connected {
		r.report("agent/tool-unverified", Hint, name.start, name.end,
			fmt.Sprintf("The MCP server %s is not connected, so whether it has this tool is not known yet.", server))
		return
	}
	if slices.ContainsFunc(tools, func(have string) bool { return MatchTool(tool, have) }) {
		return
	}
	message := fmt.Sprintf("The MCP server %s has no such tool, and it is left out", server)
	meant := respell(name.name, tool, r.nearest(tool, tools), true)
	if meant != "" {
		message += "; did you mean " + meant + "?"
	} else {
		message += "; correct it."
	}
	r.suggest("agent/tool-unknown", severity, name.start, name.end, meant, message)
}

// condition reports a condition that does not compile, or asks for something that is not
// among names, and whether neither is so. Without names it may ask for everything.
// It is true as well where there is nobody to compile it, and for no node. A condition
// that is not compiled, because the file has too many, counts as wrong.
func (r *reader) condition(v *node, text string, names ...string) bool {
	if r.source.Installed.Expression == nil || v == nil {
		return true
	}
	// Editors ask while somebody types, so a file's conditions share one limit with its patterns.
	if r.spent > pattern.PerFile {
		if !r.crowded {
			r.at(v, "agent/expression", Error,
				"The file has more patterns and conditions than can be judged quickly, so this condition and those after it are left out; write fewer.")
		}
		r.crowded = true
		return false
	}
	size, err := r.source.Installed.Expression(text, names...)
	r.spent += size
	if err != nil {
		r.at(v, "agent/expression", Error, "The condition does not compile: %s.",
			strings.TrimSuffix(strings.ReplaceAll(fault.Message(err), "\n", " "), "."))
		return false
	}
	return true
}
