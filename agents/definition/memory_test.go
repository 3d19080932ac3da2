package definition

import (
	"fmt"
	"strings"
	"testing"
)

// TestMemory: what a file says of long-term memory, in each of its forms; what cannot be
// had is off, and told.
func TestMemory(t *testing.T) {
	for fields, want := range map[string]string{
		"{enabled: true}": "vector local agent 5 ",
		"{enabled: true, type: key_value, backend: redis, scope: user, index_name: notes, top_k: 9}": "key_value redis user/notes 9 ",
		"{enabled: true, embedding_model: local, dimension: 64, similarity_threshold: 0.3}":          "vector local agent 5 local 64 0.3",
		"{session: [a], long_term: {backend: filesystem}}":                                           "key_value local agent 5 ",
		"{long_term: {backend: vector_store, config: {index_name: docs, top_k: 3}}}":                 "vector local agent/docs 3 ",
		"{enabled: false, long_term: {backend: filesystem}}":                                         "off",
		"{session: [a]}":                                               "off",
		"{type: vector}":                                               "off: agent/no-effect hint The memory is off: write enabled: true.",
		"{enabled: true, backend: pinecone}":                           "off: agent/type warning memory.backend: pinecone is not in this version; write local or redis.",
		"{long_term: {backend: vertex}}":                               "off: agent/type warning memory.long_term.backend: vertex is not in this version; write vector_store or filesystem.",
		"{enabled: true, top_k: 51}":                                   "vector local agent 5 : agent/type error memory.top_k must be 50 or less.",
		"{enabled: true, dimension: 9000}":                             "vector local agent 5 : agent/type error memory.dimension must be 8192 or less.",
		"{enabled: true, index_name: " + strings.Repeat("x", 65) + "}": "vector local agent/" + strings.Repeat("x", 65) + " 5 : agent/type error memory.index_name must have 64 characters or less.",
	} {
		d := parse(ownPath, own("memory: "+fields+"\n"))
		got := "off"
		if m := d.Memory; m != nil {
			got = fmt.Sprintf("%s %s %s", m.Kind, m.Backend, m.Scope)
			if m.Index != "" {
				got += "/" + m.Index
			}
			got += fmt.Sprintf(" %d ", m.TopK)
			if m.Model != "" {
				got += fmt.Sprintf("%s %d %g", m.Model, m.Dimension, *m.Threshold)
			}
		}
		for _, p := range d.Problems {
			got += fmt.Sprintf(": %s %s %s", p.Code, p.Severity, p.Message)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", fields, got, want)
		}
	}
}
