package definition

// Fields with a structure of their own: handoffs, triggers, inputs, output,
// initial messages.

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/pattern"
)

// handoffsField reads handoffs (spec 5.2). Those of another tool are buttons for
// a person, which a model must not press; it reports false for them.
func (r *reader) handoffsField(v *node) bool {
	if r.Dialect != Agentls && (v.kind != list || (len(v.items) > 0 && v.items[0].get("to") == nil)) {
		return false
	}
	if v.kind == null {
		return true
	}
	if !r.shape(v, "handoffs", list) {
		return true
	}
	for i := range v.items {
		switch entry := &v.items[i]; {
		case entry.kind == mapping:
			r.handoff(entry)
		case entry.kind == str && agentName(entry.text):
			r.at(entry, "agent/type", Error, "An entry of handoffs must be an object; write to: %s.", entry.text)
		default:
			r.reportType(entry, "An entry of handoffs", "an object with to")
		}
	}
	return true
}

// handoff reads one entry. One that cannot be offered is left out, with a finding.
// when may also be a condition itself, as other tools write it: it is then
// conditional. Whether the agent exists is for the registry, which knows the others.
func (r *reader) handoff(v *node) {
	h := Handoff{When: "manual", IncludeContext: true}
	var to, when, condition *node
	fine := true
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		switch k.name {
		case "to":
			if r.stringField(n, "handoffs.to", &h.To) {
				to, h.Range = n, r.text.span(n.start, n.end)
			}
		case "when":
			if r.stringField(n, "handoffs.when", &h.When) {
				when = n
			}
		case "condition":
			if r.stringField(n, "handoffs.condition", &h.Condition) {
				condition = n
			}
		case "description":
			r.stringField(n, "handoffs.description", &h.Description)
		case "include_context", "includeContext":
			if k.name == "includeContext" && v.get("include_context") != nil {
				r.report("agent/unknown-field", Hint, k.start, k.end,
					"includeContext says the same as include_context, which counts; remove one.")
				continue
			}
			r.boolField(n, "handoffs.include_context", &h.IncludeContext)
		case "payload":
			h.Payload, fine = r.payload(n)
		default:
			r.unknown(k, "handoffs.", "handoffs[]")
		}
	}
	if to == nil || h.To == "" {
		r.at(v, "agent/type", Error, "A handoff needs to: the agent that it passes to.")
		return
	}
	// An unknown word in when is a condition, as other tools write it there.
	switch h.When {
	case "manual", "auto":
	case "conditional":
		if condition == nil || h.Condition == "" {
			r.at(when, "agent/type", Error, "A conditional handoff needs a condition.")
			return
		}
	case "":
		h.When = "manual"
	default:
		if condition == nil {
			h.Condition = h.When
		} else {
			r.at(when, "agent/type", Error, "when must be manual, auto or conditional where a condition is given.")
			return
		}
		h.When = "conditional"
	}
	if h.When == "conditional" || (h.When == "auto" && h.Condition != "") {
		// The condition stands in when itself.
		if condition == nil {
			condition = when
		}
		fine = r.condition(condition, h.Condition, ConditionNames...) && fine
	}
	if r.nameNode != nil && h.To == r.nameNode.text {
		r.at(to, "agent/handoff-target", Error, "An agent cannot hand over to itself; this handoff is left out.")
		return
	}
	if h.To != "user" && !agentName(h.To) {
		r.at(to, "agent/handoff-target", Error,
			"%s, so %q is no agent's name and this handoff is left out; correct it.",
			nameFault(h.To[strings.LastIndexByte(h.To, ':')+1:]), h.To)
		return
	}
	if fine {
		r.Handoffs = append(r.Handoffs, h)
	}
}

