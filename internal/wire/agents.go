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
		Name          string               `json:"name"`
		Title         string               `json:"title"`
		Description   string               `json:"description,omitempty"`
		Scope         string               `json:"scope"` // project, global, extension, system
		URI           string               `json:"uri,omitempty"`
		Folder        string               `json:"folder,omitempty"` // the workspace folder of a project agent, as a URI
		Dialect       string               `json:"dialect"`          // agentls, gemini-cli, claude, copilot, opencode
		Model         string               `json:"model"`            // as the file says
		ResolvedModel string               `json:"resolvedModel"`    // what would be asked
		Color         string               `json:"color,omitempty"`
		Version       string               `json:"version,omitempty"`
		Mode          string               `json:"mode"` // chat, task
		Tools         []string             `json:"tools"`
		MCPServers    []string             `json:"mcpServers"`
		Subagents     []string             `json:"subagents"`
		Handoffs      []string             `json:"handoffs"`
		Inputs        json.RawMessage      `json:"inputs,omitempty"`     // JSON Schema
		State         string               `json:"state"`                // ok, invalid, shadowed, duplicate, untrusted, review
		ShadowedBy    string               `json:"shadowedBy,omitempty"` // the URI of the winner
		Problems      []definition.Problem `json:"problems"`
		CreatedAt     string               `json:"createdAt,omitempty"` // RFC 3339 with ms
		UpdatedAt     string               `json:"updatedAt,omitempty"`
	}

	// GetParams names an agent, as "name" or "folder:name".
	GetParams struct {
		Name string `json:"name"`
	}

	// GetResult is an agent whole.
	GetResult struct {
		AgentInfo
		FrontMatter   map[string]any `json:"frontMatter"` // as in the file
		SystemPrompt  string         `json:"systemPrompt"`
		ResolvedTools []ResolvedTool `json:"resolvedTools"`
	}

	// ResolvedTool is a tool that an agent is offered.
	ResolvedTool struct {
		Name        string `json:"name"`
		Risk        string `json:"risk"` // the least that a call of it has
		Description string `json:"description"`
	}

	// TrustParams says whether a folder is trusted, or approves an agent file (spec 4.4).
	TrustParams struct {
		URI     string `json:"uri"`     // with the scheme file; a folder that is there, where it is to be trusted; or with trusted: true an agent file that waits for review, which is approved as it is
		Trusted *bool  `json:"trusted"` // false takes trust back; never null
	}

	// DidChangeParams says which agents are other than before.
	DidChangeParams struct {
		Revision int      `json:"revision"`
		Changed  []string `json:"changed"`
		Removed  []string `json:"removed"`
	}
)

// Check implements the server's check of parameters.
func (p *GetParams) Check() (string, error) { return checkRequired("name", p.Name) }

// Check implements the server's check of parameters.
func (p *TrustParams) Check() (string, error) {
	if at, err := checkRequired("uri", p.URI); err != nil {
		return at, err
	}
	if p.Trusted == nil { // not the same as false, which takes trust back
		return "trusted", fmt.Errorf("is required: true or false")
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *ListParams) Check() (string, error) {
	return oneOf("scope", p.Scope, "", "project", "global", "extension", "system")
}
