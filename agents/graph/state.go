package graph

// What nodes give, and how it comes together.

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// fold puts what steps gave into a state, in the order in which they are given. A value
// is there under the name of its node, and a member of it under its own name where the
// graph's state has that.
// Steps that have not finished are skipped. Two steps that both give a key without a
// reducer, neither of which came before the other, are an error: which of them counts
// would depend on the clock.
func (h *history) fold(steps []int) (map[string]any, error) {
	state := make(map[string]any)
	givers := make(map[string]int) // by key without a reducer, the last: those before it came before whatever it did
	for _, i := range steps {
		s := &h.steps[i]
		value, over := h.done[s.ID]
		if !over {
			continue
		}
		if err := h.m.Plan.put(state, s.Node, value); err != nil {
			return nil, failuref("The result of the node %s does not fit the state: %v", s.Node, err)
		}
		object, _ := value.(map[string]any)
		for _, key := range h.m.Plan.State {
			member, given := object[key.Name]
			if _, is := h.m.order.index[key.Name]; is || !given {
				continue
			}
			if other, twice := givers[key.Name]; twice && key.Reducer == "" && !s.follows(other) {
				return nil, failuref("The nodes %s and %s ran side by side and both gave %s; say with graph.state.%s.reducer how their values come together: %s.",
					h.steps[other].Node, s.Node, key.Name, key.Name, strings.Join(Reducers, ", "))
			}
			givers[key.Name] = i
			if err := h.m.Plan.put(state, key.Name, member); err != nil {
				return nil, fmt.Errorf("%s of the node %s does not fit the state: %w", key.Name, s.Node, err)
			}
		}
	}
	return state, nil
}

// follows reports whether another step came before this one, on a way that led to it.
func (s *Step) follows(other int) bool {
	for _, i := range slices.Backward(s.past) { // mostly it is one of the last
		if i == other {
			return true
		}
	}
	return false
}

// Keys returns the names in the state that a value of a node goes to.
// The node's own name is the first. value is JSON as encoding/json reads it into any.
func (p *Plan) Keys(node string, value any) []string {
	keys := []string{node}
	object, _ := value.(map[string]any)
	for _, k := range p.State {
		if _, is := p.Node(k.Name); is {
			continue // that node's own value
		}
		if _, given := object[k.Name]; given {
			keys = append(keys, k.Name)
		}
	}
	return keys
}

// put adds a value to a key.
// Values are not changed, since other states have them too; a list that append made is this state's own.
func (p *Plan) put(state map[string]any, name string, value any) (err error) {
	reducer := ""
	for _, k := range p.State {
		if k.Name == name {
			reducer = k.Reducer
		}
	}
	before, there := state[name]
	switch reducer {
	case "append":
		list, _ := before.([]any)
		if more, is := value.([]any); is {
			state[name] = append(list, more...)
		} else {
			state[name] = append(list, value)
		}
		return nil
	case "sum":
		add, is := value.(float64)
		if !is {
			return fmt.Errorf("%s is no number, and the reducer of %s is sum", short(value), name)
		}
		sum, _ := before.(float64)
		state[name] = sum + add
		return nil
	case "merge":
		more, is := value.(map[string]any)
		if !is {
			return fmt.Errorf("%s is no object, and the reducer of %s is merge", short(value), name)
		}
		if there {
			value = merge(before.(map[string]any), more)
		}
	}
	state[name] = value
	return nil
}

// merge returns two objects as one; where both have a member that is no object, the
// second's counts.
// Neither is changed.
func merge(a, b map[string]any) map[string]any {
	both := maps.Clone(a)
	for name, value := range b {
		x, old := both[name].(map[string]any)
		y, is := value.(map[string]any)
		if old && is {
			value = merge(x, y)
		}
		both[name] = value
	}
	return both
}

// values are the names that conditions and placeholders know: those of the state, and
// input, with which the graph was begun. Dashes of names are underscores too. Every
// node is there from the start as null, so that a condition can ask whether one has
// run; a name with dashes is there in both spellings, the one of placeholders and the
// one of conditions.
func (m *Machine) values(input any, state map[string]any) map[string]any {
	values := map[string]any{"input": input}
	for _, n := range m.Plan.Nodes {
		values[Identifier(n.Name)] = nil // conditions may ask whether a node has run
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		values[Identifier(name)] = state[name]
	}
	maps.Copy(values, state)
	return values
}

// lookup returns what is at a path, as analysis.summary; nil for nothing.
func lookup(values map[string]any, path string) any {
	var at any = values
	for _, name := range strings.Split(path, ".") {
		object, is := at.(map[string]any)
		if !is {
			return nil
		}
		at = object[name]
	}
	return at
}

// placeholder is ${analysis.summary}, or $${analysis.summary} for itself.
var placeholder = regexp.MustCompile(`\$?\$\{[\w-]+(?:\.[\w-]+)*\}`)

// placeholders returns the paths of the placeholders in a node's input, without those that are
// escaped by a second $.
func placeholders(input any) (paths []string) {
	switch v := input.(type) {
	case string:
		for _, found := range placeholder.FindAllString(v, -1) {
			if !strings.HasPrefix(found, "$$") {
				paths = append(paths, found[2:len(found)-1])
			}
		}
	case []any:
		for _, item := range v {
			paths = append(paths, placeholders(item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // findings have one order
			paths = append(paths, placeholders(v[name])...)
		}
	}
	return paths
}

// Input returns what a step is given: its node's input with the placeholders filled in,
// nil where the node has none. A text that is one placeholder becomes the value itself;
// in other texts a value is written as it is or as JSON, and nothing for what is not
// there. input is what the graph was begun with. The value may share parts with the
// step's state and must not be changed.
func (m *Machine) Input(s Step, input any) any {
	node, _ := m.Plan.Node(s.Node)
	return m.Fill(s, input, node.Input)
}

// Fill is [Machine.Input] for another text or value of a step's node.
// It changes neither template nor state. Placeholders in names of members stay as they
// are.
func (m *Machine) Fill(s Step, input, template any) any {
	return fill(template, m.values(input, s.State))
}

// fill puts values into a copy of v.
// A text that is one placeholder and nothing else becomes the value itself, with its
// type; within a longer text its words are put in.
func fill(v any, values map[string]any) any {
	switch v := v.(type) {
	case string:
		if whole := placeholder.FindString(v); whole == v && v != "" && !strings.HasPrefix(v, "$$") {
			return lookup(values, v[2:len(v)-1])
		}
		return placeholder.ReplaceAllStringFunc(v, func(found string) string {
			if literal, ok := strings.CutPrefix(found, "$$"); ok {
				return "$" + literal
			}
			return Text(lookup(values, found[2:len(found)-1]))
		})
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = fill(v[i], values)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, item := range v {
			object[name] = fill(item, values)
		}
		return object
	}
	return v
}

// Text is a value as people and models read it: a text as it is, anything else as JSON,
// nothing for null. The JSON is on one line.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
