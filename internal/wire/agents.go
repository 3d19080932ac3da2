package wire

import (
	"encoding/json"
	"fmt"

	"github.com/agentls/agentls/agents/definition"
)

type (
	// ListParams asks for the agents.
	ListParams struct {
		Scope string `json:"scope,omitempty"` // project, global, extension or system; absent = all
	}

	// ListResult is the agents, by scope and name.
	ListResult struct {
		Revision int                  `json:"revision"` // grows with each change
		Agents   []AgentInfo          `json:"agents"`   // also those that do not run
		Problems []definition.Problem `json:"problems"` // of all files, also of those that are no agent
	}

	// AgentInfo is an agent as lists show it.
	AgentInfo struct {
		// The name by which it is called; agents of several folders may share one.
		Name string `json:"name"`
		// What people are shown for the name.
		Title string `json:"title"`
		// What it is for, in a sentence; also what routing goes by.
		Description string `json:"description,omitempty"`
		Scope       string `json:"scope"` // project, global, extension, system
		// The file; absent for an agent of the daemon's own.
		URI           string `json:"uri,omitempty"`
		Folder        string `json:"folder,omitempty"` // the workspace folder of a project agent, as a URI
		Dialect       string `json:"dialect"`          // agentls, gemini-cli, claude, copilot, opencode
		Model         string `json:"model"`            // as the file says
		ResolvedModel string `json:"resolvedModel"`    // what would be asked
		// As the file says, for what an editor shows of it.
		Color string `json:"color,omitempty"`
		// As the file says.
		Version string `json:"version,omitempty"`
		Mode    string `json:"mode"` // chat, task
		// The canonical names of the tools that it has.
		Tools []string `json:"tools"`
		// The MCP servers whose tools it may call.
		MCPServers []string `json:"mcpServers"`
		// The agents that it may delegate to.
		Subagents []string `json:"subagents"`
		// The agents that it may pass control to.
		Handoffs   []string        `json:"handoffs"`
		Inputs     json.RawMessage `json:"inputs,omitempty"`     // JSON Schema
		State      string          `json:"state"`                // ok, invalid, shadowed, duplicate, untrusted, review
		ShadowedBy string          `json:"shadowedBy,omitempty"` // the URI of the winner
		// The findings in its file.
		Problems  []definition.Problem `json:"problems"`
		CreatedAt string               `json:"createdAt,omitempty"` // RFC 3339 with ms
		// When the file changed last; RFC 3339 with ms.
		UpdatedAt string `json:"updatedAt,omitempty"`
	}

	// GetParams names an agent, as "name" or "folder:name".
	GetParams struct {
		// The agent's; with the name of a workspace folder before it where several have
		// one of the name.
		Name string `json:"name"`
	}

	// GetResult is an agent whole.
	GetResult struct {
		AgentInfo
		FrontMatter map[string]any `json:"frontMatter"` // as in the file
		// The body of the file, placeholders as they are written.
		SystemPrompt string `json:"systemPrompt"`
		// The tools that it is offered in its folder as things are now.
		ResolvedTools []ResolvedTool `json:"resolvedTools"`
	}

	// ResolvedTool is a tool that an agent is offered.
	ResolvedTool struct {
		// The canonical name.
		Name string `json:"name"`
		Risk string `json:"risk"` // the least that a call of it has
		// As the model is told it.
		Description string `json:"description"`
	}

	// TrustParams says whether a folder is trusted, or approves an agent file (spec 4.4).
	TrustParams struct {
		// With the scheme file: a folder, which is there if it is to be trusted; or with
		// trusted: true an agent file that waits for review, which is approved as it is.
		URI string `json:"uri"`
		// False takes trust back; absent with forget only, and never null.
		Trusted *bool `json:"trusted"`
		// Of an agent file: what the person looked at, as agents/trust/get has it. A file
		// that is another by now is not approved.
		Digest string `json:"digest,omitempty"`
		// What was decided about the folder: it is asked about again.
		Forget bool `json:"forget,omitzero"`
	}

	// TrustGetParams names a folder, or an agent file of one.
	TrustGetParams struct {
		URI string `json:"uri"` // with the scheme file
		// List what takes effect when the folder is trusted; of an agent file that alone.
		Items bool `json:"items,omitzero"`
		Texts bool `json:"texts,omitzero"` // with items: each with its text
	}

	// TrustGetResult is what a person decided about a folder, and what it brings.
	TrustGetResult struct {
		Folder  string `json:"folder"`           // as a URI
		Trusted bool   `json:"trusted"`          // by that decision, or for this daemon only
		Process bool   `json:"process,omitzero"` // trusted for this daemon only
		// The folder that was decided about, as a URI: this one, or one above it. Absent
		// where nobody has decided.
		Decided string `json:"decided,omitempty"`
		Since   string `json:"since,omitempty"` // when it was decided, RFC 3339
		// Another folder has taken the place of the one that was trusted.
		Replaced bool `json:"replaced,omitzero"`
		// Agents, hooks and MCP servers, then the files with instructions.
		Items    []TrustItem `json:"items,omitempty"`
		Settings []string    `json:"settings,omitempty"` // the keys that the folder's settings set
	}

	// TrustItem is something that a folder brings.
	TrustItem struct {
		Kind  string `json:"kind"`  // agent, hook, mcp or instructions
		Label string `json:"label"` // what it runs, or is called
		// Its place in the folder, as .gemini/settings.json#hooks.BeforeTool.
		Name   string `json:"name"`
		Digest string `json:"digest,omitempty"` // of its text; instructions have none
		// What it is since the folder was trusted: new or changed. Absent where it is
		// approved as it is, or nothing is reviewed.
		State string `json:"state,omitempty"`
		Text  string `json:"text,omitempty"` // with texts
		// With texts, of what changed: the text that was approved, if that was kept.
		Before string `json:"before,omitempty"`
	}

	// DidChangeParams says which agents are other than before.
	DidChangeParams struct {
		// As of agents/list.
		Revision int `json:"revision"`
		// Names of agents that are new or other than before.
		Changed []string `json:"changed"`
		// Names of agents that are gone.
		Removed []string `json:"removed"`
	}
)

// Check implements the server's check of parameters.
func (p *GetParams) Check() (string, error) { return checkRequired("name", p.Name) }

// Check implements the server's check of parameters.
func (p *TrustParams) Check() (string, error) {
	if at, err := checkRequired("uri", p.URI); err != nil {
		return at, err
	}
	switch {
	case p.Trusted == nil && !p.Forget: // not the same as false, which takes trust back
		return "trusted", fmt.Errorf("is required: true or false")
	case p.Trusted != nil && p.Forget:
		return "forget", fmt.Errorf("and trusted are given both")
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *TrustGetParams) Check() (string, error) { return checkRequired("uri", p.URI) }

// Check implements the server's check of parameters.
func (p *ListParams) Check() (string, error) {
	return oneOf("scope", p.Scope, "", "project", "global", "extension", "system")
}