// payload reads handoffs[].payload: {schema}.
// Its properties become arguments of the tool that hands over, beside reason, context
// and summary, so they may not have these names.
func (r *reader) payload(v *node) (json.RawMessage, bool) {
	if v.kind == null {
		return nil, true
	}
	if !r.shape(v, "handoffs.payload", mapping) {
		return nil, false
	}
	for i := range v.keys {
		if v.keys[i].name != "schema" {
			r.unknown(&v.keys[i], "handoffs.payload.", "handoffs[].payload")
		}
	}
	schema := v.get("schema")
	if schema == nil {
		r.at(v, "agent/schema", Error, "A payload needs schema: a JSON Schema of an object.")
		return nil, false
	}
	raw, ok := r.schema(schema, "handoffs.payload.schema")
	if !ok {
		return nil, false
	}
	if properties := schema.get("properties"); properties != nil {
		for i := range properties.keys {
			switch k := &properties.keys[i]; k.name {
			case "reason", "context", "summary":
				r.at(k.node(), "agent/schema", Error,
					"A payload must not have a property %s, which every handoff has; rename it.", k.name)
				return nil, false
			}
		}
	}
	return raw, true
}

// anyCase is what a trigger's pattern is compiled with: case does not count.
const anyCase = "(?i)"

// triggersField reads triggers: an object, or a list of entries that weigh each by its
// own priority (spec 1.2). A pattern that does not compile is left out (SEC-123).
func (r *reader) triggersField(v *node) {
	if !r.shape(v, "triggers", mapping, list) {
		return
	}
	r.TriggersRange = r.text.span(v.start, v.end)
	if v.kind == mapping {
		t := Trigger{Priority: DefaultPriority}
		for i := range v.keys {
			k, n := &v.keys[i], &v.items[i]
			switch k.name {
			case "keywords":
				t.Keywords = texts(r.strings(n, "triggers.keywords"))
			case "examples":
				r.Examples, r.ExamplesRange = texts(r.strings(n, "triggers.examples")), r.text.span(n.start, n.end)
			case "patterns":
				t.Patterns = r.patterns(n, "triggers.patterns")
			case "priority":
				t.Priority = r.priority(n, 100, DefaultPriority)
			default:
				r.unknown(k, "triggers.", "triggers")
			}
		}
		r.Priority = t.Priority
		r.addTrigger(t)
		return
	}
	for i := range v.items {
		entry := &v.items[i]
		if entry.kind != mapping {
			r.reportType(entry, "An entry of triggers", "an object")
			continue
		}
		t := Trigger{Priority: DefaultPriority}
		for j := range entry.keys {
			k, n := &entry.keys[j], &entry.items[j]
			switch k.name {
			case "intent":
				r.stringField(n, "triggers.intent", &t.Intent)
			case "keywords":
				t.Keywords = texts(r.strings(n, "triggers.keywords"))
			case "regex":
				t.Patterns = r.patterns(n, "triggers.regex")
			case "priority":
				t.Priority = r.priority(n, 10, DefaultPriority)
			default:
				r.unknown(k, "triggers.", "triggers[]")
			}
		}
		r.addTrigger(t)
	}
}

// addTrigger keeps a trigger that something can match.
//
// One without keywords and patterns is dropped, also where that is so because a pattern
// was refused.
func (r *reader) addTrigger(t Trigger) {
	if len(t.Keywords)+len(t.Patterns) > 0 {
		r.Triggers = append(r.Triggers, t)
	}
}

// priority reads a priority from 0 to high as one from 0 to 100.
//
// high is 100 for the object and 10 for entries of a list, as each is written. fallback is
// for what is no number in the range.
func (r *reader) priority(v *node, high float64, fallback int) int {
	n := r.floatField(v, "triggers.priority", 0, high)
	if n == nil {
		return fallback
	}
	return int(math.Round(*n * 100 / high))
}

// texts returns the texts of a list.
func texts(list []listed) []string {
	all := make([]string, len(list))
	for i, l := range list {
		all[i] = l.name
	}
	return all
}

