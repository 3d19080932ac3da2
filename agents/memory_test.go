package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/memory/local"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// TestEmbedderOfNewStores: without a key vectors are made on this machine; a model that an
// agent's file names, and one that no provider has, are never replaced by that.
func TestEmbedderOfNewStores(t *testing.T) {
	s := explaining(&Settings{})
	s.Now = time.Now
	s.Memories = memory.Keeper{"local": local.New(local.Config{Dir: t.TempDir(), Now: time.Now})}
	defer s.Memories.Close()
	key := false
	s.Provider = func(id string) (model.Model, *model.Retries, error) {
		switch {
		case strings.HasPrefix(id, "openai/"):
			return nil, nil, fault.New(fault.NotFound, "test", "no provider is configured for the model %q", id).Because(fault.Config)
		case !key:
			return nil, nil, fault.New(fault.Denied, "test", "no key").Because(fault.AuthRequired)
		}
		return nil, nil, nil
	}
	for _, c := range []struct {
		key               bool
		name, want, wrong string
	}{
		{false, "", "", ""}, {true, "", "gemini-embedding-001", ""}, {true, "embedding", "gemini-embedding-001", ""},
		{false, "gemini-embedding-001", "", "no key"}, {true, "openai/text-embedding-3-small", "", "no provider is configured"},
	} {
		key = c.key
		choice, err := s.embedding(c.name)
		got := ""
		if choice != nil {
			got = choice.ID
		}
		if got != c.want || (err != nil) != (c.wrong != "") || (err != nil && !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%t %q: %q, %v", c.key, c.name, got, err)
		}
	}
}

// TestPlacesOfMemory: who shares a store is what scope says; namesakes of two projects,
// and of a project and the person, share none.
func TestPlacesOfMemory(t *testing.T) {
	of := func(scope definition.Scope, folder, fields string) memory.Place {
		d := definition.Parse(definition.Source{Path: folder + "/.gemini/agents/a.md", Folder: folder, Scope: scope, Data: []byte("---\nkind: agent\nname: a\ntitle: A\nmemory: {enabled: true" + fields + "}\n---\nx\n")})
		if d.Memory == nil {
			t.Fatal(d.Problems)
		}
		return placeOfMemory(d, "/w")
	}
	own, one, two := of(definition.Global, "", ""), of(definition.Project, "/w", ""), of(definition.Project, "/v", "")
	if own == one || one == two || own.ID() == one.ID() || one.ID() == two.ID() {
		t.Errorf("%v, %v, %v", own, one, two)
	}
	if a, b := of(definition.Global, "", ", scope: user"), of(definition.Project, "/v", ", scope: user"); a != b {
		t.Errorf("of the user: %v, %v", a, b)
	}
	if a, b := of(definition.Global, "", ", scope: workspace"), of(definition.Project, "/w", ", scope: workspace"); a != b || a == own {
		t.Errorf("of the workspace: %v, %v", a, b)
	}
	if a, b := of(definition.Global, "", ", index_name: x"), of(definition.Global, "", ", index_name: y"); a.ID() == b.ID() {
		t.Errorf("of two names: %v, %v", a, b)
	}
}
