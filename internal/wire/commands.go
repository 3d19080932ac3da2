package wire

import "errors"

type (
	// CommandsParams asks for the custom commands of a folder.
	CommandsParams struct {
		Folder string `json:"folder,omitempty"` // URI of a workspace folder; absent = the first
	}

	// CommandsResult has the custom commands that a person can type there.
	CommandsResult struct {
		Commands []CustomCommand `json:"commands"` // by name
	}

	// CustomCommand is a prompt that has a name (spec 9.3).
	CustomCommand struct {
		Name string `json:"name"` // as it is typed behind the slash
		// What it does, in a line.
		Description string `json:"description,omitempty"`
		Scope       string `json:"scope"`               // project, global, extension, server: a prompt of an MCP server
		Extension   string `json:"extension,omitempty"` // that it comes with
		URI         string `json:"uri"`                 // of its file; empty for a prompt of a server
		Problem     string `json:"problem,omitempty"`   // why it cannot be used
	}

	// CommandCall is a custom command that a person typed. Its prompt goes before the
	// input.
	CommandCall struct {
		// As agents/commands has it, without the slash.
		Name string `json:"name"`
		Args string `json:"args,omitempty"` // what was typed behind the name
	}
)

// check returns what is wrong with a call of a command.
func (c *CommandCall) check() (string, error) {
	if c != nil && c.Name == "" {
		return "command.name", errors.New("is required")
	}
	return "", nil
}
