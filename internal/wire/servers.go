package wire

import "fmt"

type (
	// MCPListParams asks for the MCP servers of a workspace folder.
	MCPListParams struct {
		Folder string `json:"folder,omitempty"` // a workspace folder, as a URI; absent = the first
	}

	// MCPListResult is the servers that the settings describe, by name, also those
	// that cannot be started.
	MCPListResult struct {
		Servers []MCPServer `json:"servers"`
	}

	// MCPServer is an MCP server and what is known of it. What the server says itself
	// (title, version, tools, stderr) is text of a stranger's.
	MCPServer struct {
		// The key in the settings.
		Name    string `json:"name"`
		Scope   string `json:"scope"`             // project, global: whose settings describe it
		Command string `json:"command,omitempty"` // without its arguments
		URL     string `json:"url,omitempty"`     // of a server over HTTP, as the settings write it
		// As the settings have it.
		Description string `json:"description,omitempty"`
		State       string `json:"state"`         // idle, starting, ready, failed, stopped, unusable
		Why         string `json:"why,omitempty"` // for the person
		// What the server calls itself.
		Title string `json:"title,omitempty"`
		// The server's own.
		Version string `json:"version,omitempty"`
		// Since it was started; absent while it does not run.
		UptimeMs int64     `json:"uptimeMs,omitzero"`
		Tools    []MCPTool `json:"tools"`             // that agents are offered, or were when it ran last
		Pending  []MCPTool `json:"pending,omitempty"` // that are new or changed, and are not offered until the person approves them
		LeftOut  []string  `json:"leftOut,omitempty"` // tools that cannot be offered, with the reasons
		// Calls of its tools since the daemon began.
		Calls int `json:"calls"`
		// Those of them that failed.
		Errors int     `json:"errors"`
		P50Ms  float64 `json:"p50Ms,omitzero"` // of the calls that were answered
		// Of the same calls.
		P95Ms  float64  `json:"p95Ms,omitzero"`
		Stderr []string `json:"stderr,omitempty"` // its last lines
	}

	// MCPTool is a tool of an MCP server.
	MCPTool struct {
		Name string `json:"name"` // mcp.<server>.<tool>
		// As the server describes it, cut.
		Description string `json:"description,omitempty"`
	}

	// MCPRestartParams names a server that is to be started anew.
	MCPRestartParams struct {
		// One of agents/mcp/list.
		Name    string `json:"name"`
		Folder  string `json:"folder,omitempty"`  // as in agents/mcp/list
		Approve bool   `json:"approve,omitempty"` // the person approves the tools as they were listed before
	}

	// MCPStopParams names a server that is to end and not to be started again.
	MCPStopParams struct {
		// One of agents/mcp/list.
		Name   string `json:"name"`
		Folder string `json:"folder,omitempty"` // as in agents/mcp/list
	}

	// MCPLoginParams names a server that the person logs in at. They are shown the page
	// for that: by window/showMessageRequest and window/showDocument (external), or by
	// window/showMessage where the client shows no documents. The answer comes when they
	// have logged in, or after five minutes; cancelling the request cancels the login.
	MCPLoginParams struct {
		// One of agents/mcp/list.
		Name   string `json:"name"`
		Folder string `json:"folder,omitempty"` // as in agents/mcp/list
	}

	// MCPLogoutParams names a server at which the person's login is forgotten.
	MCPLogoutParams struct {
		// One of agents/mcp/list.
		Name   string `json:"name"`
		Folder string `json:"folder,omitempty"` // as in agents/mcp/list
	}

	// MCPServerResult is the server as it is then. One that could not be started has
	// the state failed, and why.
	MCPServerResult struct {
		// As agents/mcp/list would tell it now.
		Server MCPServer `json:"server"`
	}
)

// Check implements the server's check of parameters.
func (p *MCPRestartParams) Check() (string, error) { return checkServer(p.Name) }

// Check implements the server's check of parameters.
func (p *MCPStopParams) Check() (string, error) { return checkServer(p.Name) }

// Check implements the server's check of parameters.
func (p *MCPLoginParams) Check() (string, error) { return checkServer(p.Name) }

// Check implements the server's check of parameters.
func (p *MCPLogoutParams) Check() (string, error) { return checkServer(p.Name) }

// checkServer refuses a request that names no server.
func checkServer(name string) (string, error) {
	if name == "" {
		return "name", fmt.Errorf("is required: one of agents/mcp/list")
	}
	return "", nil
}
