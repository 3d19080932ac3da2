package definition

// What an agent may remember beyond a session (spec 1.2, 6.2).

import "fmt"

// Memory is an agent's long-term memory.
type Memory struct {
	Kind      string // vector, key_value
	Backend   string // local, redis
	Scope     string // agent, workspace, user
	Index     string // a separate store of this name; "" = none
	Model     string // that makes vectors; "" = the default
	Dimension int    // of vectors; 0 = the model's
	// Records that are recalled at most, from 1 to 50.
	TopK int
	// How alike they must be, from 0 to 1; nil = the default.
	Threshold *float64
	Range     Range // of the field's value
}

// The limits of what a file may ask for.
const (
	maxDimension = 8192 // of a vector that a store takes
	maxTopK      = 50
	maxIndex     = 64 // bytes of index_name
)

// DefaultTopK is how many records are recalled where the file does not say.
const DefaultTopK = 5

// memoryField reads the long-term part of memory, whose types [reader.byTable] has checked.
// Memory stays nil where it is off, or where what the file asks for is not there.
// long_term is read first, so that what stands in memory itself counts
// before it.
func (r *reader) memoryField(v *node) {
	if v.kind != mapping {
		return
	}
	m := &Memory{Kind: "vector", Backend: "local", Scope: "agent", TopK: DefaultTopK,
		Range: r.text.span(v.start, v.end)}
	enabled := v.get("enabled")
	on := enabled != nil && enabled.kind == boolean && enabled.truth
	if long := v.get("long_term"); long != nil && long.kind == mapping {
		// Who describes a long-term memory has it, unless enabled says otherwise.
		on = on || enabled == nil || enabled.kind == null
		switch backend := textOf(long, "backend"); backend {
		case "filesystem":
			m.Kind = "key_value"
		case "vector_store", "":
		default:
			on = false
		}
		if config := long.get("config"); config != nil {
			r.readMemory(m, config, "memory.long_term.config.")
		}
	}
	r.readMemory(m, v, "memory.")
	switch {
	case m.Kind != "vector" && m.Kind != "key_value", m.Backend != "local" && m.Backend != "redis",
		m.Scope != "agent" && m.Scope != "workspace" && m.Scope != "user":
		return // told by its row
	case on:
		r.Memory = m
	case enabled == nil && (v.get("type") != nil || v.get("backend") != nil):
		r.at(v, "agent/no-effect", Hint, "The memory is off: write enabled: true.")
	}
}

// readMemory takes over what an object says of the memory.
//
// A number that is out of range leaves what was there.
func (r *reader) readMemory(m *Memory, v *node, path string) {
	for name, to := range map[string]*string{
		"type": &m.Kind, "backend": &m.Backend, "scope": &m.Scope, "index_name": &m.Index, "embedding_model": &m.Model,
	} {
		if text := textOf(v, name); text != "" {
			*to = text
		}
	}
	if n := v.get("index_name"); n != nil && len(m.Index) > maxIndex {
		r.at(n, "agent/type", Error, "%sindex_name must have %d characters or less.", path, maxIndex)
	}
	for name, to := range map[string]*int{"dimension": &m.Dimension, "top_k": &m.TopK} {
		// A value of another type has a finding by its row.
		n := v.get(name)
		if n == nil || n.kind != number || !n.integral() || n.num < 1 {
			continue
		}
		most := maxDimension
		if name == "top_k" {
			most = maxTopK
		}
		if n.num > float64(most) {
			r.at(n, "agent/type", Error, "%s must be %d or less.", fmt.Sprint(path, name), most)
			continue
		}
		*to = int(n.num)
	}
	if n := v.get("similarity_threshold"); n != nil && n.kind == number && n.num >= 0 && n.num <= 1 {
		threshold := n.num // a copy: the tree is the next file's
		m.Threshold = &threshold
	}
}

// textOf returns the text of a mapping's key, "" where there is none.
func textOf(v *node, name string) string {
	if n := v.get(name); n != nil && n.kind == str {
		return n.text
	}
	return ""
}
