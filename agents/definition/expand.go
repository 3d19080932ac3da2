package definition

// Placeholders in prompts, filled in (spec 1.4).

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// Expand returns a prompt, query or initial message of d with each ${name}
// replaced: strings as they are, other values as JSON; $${name} becomes ${name}.
// A file without inputs has no placeholders, and its text comes back as it is,
// but for gemini-cli's own (spec 1.7), which are replaced where values has them.
// The error is of kind Invalid and names every placeholder without a value.
// values are those of the inputs, defaults included, as [Definition.Inputs]
// describes them; they are not checked here. What a value holds is not expanded
// again.
func (d *Definition) Expand(text string, values map[string]any) (string, error) {
	gemini := d.Dialect == GeminiCLI && d.Inputs == nil
	if (d.Inputs == nil && !gemini) || !strings.Contains(text, "${") {
		return text, nil
	}
	var b strings.Builder
	var missing []string
	from := 0
	for i := 0; i < len(text); {
		next := strings.Index(text[i:], "${")
		if next < 0 {
			break
		}
		i += next
		// Without a name and a closing brace it is text.
		end := placeholderEnd(text, i+2)
		if end == i+2 || end == len(text) || text[end] != '}' {
			i += 2
			continue
		}
		name := text[i+2 : end]
		literal := i > from && text[i-1] == '$'
		value, ok := values[name]
		switch {
		// gemini-cli has no $${name}, and leaves what it does not know as it is.
		case gemini && (literal || !isGemini(name) || !ok):
			i = end + 1
			continue
		case literal:
			b.WriteString(text[from : i-1])
			b.WriteString(text[i : end+1])
		case !ok:
			if !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		default:
			b.WriteString(text[from:i])
			if err := writeValue(&b, value); err != nil {
				return "", fault.New(fault.Invalid, "definition.expand",
					"the value of %s cannot be written as JSON: %w", name, err)
			}
		}
		from, i = end+1, end+1
	}
	if len(missing) > 0 {
		return "", fault.New(fault.Invalid, "definition.expand", "no value is given for %s; give each as an input",
			strings.Join(missing, ", "))
	}
	b.WriteString(text[from:])
	return b.String(), nil
}

// writeValue writes a string as it is and another value as JSON.
// The error is that of JSON: a channel or a number that is not finite.
func writeValue(b *strings.Builder, value any) error {
	if s, ok := value.(string); ok {
		b.WriteString(s)
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	b.Write(raw)
	return nil
}
