package definition

// The checks of what goes in and out of an agent (spec 6.1).

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Guard is one check of an agent's input or result.
// A guard with neither schema nor validator checks nothing, and is not in [Definition.Guards].
type Guard struct {
	Name      string // never "": what results call it
	Range     Range  // of its entry
	Input     bool   // it checks what the agent is asked, and not its result
	Parallel  bool   // of an input: the model is asked meanwhile
	Policy    string // reject, repair, warn
	Schema    json.RawMessage
	Validator string // "" for none; of custom the name that it is looked up by

	JudgeRange Range // of the name of the agent that judges, where one does
}

// Judge returns the agent that judges; "" where none does.
func (g Guard) Judge() string {
	name, is := strings.CutPrefix(g.Validator, "agent:")
	if !is {
		return ""
	}
	return name
}

// The policies of guards.
const (
	// The run ends with an error.
	Reject = "reject"
	// The model is told what is wrong, and answers again.
	Repair = "repair"
	// The run goes on, with the finding.
	Warn = "warn"
)

// guardrailsField reads guardrails in both spellings (spec 1.2, 6.1).
// An empty object is no guard.
func (r *reader) guardrailsField(v *node) {
	if !r.shape(v, "guardrails", mapping, list) {
		return
	}
	if v.kind == mapping {
		if len(v.items) > 0 {
			r.guard(v, "guardrails", "output", "output_schema", "on_failure", "custom_validator")
		}
		return
	}
	for i := range v.items {
		if v.items[i].kind != mapping {
			r.reportType(&v.items[i], "An entry of guardrails", "an object")
			continue
		}
		r.guard(&v.items[i], "guardrails[]", fmt.Sprintf("guard-%d", i+1), "schema", "policy", "validator")
	}
}

// guard reads one guard, by the names that its keys have under a path. unnamed is what
// it is called where it has no name.
// A guard with something wrong in it stays in the list: whoever runs it has to refuse, and
// leaving it out would let everything pass. Names that are there twice get a number.
func (r *reader) guard(v *node, under, unnamed, schema, policy, validator string) {
	g := Guard{Range: r.text.span(v.start, v.end), Policy: Reject}
	// Before the other keys, since the validator custom is looked up by the name.
	if n := v.get("name"); n != nil && n.kind == str {
		g.Name = n.text
	}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		var text string
		switch {
		case !slices.Contains(KeysUnder(under), k.name):
			r.unknown(k, "guardrails.", under)
		case k.name == schema:
			if n.kind != null {
				g.Schema, _ = r.schema(n, "guardrails."+schema)
				if g.Schema == nil {
					break // it is refused; one that requires a property many times would take for ever
				}
				if why := unmeetable(n); why != "" {
					r.at(n, "agent/schema", Error, "No result meets guardrails.%s: %s.", schema, why)
				}
			}
		case k.name == policy:
			if r.stringField(n, "guardrails."+policy, &text) && text != Reject && text != Repair && text != Warn {
				r.oneOf(n, "guardrails[].policy", "guardrails.%s must be reject, repair or warn.", policy)
			} else if text != "" {
				g.Policy = text
			}
		case k.name == validator:
			if r.stringField(n, "guardrails."+validator, &text) {
				if g.Validator = text; text == "custom" {
					g.Validator = g.Name
				}
				r.validator(n, g.Validator)
				if judge := g.Judge(); validName(judge) {
					g.JudgeRange = r.text.span(r.inText(n, len(text)-len(judge), len(text)))
				}
			}
		case k.name == "on" && n.kind == str && n.text != "input" && n.text != "output":
			r.oneOf(n, "guardrails[].on", "guardrails.on must be input or output.")
		case k.name == "mode" && n.kind == str && n.text != "parallel":
			r.oneOf(n, "guardrails[].mode", "guardrails.mode must be parallel.")
		default:
			if r.stringField(n, "guardrails."+k.name, &text) {
				g.Input = g.Input || (k.name == "on" && text == "input")
				g.Parallel = g.Parallel || (k.name == "mode" && text == "parallel")
			}
		}
	}
	if g.Name == "" {
		g.Name = unnamed
	}
	switch {
	case v.get(schema) == nil && v.get(validator) == nil:
		r.at(v, "agent/validator", Warning, "The guard %s checks nothing; give it %s: or %s:.",
			g.Name, schema, validator)
		return
	case g.Input && g.Policy == Repair:
		r.at(v.get(policy), "agent/validator", Warning,
			"What the agent is asked cannot be repaired, so the guard %s rejects; write reject.", g.Name)
		g.Policy = Reject
	case g.Parallel && !g.Input:
		r.at(v.get("mode"), "agent/validator", Warning,
			"mode: parallel is for checks of the input and has no effect on the guard %s; write on: input, or remove it.", g.Name)
	}
	// Results name guards, so each has a name of its own.
	for name := g.Name; r.guards[g.Name] > 0; {
		r.guards[name]++
		g.Name = fmt.Sprintf("%s-%d", name, r.guards[name])
	}
	if r.guards == nil {
		r.guards = make(map[string]int)
	}
	r.guards[g.Name]++
	r.Guards = append(r.Guards, g)
}

