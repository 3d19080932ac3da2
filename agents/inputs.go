package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// defaultQuery is what a task is asked when nobody says what (spec 1.2).
const defaultQuery = "Get Started!"

// assignment is what an agent is asked to do, with its placeholders filled in. It is
// made once for a run, and not changed afterwards.
type assignment struct {
	// The run's, with the default of the file and what its output demands.
	mode definition.Mode
	// The system prompt of the file; main's is replaced (instruct).
	prompt   string
	input    []activity.ContentBlock
	examples []definition.Exchange
	maxTurns int
	// 0 = no limit.
	maxTime time.Duration
	lowered []definition.Problem // that the limits are
}

// clamp lowers the limits to those of a project's file that nobody has reviewed
// (spec 12.2), and notes where they were higher. The person is told of it as of a
// problem of the file.
func (a *assignment) clamp(agent string) {
	turns, span := authority.Clamp(a.mode, a.maxTurns, a.maxTime)
	lower := func(what, from, to string) {
		a.lowered = append(a.lowered, definition.Problem{
			Code: "agent/unreviewed", Severity: definition.Warning,
			Message: fmt.Sprintf("%s of %s is %s here instead of %s: its folder is trusted for this process only, so nobody has reviewed the file. Trust the folder (agentls trust) to have what the file says", what, agent, to, from),
		})
	}
	if turns < a.maxTurns {
		lower("run.max_turns", strconv.Itoa(a.maxTurns), strconv.Itoa(turns))
	}
	if span != a.maxTime {
		lower("run.max_time", authority.Span(a.maxTime), authority.Span(span))
	}
	a.maxTurns, a.maxTime = turns, span
}

// fillIn makes an assignment of a request. The errors are fault.Invalid: inputs
// that are missing, all at once, or do not fit (spec 1.4). It reads nothing and asks
// nobody.
func fillIn(def *definition.Definition, p Start, now time.Time) (*assignment, error) {
	a := &assignment{mode: p.Mode, input: p.Input, maxTurns: def.MaxTurns, maxTime: def.MaxTime}
	if a.mode == "" {
		a.mode = def.Mode
	}
	if def.Output != nil {
		a.mode = definition.Task // a structured result needs its tool
	}
	if a.mode == definition.Task {
		if a.maxTurns == 0 {
			a.maxTurns = definition.DefaultTaskTurns
		}
		if a.maxTime == 0 && def.Graph == nil { // the runs of its nodes have limits of their own
			a.maxTime = definition.DefaultTaskTime
		}
	} else if a.maxTurns == 0 {
		a.maxTurns = definition.DefaultChatTurns
	}
	values, err := inputsOf(def, p.Inputs)
	if err != nil {
		return nil, err
	}
	said := textIn(p.Input)
	// All texts are tried together, so that one error names all that is missing.
	texts := []string{def.Prompt, def.Query}
	for _, m := range def.InitialMessages {
		texts = append(texts, m.Text)
	}
	if def.Inputs == nil { // gemini-cli's own placeholders (spec 1.7)
		values = map[string]any{"query": said, "today": now.Format(time.DateOnly)}
	}
	// The file's query is not asked, so what it needs may be missing.
	if len(a.input) > 0 {
		texts[1] = ""
	}
	if _, err := def.Expand(strings.Join(texts, "\n"), values); err != nil {
		return nil, badParam("inputs", "do not suffice: %s",
			fault.Message(err)) // it names all that is missing, in whichever text
	}
	if len(a.input) == 0 {
		query := def.Query
		if query == "" {
			query = defaultQuery
			if a.mode != definition.Task {
				return nil, badParam("input", "is required: %s is asked nothing without it", def.Name)
			}
		}
		if query, err = def.Expand(query, values); err != nil {
			return nil, err
		}
		a.input = []activity.ContentBlock{{Type: "text", Text: query}}
	}
	if a.prompt, err = def.Expand(def.Prompt, values); err != nil {
		return nil, err
	}
	for _, m := range def.InitialMessages {
		if m.Text, err = def.Expand(m.Text, values); err != nil {
			return nil, err
		}
		a.examples = append(a.examples, m)
	}
	return a, nil
}

// textIn returns the texts of an input. They are joined by line ends; resources are not
// in it.
func textIn(blocks []activity.ContentBlock) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// inputsOf returns the values of an agent's inputs, with their defaults. It is nil for
// an agent without inputs. Numbers are json.Number, so that they are filled in as they
// were given. Errors are Invalid and name the input.
func inputsOf(def *definition.Definition, raw json.RawMessage) (map[string]any, error) {
	if def.Inputs == nil {
		if len(raw) > 0 && string(raw) != "null" && string(raw) != "{}" {
			return nil, badParam("inputs", "are given, but %s has none; say what it is to do in the input", def.Name)
		}
		return nil, nil
	}
	var schema struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(def.Inputs, &schema); err != nil {
		return nil, fault.New(fault.Invalid, "agents.start", "the inputs of %s cannot be read: %w", def.Name,
			err).Because(fault.InvalidAgent)
	}
	// Defaults are filled in before the check: the schema requires of them what it requires
	// of values.
	given := map[string]json.RawMessage{}
	if len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &given); err != nil || given == nil {
			return nil, badParam("inputs", "must be an object")
		}
	}
	for name, property := range schema.Properties {
		if _, ok := given[name]; !ok && property.Default != nil {
			given[name] = property.Default
		}
	}
	var missing []string
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) == 1 {
		return nil, badParam("inputs."+missing[0], "is required: %s needs it", def.Name)
	}
	if len(missing) > 1 {
		slices.Sort(missing)
		return nil, badParam("inputs", "lack what %s needs: %s", def.Name, strings.Join(missing, ", "))
	}
	all, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("the inputs of %s: %w", def.Name, err)
	}
	canonical, err := tool.NewSchema(def.Inputs, nil).Check(all)
	if err != nil {
		return nil, misfit(err)
	}
	values := map[string]any{}
	numbers := json.NewDecoder(bytes.NewReader(canonical))
	numbers.UseNumber() // as they were given
	if err := numbers.Decode(&values); err != nil {
		return nil, fmt.Errorf("the inputs of %s: %w", def.Name, err)
	}
	return values, nil
}

// misfit says which input does not fit, or all where there are several. err is of
// tool.Schema, whose words it knows.
func misfit(err error) error {
	text := strings.TrimPrefix(err.Error(), "The arguments do not fit the tool:\n")
	at, why, ok := strings.Cut(text, ": ")
	name, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	if !ok || name == "" || at[0] != '/' || strings.Contains(text, "\n") {
		return badParam("inputs", "do not fit: %s", text)
	}
	return badParam("inputs."+name, "does not fit: %s", why)
}
