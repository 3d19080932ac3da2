package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// embeddingModel is the entry of the table of models that makes vectors where an agent's
// file names none.
const embeddingModel = "embedding"

// remembers returns the backend of an agent's long-term memory, nil where it has none.
// nil too for a backend that this daemon does not have.
func (s *Service) remembers(def *definition.Definition) memory.Backend {
	if def.Memory == nil {
		return nil
	}
	return s.Memories[def.Memory.Backend]
}

// withoutMemory takes the tools away that an agent without long-term memory has no use for.
// all is not changed.
func (s *Service) withoutMemory(def *definition.Definition, all []tool.Tool) []tool.Tool {
	if s.remembers(def) != nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t tool.Tool) bool {
		name := t.Spec().Name
		return name == "store_memory" || name == "recall_memory"
	})
}

// placeOfMemory says which store an agent that runs in a folder has. An agent of a
// project has one in that project alone, so that a namesake of another project reads
// nothing of it.
// def.Memory must not be nil. A store of the user's scope has neither agent nor folder.
func placeOfMemory(def *definition.Definition, folder string) memory.Place {
	m := def.Memory
	p := memory.Place{Backend: m.Backend, Scope: memory.Scope(m.Scope), Index: m.Index}
	switch p.Scope {
	case memory.OfAgent:
		p.Agent = def.Name
		if def.FromProject() {
			p.Folder = def.Folder
		}
	case memory.OfWorkspace:
		p.Folder = folder
	}
	return p
}

// memoryOfRun returns what a run may remember, nil for nothing. Nothing is opened for
// it. Its Embedder is set by the run, which counts and tells each vector as a call of a
// model.
func (s *Service) memoryOfRun(def *definition.Definition, folder string) *memory.Agent {
	backend := s.remembers(def)
	if backend == nil {
		return nil
	}
	m := def.Memory
	want := memory.Shape{Kind: memory.Kind(m.Kind)}
	if want.Kind == memory.Vector {
		want.Dimension = m.Dimension
		switch {
		case memory.IsLocal(m.Model):
			want.Embedder = memory.LocalName
		case m.Model != "":
			want.Embedder, _, _ = s.Table.Resolve(m.Model, embeddingModel)
		}
	}
	return &memory.Agent{Backend: backend, At: placeOfMemory(def, folder), Want: want, Limit: m.TopK,
		Threshold: m.Threshold}
}

// embedding returns the model that makes vectors: of a name, or with "" the one that new
// stores get. nil is the local embedder, where no provider can be asked at all.
func (s *Service) embedding(name string) (*run.Choice, error) {
	choice, err := s.choice(cmp.Or(name, embeddingModel))
	// Only for a new store: one that was made by a model needs that model, or its vectors
	// would be compared with those of another.
	if reason, _ := fault.ReasonOf(err); name == "" && reason == fault.AuthRequired {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &choice, nil
}

// MemoryStores returns the long-term memory that agents of this workspace share or have,
// with all that of other workspaces too. What of it cannot be read, it says; failed are the
// errors of backends. It asks every backend, and ends with ctx.
func (s *Service) MemoryStores(ctx context.Context, all bool) (stores []memory.Stored, failed []error) {
	stores, failed = s.Memories.Stores(ctx)
	if !all {
		folders := s.Folders()
		stores = slices.DeleteFunc(stores, func(one memory.Stored) bool {
			return one.Folder != "" && !slices.Contains(folders, one.Folder)
		})
	}
	return stores, failed
}

// MemoryStore returns the store of an id. The errors are NotFound, or that of a backend
// that could not be asked.
func (s *Service) MemoryStore(ctx context.Context, id string) (memory.Stored, error) {
	stores, failed := s.MemoryStores(ctx, true)
	var names []string
	for _, one := range stores {
		if one.ID == id {
			return one, nil
		}
		names = append(names, one.ID)
	}
	if len(failed) > 0 { // it may be where nobody answers
		return memory.Stored{}, failed[0]
	}
	known := "; there is none yet"
	if len(names) > 0 {
		known = "; there are " + strings.Join(names, ", ")
	}
	return memory.Stored{}, fault.New(fault.NotFound, "agents.memory", "there is no memory %s%s",
		tool.Escape(id), known)
}

// describeMemory says in a line what an agent may remember.
func (s *Service) describeMemory(def *definition.Definition, folder string) string {
	m := def.Memory
	a := s.memoryOfRun(def, folder)
	if a == nil {
		return ""
	}
	where := "in files of this machine"
	if m.Backend == "redis" {
		where = "in the Redis server of agents.memory.redis"
	}
	by := "found by words"
	if a.Want.Kind == memory.Vector {
		name := a.Want.Embedder
		if name == "" {
			name = memory.LocalName
			if choice, err := s.embedding(""); err == nil && choice != nil {
				name = choice.ID
			}
		}
		by = "found by meaning (" + name + ")"
	}
	return fmt.Sprintf("of %s, %s, %s, up to %d at a time", a.At, where, by, a.Limit)
}