// patterns returns those of one pattern, or of a list of them, that compile.
//
// Those that do not compile or cost too much are reported and left out.
func (r *reader) patterns(v *node, field string) (fine []string) {
	add := func(n *node) {
		if r.pattern(n) {
			fine = append(fine, n.text)
		}
	}
	switch v.kind {
	case null:
	case str:
		add(v)
	case list:
		for i := range v.items {
			if v.items[i].kind != str {
				r.reportType(&v.items[i], "An entry of "+field, "a string")
				continue
			}
			add(&v.items[i])
		}
	default:
		r.reportType(v, field, "a list of strings")
	}
	return fine
}

// pattern reports whether a pattern may be compiled, and says why not.
func (r *reader) pattern(v *node) bool {
	text := anyCase + v.text
	if r.spent > pattern.PerFile {
		if !r.broke {
			r.at(v, "agent/regex", Error,
				"The file has more patterns and conditions than can be judged quickly, so this pattern and those after it are left out; write fewer, or shorter ones.")
		}
		r.broke = true
		return false
	}
	size, bad := pattern.Check(text)
	r.spent += size.Parse
	if bad != nil {
		r.at(v, "agent/regex", Error, "The pattern %s and is left out; %s.", bad.What, bad.Do)
		return false
	}
	return true
}

// inputTypes are the types of inputs, as JSON Schema (spec 1.4).
var inputTypes = map[string]string{
	"string": `"type":"string"`, "number": `"type":"number"`, "integer": `"type":"integer"`,
	"boolean":  `"type":"boolean"`,
	"string[]": `"type":"array","items":{"type":"string"}`, "number[]": `"type":"array","items":{"type":"number"}`,
}

// inputsField makes a JSON Schema of inputs, its properties in the file's order.
func (r *reader) inputsField(v *node) {
	if v.kind == null {
		return
	}
	if !r.shape(v, "inputs", mapping) {
		return
	}
	// From here on a placeholder without an input is an error.
	r.inputs = make(map[string]bool, len(v.keys))
	var properties strings.Builder
	required := []string{}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		if k.name == "" || placeholderEnd(k.name, 0) != len(k.name) {
			r.at(k.node(), "agent/type", Error, "The name of an input must be letters, digits and _.")
			continue
		}
		r.inputs[k.name] = true
		property, needed := r.input(k, n)
		if properties.Len() > 0 {
			properties.WriteByte(',')
		}
		properties.WriteString(quote(k.name) + ":" + property)
		if needed {
			required = append(required, k.name)
		}
	}
	names, _ := json.Marshal(required)
	// A caller's misspelt input is refused and not passed over.
	r.Inputs = json.RawMessage(`{"type":"object","properties":{` + properties.String() + `},"required":` +
		string(names) + `,"additionalProperties":false}`)
}

// input makes the schema of one input.
// property is its JSON Schema, needed whether it has to be given. One that is partly
// wrong still gets a schema, by which the rest of the file can be checked.
func (r *reader) input(k *key, v *node) (property string, needed bool) {
	kindOf := "string"
	var description string
	var fallback, enum *node
	if v.kind != null && r.shape(v, "inputs."+k.name, mapping) {
		for i := range v.keys {
			f, n := &v.keys[i], &v.items[i]
			switch f.name {
			case "type":
				if !r.stringField(n, "inputs."+k.name+".type", &kindOf) {
					continue
				}
				if inputTypes[kindOf] == "" {
					r.oneOf(n, "inputs.*.type",
						"The type of an input must be string, number, integer, boolean, string[] or number[].")
					kindOf = "string"
				}
			case "description":
				r.stringField(n, "inputs."+k.name+".description", &description)
			case "required":
				r.boolField(n, "inputs."+k.name+".required", &needed)
			case "default":
				fallback = n
			case "enum":
				if r.shape(n, "inputs."+k.name+".enum", list) {
					enum = n
				}
			default:
				r.unknown(f, "inputs."+k.name+".", "inputs.*")
			}
		}
	}
	var b strings.Builder
	b.WriteString("{" + inputTypes[kindOf])
	if description != "" {
		b.WriteString(`,"description":` + quote(description))
	}
	if fallback != nil && fallback.kind != null {
		if !fits(fallback, kindOf) {
			r.at(fallback, "agent/type", Error, "The default of input %s must be of type %s.", k.name, kindOf)
		} else if enum != nil && !enumHas(enum, fallback) {
			r.at(fallback, "agent/type", Error,
				"The default of input %s is none of its values; add it to enum, or correct it.", k.name)
		}
		b.WriteString(`,"default":` + encode(fallback))
	}
	if enum != nil {
		element := strings.TrimSuffix(kindOf, "[]")
		for i := range enum.items {
			if !fits(&enum.items[i], element) {
				r.at(&enum.items[i], "agent/type", Error, "A value of input %s must be of type %s.", k.name, element)
			}
		}
		if element != kindOf {
			// The values are those of the elements.
			s := b.String()
			b.Reset()
			b.WriteString(strings.Replace(s, `"items":{`, `"items":{"enum":`+encode(enum)+`,`, 1))
		} else {
			b.WriteString(`,"enum":` + encode(enum))
		}
	}
	b.WriteByte('}')
	return b.String(), needed
}

