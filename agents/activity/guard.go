package activity

import "strings"

type (
	// GuardrailChecked is the outcome of one guardrail.
	GuardrailChecked struct {
		Guard
		// Outputs are the results that it judged, where the model was asked to repair one:
		// the first is the one that failed first.
		Outputs []string `json:"outputs,omitempty"`
	}

	// Repair is what a model is asked to do again since a guardrail refused it.
	Repair struct {
		Guard  string       `json:"guard"`
		Errors []GuardError `json:"errors"`
		Output string       `json:"output"` // that was refused
		Ask    string       `json:"ask"`    // what the model is told
	}
)

// Type implements [Body].
func (GuardrailChecked) Type() string { return "guardrail.checked" }

// String is the finding in a few words: "/confidence required".
func (e GuardError) String() string { return strings.TrimSpace(e.Pointer + " " + e.Message) }

// ErrorText is what a guardrail found, in a line.
func ErrorText(errors []GuardError) string {
	var all []string
	for _, e := range errors {
		all = append(all, e.String())
	}
	return strings.Join(all, "; ")
}

// Line is the outcome for people: "✗ valid-json-output: /confidence required · repairing · ✓".
func (g Guard) Line() string {
	found := ErrorText(g.Errors)
	switch {
	case g.Outcome == "passed":
		return "✓ " + g.Name
	case g.Outcome == "repaired":
		return "✗ " + g.Name + ": " + found + " · repairing · ✓"
	case g.Outcome == "warned":
		return "! " + g.Name + ": " + found
	case g.Policy == "repair":
		return "✗ " + g.Name + ": " + found + " · repairing · ✗"
	}
	return "✗ " + g.Name + ": " + found
}
