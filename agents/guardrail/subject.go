package guardrail

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// body returns a text without the code fence around it. A fence with a language is
// taken off, too; text beside it leaves it as it is.
func body(text string) string {
	text = strings.TrimSpace(text)
	inner, opens := strings.CutPrefix(text, "```")
	inner, closes := strings.CutSuffix(inner, "```")
	language, code, more := strings.Cut(inner, "\n")
	// Models put JSON into a fence even where they are asked for JSON alone. A language has no
	// such signs: what has them is JSON that begins behind the fence.
	if opens && closes && more && !strings.ContainsAny(strings.TrimSpace(language), " {[\"") {
		return strings.TrimSpace(code)
	}
	return text
}

// value returns the subject as a schema sees it. The error is for the model.
func (s Subject) value() (any, error) {
	if s.Output != nil {
		return tool.ParseJSON(s.Output)
	}
	value, err := tool.ParseJSON([]byte(body(s.Text)))
	if err != nil {
		return nil, fmt.Errorf("must be JSON, and is not: %w", err)
	}
	return value, nil
}

// json returns the subject as JSON: its text as it is where that is JSON, else as a
// string.
func (s Subject) json() json.RawMessage {
	if s.Output != nil {
		return s.Output
	}
	if text := body(s.Text); json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	data, err := json.Marshal(s.Text)
	if err != nil {
		return json.RawMessage(`""`) // no text is without JSON
	}
	return data
}

// all returns the whole of the subject as text.
func (s Subject) all() string {
	if s.Output != nil {
		return string(s.Output)
	}
	return s.Text
}

// texts returns the texts in the subject: itself, or those of its result. Names of
// members are texts as well: a secret may stand there. They are sorted, so that the
// first finding is the same each time.
func (s Subject) texts() []string {
	var value any
	if s.Output == nil || json.Unmarshal(s.Output, &value) != nil {
		return []string{s.Text}
	}
	var found []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			found = append(found, v)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for key, member := range v {
				found = append(found, key)
				walk(member)
			}
		}
	}
	walk(value)
	slices.Sort(found)
	return found
}

// maxErrors is how many findings a guard tells. More would only fill the model's
// window.
const maxErrors = 20

// misfits returns what does not fit a schema, a finding for each place, in order. The
// leaves of the validator's tree are the findings: their parents only say that
// something below does not fit. Messages are cut to 300 characters.
func misfits(err error) []activity.GuardError {
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []activity.GuardError{{Message: err.Error()}}
	}
	var found []activity.GuardError
	var collect func(*jsonschema.ValidationError)
	collect = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			collect(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		at := pointer(e.InstanceLocation)
		add := func(at, message string) {
			short, _ := tool.CutTo(message, 300)
			found = append(found, activity.GuardError{Pointer: at, Message: short})
		}
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				add(at+pointer([]string{name}), "required")
			}
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				add(at+pointer([]string{name}), "is not allowed")
			}
		case *kind.Type:
			add(at, fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got))
		case *kind.Format:
			add(at, "must have the format "+k.Want)
		default:
			message := "does not fit"
			if unit := e.DetailedOutput(); unit.Error != nil {
				message = unit.Error.String()
			}
			add(at, message)
		}
	}
	collect(invalid)
	slices.SortFunc(found, func(a, b activity.GuardError) int {
		return strings.Compare(a.Pointer+"\x00"+a.Message, b.Pointer+"\x00"+b.Message)
	})
	// Several branches of a schema may find the same.
	found = slices.Compact(found)
	if more := len(found) - maxErrors; more > 0 {
		found = append(found[:maxErrors], activity.GuardError{Message: fmt.Sprintf("and %d more", more)})
	}
	return found
}

// pointer returns a JSON pointer. It is RFC 6901; "" is the whole.
func pointer(way []string) string {
	var b strings.Builder
	for _, name := range way {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}