// fits reports whether a value is of an input's type.
//
// A number without a fraction is an integer too. An unknown type has been reported and
// replaced by string before.
func fits(v *node, kindOf string) bool {
	switch kindOf {
	case "string":
		return v.kind == str
	case "number":
		return v.kind == number
	case "integer":
		return v.integral()
	case "boolean":
		return v.kind == boolean
	}
	element := strings.TrimSuffix(kindOf, "[]")
	return v.kind == list && !slices.ContainsFunc(v.items, func(n node) bool { return !fits(&n, element) })
}

// outputField reads output (spec 1.4).
// Without a schema any value is one.
func (r *reader) outputField(v *node) {
	if !r.shape(v, "output", mapping) {
		return
	}
	out := &Output{Name: "result", Schema: json.RawMessage("true")}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		switch k.name {
		case "name":
			if r.stringField(n, "output.name", &out.Name) && (out.Name == "" ||
				placeholderEnd(out.Name, 0) != len(out.Name)) {
				r.at(n, "agent/type", Error, "output.name must be letters, digits and _.")
			}
		case "description":
			r.stringField(n, "output.description", &out.Description)
		case "text":
			r.stringField(n, "output.text", &out.Text)
		case "schema":
			if raw, ok := r.schema(n, "output.schema"); ok {
				out.Schema = raw
			}
		default:
			r.unknown(k, "output.", "output")
		}
	}
	r.Output = out
}

// messagesField reads initial_messages.
// Their texts may have placeholders, as the query.
func (r *reader) messagesField(v *node) {
	if !r.shape(v, "initial_messages", list) {
		return
	}
	for i := range v.items {
		entry := &v.items[i]
		if entry.kind != mapping {
			r.reportType(entry, "An entry of initial_messages", "an object with role and text")
			continue
		}
		var e Exchange
		found := len(r.problems)
		for j := range entry.keys {
			k, n := &entry.keys[j], &entry.items[j]
			r.trimSmartQuotes(n)
			switch k.name {
			case "role":
				if r.stringField(n, "initial_messages.role", &e.Role) && e.Role != "user" && e.Role != "model" {
					r.oneOf(n, "initial_messages[].role", "The role of an initial message must be user or model.")
				}
			case "text":
				if r.stringField(n, "initial_messages.text", &e.Text) {
					r.queries = append(r.queries, n)
				}
			default:
				r.unknown(k, "initial_messages.", "initial_messages[]")
			}
		}
		if e.Role == "" || e.Text == "" {
			if len(r.problems) == found { // else that may be why
				r.at(entry, "agent/type", Error, "An initial message needs role and text.")
			}
			continue
		}
		r.InitialMessages = append(r.InitialMessages, e)
	}
}

// quote returns s as JSON.
func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
