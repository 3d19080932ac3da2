package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// ToolName is the tool by which a model loads a skill.
const ToolName = "activate_skill"

// loader is the tool that loads skills. It is safe for concurrent use: nothing in it
// changes.
type loader struct {
	skills []Skill
	spec   tool.Spec
	schema *tool.Schema
}

// Tools returns the tool that loads these skills; none where none of them can be
// offered. The text of a skill is read when it is loaded. Skills with a Problem are not
// offered. The names are an enum of the parameters, so a name that is none is refused
// before anything is read. It is a tool of the tier safe: it reads what a person
// approved, and nothing else.
func Tools(skills []Skill) []tool.Tool {
	l := &loader{}
	var names []string
	var b strings.Builder
	b.WriteString("Loads the instructions of a skill. Skills say how certain tasks are done here. Load one before you begin such a task, and follow what it says; with file, read one of the files that it names.\n\nThe skills are:\n")
	for _, s := range skills {
		if s.Problem == "" {
			l.skills, names = append(l.skills, s), append(names, s.Name)
			fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.Description)
		}
	}
	if len(names) == 0 {
		return nil
	}
	enum, err := json.Marshal(names)
	if err != nil {
		return nil // texts can always be written
	}
	parameters := json.RawMessage(fmt.Sprintf(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "enum": %s, "description": "The skill."},
		"file": {"type": "string", "maxLength": 1024, "description": "A file of the skill, relative to its folder. Default: the skill's instructions."}
	},
	"required": ["name"],
	"additionalProperties": false
}`, enum))
	l.spec = tool.Spec{Name: ToolName, Risk: tool.Safe, Description: strings.TrimSpace(b.String()),
		Parameters: parameters}
	l.schema = tool.NewSchema(parameters, nil)
	return []tool.Tool{l}
}

// Spec implements [tool.Tool].
func (l *loader) Spec() tool.Spec { return l.spec }

// Plan implements [tool.Tool].
func (l *loader) Plan(_ context.Context, _ *tool.Env, raw json.RawMessage) (*tool.Plan, error) {
	canonical, err := l.schema.Check(raw)
	if err != nil {
		return nil, err
	}
	var args struct{ Name, File string }
	if err := json.Unmarshal(canonical, &args); err != nil {
		return nil, err
	}
	for i := range l.skills {
		s := &l.skills[i]
		if s.Name != args.Name {
			continue
		}
		return &tool.Plan{
			Tool: ToolName, Args: canonical, Risk: tool.Safe, Why: "reads a skill",
			Title: strings.TrimSpace(ToolName + " " + s.Name + " " + args.File),
			Do: func(context.Context, *tool.Env) (*tool.Result, error) {
				text, err := s.file(args.File)
				if err != nil {
					return nil, tool.Errorf(tool.CodeNotFound, "The skill %s: %s cannot be read: %v.",
						s.Name, args.File, err)
				}
				return &tool.Result{Content: text, Display: "Loaded the skill " + tool.Escape(s.Name)}, nil
			},
		}, nil
	}
	return nil, tool.Errorf(tool.CodeArgs, "There is no skill %s.", args.Name)
}