// bounds are the keywords that bound the values of a type from below and above.
var bounds = []struct{ of, least, most string }{
	{"string", "minLength", "maxLength"}, {"array", "minItems", "maxItems"},
	{"object", "minProperties", "maxProperties"},
	{"number", "minimum", "maximum"}, {"integer", "minimum", "maximum"},
}

// crossingBounds says which bounds of a schema of one type leave nothing between them; "" for none.
//
// Only a schema with one type is looked at.
func crossingBounds(v *node) string {
	of := v.get("type")
	if of == nil || of.kind != str {
		return ""
	}
	for _, b := range bounds {
		least, most := v.get(b.least), v.get(b.most)
		if b.of == of.text && least != nil && most != nil && least.kind == number && most.kind == number &&
			least.num > most.num {
			return fmt.Sprintf("%s %s is more than %s %s", b.least, least.text, b.most, most.text)
		}
	}
	return ""
}

// unmeetable says why no value meets a schema, "" where that is not plain from its
// top: what needs more than a look is found when a result is checked.
// A property matters only where it is required: else a value may leave it out.
func unmeetable(v *node) string {
	if v.kind == boolean {
		if v.truth {
			return ""
		}
		return "false lets nothing pass"
	}
	if not := v.get("not"); not != nil && ((not.kind == mapping && len(not.items) == 0) ||
		(not.kind == boolean && not.truth)) {
		return "not: {} lets nothing pass"
	}
	if enum := v.get("enum"); enum != nil && enum.kind == list && len(enum.items) == 0 {
		return "enum is empty"
	}
	if why := crossingBounds(v); why != "" {
		return why
	}
	required, properties := v.get("required"), v.get("properties")
	if required == nil || required.kind != list || properties == nil {
		return ""
	}
	for i := range required.items {
		if p := properties.get(required.items[i].text); p != nil {
			if why := unmeetable(p); why != "" {
				return fmt.Sprintf("%s is required, and %s", required.items[i].text, why)
			}
		} else if more := v.get("additionalProperties"); more != nil && more.kind == boolean && !more.truth &&
			v.get("patternProperties") == nil {
			return fmt.Sprintf("%s is required and not among its properties, and there may be no others",
				required.items[i].text)
		}
	}
	return ""
}

// validator reports a guard's validator that does not exist.
// wanted is what the file says: builtin:, expr: or agent: and what follows, or the name of an
// executable. Executables are looked for only where the caller can (Installed.Validator).
func (r *reader) validator(v *node, wanted string) {
	kindOf, rest, prefixed := strings.Cut(wanted, ":")
	switch {
	case prefixed && kindOf == "builtin":
		if !BuiltinValidator(rest) {
			meant := r.nearest(rest, BuiltinValidators)
			if meant != "" {
				meant = "builtin:" + meant
			}
			r.suggest("agent/validator", Error, v.start, v.end, meant,
				fmt.Sprintf("There is no built-in validator %s; there are no-secrets, no-harmful-code and max-length(n).", rest))
		}
		return
	case prefixed && kindOf == "expr":
		r.condition(v, rest, ConditionNames...)
		return
	case prefixed && kindOf == "agent":
		if !validName(rest) {
			r.at(v, "agent/validator", Error, "%q is no agent's name, so nothing is checked by it.", rest)
		}
		return
	case wanted == "":
		r.at(v, "agent/validator", Error, "The validator custom is looked up by the guard's name, which is missing.")
		return
	case !prefixed && BuiltinValidator(wanted), r.source.Installed.Validator == nil,
		r.source.Installed.Validator(r.Folder, wanted):
		return
	}
	r.at(v, "agent/validator", Error,
		"There is no validator %s; correct it, or put an executable of that name into .gemini/validators.", wanted)
}

// BuiltinValidators are the validators in the program that have no parameter. Do not change it.
var BuiltinValidators = []string{"no-secrets", "no-harmful-code"}

// BuiltinValidator reports whether a validator is in the program.
// name is without builtin: before it.
func BuiltinValidator(name string) bool {
	if n, ok := strings.CutPrefix(name, "max-length("); ok {
		n, ok = strings.CutSuffix(n, ")")
		return ok && n != "" && strings.Trim(n, "0123456789") == ""
	}
	return slices.Contains(BuiltinValidators, name)
}
