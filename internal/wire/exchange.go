package wire

import (
	"errors"

	"github.com/agentls/agentls/agents/definition"
)

type (
	// ImportParams say which agent files of other tools to bring into our format (spec 1.7).
	ImportParams struct {
		// URIs of files, of folders of them, or of projects that have them; absent = where
		// the other tools look: in the first workspace folder, or with the scope global in
		// the person's home folder.
		Paths []string `json:"paths,omitempty"`
		// Whose format it is, where neither place nor keys tell: claude, copilot, opencode or
		// gemini-cli.
		From   string `json:"from,omitempty"`
		Scope  string `json:"scope,omitempty"` // project or global: who has the agents from then on; absent = project
		Name   string `json:"name,omitempty"`  // what the agent is to be called, of one file
		DryRun bool   `json:"dryRun,omitzero"` // only say what would be done
		Force  bool   `json:"force,omitzero"`  // replace files of ours that are there
	}

	// ImportResult is what became of each file.
	ImportResult struct {
		Folder string         `json:"folder"` // of the new files, as a URI
		Files  []ImportedFile `json:"files"`
	}

	// ImportedFile is what became of one file.
	ImportedFile struct {
		Source  string `json:"source"`         // its URI
		Status  string `json:"status"`         // ok, repaired or refused
		From    string `json:"from,omitempty"` // whose format it has
		Name    string `json:"name,omitempty"` // of the agent
		URI     string `json:"uri,omitempty"`  // of the new file
		Written bool   `json:"written"`        // now; not in a dry run
		There   bool   `json:"there"`          // the very same file is there already
		// A restriction that cannot be kept here stops its runs.
		Stopped bool   `json:"stopped"`
		Missing bool   `json:"missing,omitzero"` // there is no such file, or it may not be read
		Reason  string `json:"reason,omitempty"` // why it was refused
		// What was repaired in its YAML, a sentence each.
		Repaired []string `json:"repaired,omitempty"`
		Losses   []Loss   `json:"losses,omitempty"` // in the order of the file
		// What becomes of other agents of the name.
		Notes []string `json:"notes,omitempty"`
	}

	// Loss is something that does not translate.
	Loss struct {
		Key      string              `json:"key"` // the top-level key of the file that was read; "" = none
		Message  string              `json:"message"`
		Severity definition.Severity `json:"severity"` // error stops its runs, hint is comfort
	}

	// ExportParams say which agents to write as files of another tool (spec 1.7).
	ExportParams struct {
		Names []string `json:"names,omitempty"` // of the agents
		All   bool     `json:"all,omitzero"`    // all of the scope instead
		Scope string   `json:"scope,omitempty"` // project or global; absent = project, and by name the person's own too
		To    string   `json:"to"`              // claude, copilot, opencode or gemini-cli
		// Where to write, as a URI; absent = where the other tool looks in the first
		// workspace folder, which is no place of its own for gemini-cli.
		Folder string `json:"folder,omitempty"`
		Text   bool   `json:"text,omitzero"`  // only return the texts
		Force  bool   `json:"force,omitzero"` // replace files that are there
		// Leave out restrictions that the other tool cannot express; else they refuse.
		DropRestrictions bool `json:"dropRestrictions,omitzero"`
	}

	// ExportResult is what became of each agent.
	ExportResult struct {
		Files []ExportedFile `json:"files"`
	}

	// ExportedFile is what became of one agent.
	ExportedFile struct {
		Name    string `json:"name"`
		Status  string `json:"status"`           // ok or refused
		Source  string `json:"source"`           // the URI of the agent's file
		URI     string `json:"uri,omitempty"`    // of the new file
		Written bool   `json:"written"`          // false where the very same file is there already
		Reason  string `json:"reason,omitempty"` // why it was refused
		Losses  []Loss `json:"losses,omitempty"` // in the order of the file
		// With text, of one that is not refused.
		Text *string `json:"text,omitempty"`
	}
)

// Check implements the server's check of parameters.
func (p *ImportParams) Check() (string, error) {
	if path, err := oneOf("from", p.From, "", "claude", "copilot", "opencode", "gemini-cli"); err != nil {
		return path, err
	}
	return oneOf("scope", p.Scope, "", "project", "global")
}

// Check implements the server's check of parameters.
func (p *ExportParams) Check() (string, error) {
	if path, err := oneOf("to", p.To, "claude", "copilot", "opencode", "gemini-cli"); err != nil {
		return path, err
	}
	switch {
	case p.All == (len(p.Names) > 0):
		return "names", errors.New("or all is required, one of both")
	case p.To == "gemini-cli" && p.Folder == "" && !p.Text:
		return "folder", errors.New("is required: gemini-cli's agents lie where ours do")
	}
	return oneOf("scope", p.Scope, "", "project", "global")
}
