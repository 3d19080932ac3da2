package wire

import (
	"fmt"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
)

type (
	// CreateParams say what a new agent's file is made of: a template and, beside
	// the members that are named here, any field of the front-matter by its name
	// (model, description, tools, …), which takes the place of the template's. null
	// takes a field away. Title is a field, too, that people are asked for.
	CreateParams struct {
		Name     string `json:"name"`               // the agent's, and the file's stem
		Scope    string `json:"scope,omitempty"`    // project or global; absent = the setting agents.defaultScope
		Folder   string `json:"folder,omitempty"`   // URI of the workspace folder of a project agent; absent = the first
		Template string `json:"template,omitempty"` // name or alias of agents/templates; absent = blank
		Prompt   string `json:"prompt,omitempty"`   // the body; absent = the template's
		DryRun   bool   `json:"dryRun,omitzero"`    // nothing is written
		Force    bool   `json:"force,omitzero"`     // a file that is there is replaced

		Fields map[string]any `json:"-"` // all other members
	}

	// CreateResult is the file that was made.
	CreateResult struct {
		// The file that was made, or that would be, with dryRun.
		URI string `json:"uri"`
		// What it holds.
		Text     string               `json:"text"`
		Problems []definition.Problem `json:"problems"` // warnings and hints about it
		// Notes say what else to know, a sentence each: which agent of the same name it
		// takes the place of, or that it does not run yet.
		Notes []string `json:"notes"`
		// Unsaved says that the file is made and its text stands in the editor alone:
		// there is the agent once the person saves it.
		Unsaved bool `json:"unsaved,omitzero"`
	}

	// DeleteParams name an agent whose file is to go. Without a scope it is the
	// agent that the name means.
	DeleteParams struct {
		Name        string `json:"name"`                 // "name" or "folder:name"
		Scope       string `json:"scope,omitempty"`      // project or global
		KeepContext bool   `json:"keepContext,omitzero"` // what it has seen and said stays
		Force       bool   `json:"force,omitzero"`       // also when the editor has changes of it that are not saved
	}

	// DeleteResult is the file that is gone.
	DeleteResult struct {
		// The file that is gone.
		URI     string   `json:"uri"`
		Cleared []string `json:"cleared"` // the sessions in which its context was cleared
		// Notes say what else to know, a sentence each: why its contexts stay.
		Notes []string `json:"notes,omitempty"`
	}

	// ExplainParams name an agent, or a file: the open document, or what is on
	// disk. One of both is given.
	ExplainParams struct {
		Name string `json:"name,omitempty"` // "name" or "folder:name"
		URI  string `json:"uri,omitempty"`  // of an agent's file, also one that no folder of agents has
		Text string `json:"text,omitempty"` // with uri: what the file has instead, as another version of it

		// AsIfTrusted explains it as if its folder were trusted and its file approved:
		// what it would get. Nothing becomes trusted, and trusted says what is.
		AsIfTrusted bool `json:"asIfTrusted,omitzero"`
	}

	// ExplainResult is what an agent really gets. Lines count from 1, and names of
	// files are paths.
	ExplainResult struct {
		explanation.Explanation
		// Unreadable is why its file cannot be read: what is said here of what the file
		// sets is then what an agent gets by default.
		Unreadable *definition.Problem `json:"unreadable,omitempty"`
	}

	// ValidateParams name an agent, or a file; absent = all agents that have a file.
	ValidateParams struct {
		Name string `json:"name,omitempty"` // "name" or "folder:name"
		URI  string `json:"uri,omitempty"`  // of an agent's file, also one that no folder of agents has
	}

	// ValidateResult has a result for each file, by scope and name.
	ValidateResult struct {
		// One for each file.
		Results []Validation `json:"results"`
	}

	// Validation is how one file did.
	Validation struct {
		// The agent's name; of a file that has none, the file's stem.
		Agent string `json:"agent"`
		// The file.
		URI string `json:"uri"`
		// Project, global or extension.
		Scope string `json:"scope"`
		// How many checks are ok.
		Passed int `json:"passed"`
		// How many checks there are.
		Total int `json:"total"`
		// In the order in which they are made.
		Checks []Check `json:"checks"`
		// Warnings are what is odd in the file and no check says.
		Warnings []definition.Problem `json:"warnings"`
	}

	// Check is one line of a validation.
	Check struct {
		Code string `json:"code"` // of the finding, or the first that is looked for
		// Whether nothing was found.
		OK      bool   `json:"ok"`
		Title   string `json:"title"`   // what is checked
		Message string `json:"message"` // why it failed; "" where it did not
		// Where the finding stands; absent where the check passed.
		Range *definition.Range `json:"range,omitempty"`
	}
)

// UnmarshalJSON reads the named members, and keeps all others as fields.
func (p *CreateParams) UnmarshalJSON(data []byte) error {
	type plain CreateParams // without this method
	var named plain
	if err := (Codec{}).Unmarshal(data, &named); err != nil {
		return err
	}
	if err := (Codec{}).Unmarshal(data, &named.Fields); err != nil {
		return err
	}
	for _, name := range []string{"name", "scope", "folder", "template", "prompt", "dryRun", "force"} {
		delete(named.Fields, name)
	}
	*p = CreateParams(named)
	return nil
}

// MarshalJSON writes the fields beside the named members.
func (p CreateParams) MarshalJSON() ([]byte, error) {
	type plain CreateParams
	data, err := (Codec{}).Marshal(plain(p))
	if err != nil || len(p.Fields) == 0 {
		return data, err
	}
	all := make(map[string]any, len(p.Fields)+7)
	for key, value := range p.Fields {
		all[key] = value
	}
	if err := (Codec{}).Unmarshal(data, &all); err != nil { // the named ones count
		return nil, err
	}
	return (Codec{}).Marshal(all)
}

// Check implements the server's check of parameters.
func (p *CreateParams) Check() (string, error) {
	if at, err := checkRequired("name", p.Name); err != nil {
		return at, err
	}
	return oneOf("scope", p.Scope, "", "project", "global")
}

// Check implements the server's check of parameters.
func (p *DeleteParams) Check() (string, error) {
	if at, err := checkRequired("name", p.Name); err != nil {
		return at, err
	}
	return oneOf("scope", p.Scope, "", "project", "global")
}

// Check implements the server's check of parameters.
func (p *ExplainParams) Check() (string, error) {
	if (p.Name == "") == (p.URI == "") {
		return "name", fmt.Errorf("or uri is required, and not both")
	}
	if p.Text != "" && p.URI == "" {
		return "text", fmt.Errorf("is given without uri, which says where the file lies")
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *ValidateParams) Check() (string, error) {
	if p.Name != "" && p.URI != "" {
		return "name", fmt.Errorf("and uri are given both; one of them is enough")
	}
	return "", nil
}
