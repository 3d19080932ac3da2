package handlers

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// listMemory serves agents/memory/list.
// The cursor is how many records to skip, so a record that is added or deleted meanwhile
// shifts the pages.
func (h *Handlers) listMemory(ctx context.Context, _ struct{},
	p *wire.MemoryListParams) (*wire.MemoryListResult, error) {
	stores, problems, err := h.memories(ctx, p.Store, p.All)
	if err != nil {
		return nil, err
	}
	skip, _ := strconv.Atoi(p.Cursor) // checked
	limit := cmp.Or(p.Limit, 50)
	records, more, err := h.daemon.Agents.Memories.List(ctx, stores, skip, limit)
	if err != nil {
		return nil, err
	}
	r := &wire.MemoryListResult{Stores: []wire.MemoryStore{}, Records: h.memoryRecords(records), Problems: problems}
	for _, s := range stores {
		one := wire.MemoryStore{
			ID: s.ID, Backend: s.Backend, Scope: string(s.Scope), Agent: s.Agent, Index: s.Index, Type: string(s.Kind),
			Embedder: s.Embedder, Dimension: s.Dimension, Records: s.Records, Problem: s.Problem,
		}
		if s.Scope != "" {
			one.Whose = s.Place.String()
		}
		if s.Folder != "" {
			one.URI = tool.URI(s.Folder)
		}
		r.Stores = append(r.Stores, one)
	}
	if more {
		r.Cursor = strconv.Itoa(skip + limit)
	}
	return r, nil
}

// memories returns the store of an id or, without one, those of the workspace or all, and
// what keeps others from being read.
//
// A store that cannot be read is a problem and does not keep the others from being listed;
// one that was asked for by its id is the error.
func (h *Handlers) memories(ctx context.Context, id string, all bool) (stores []memory.Stored,
	problems []string, err error) {
	if id != "" {
		one, err := h.daemon.Agents.MemoryStore(ctx, id)
		return []memory.Stored{one}, []string{}, err
	}
	stores, failed := h.daemon.Agents.MemoryStores(ctx, all)
	problems = []string{}
	for _, err := range failed {
		problems = append(problems, fault.Message(err))
	}
	return stores, problems, ctx.Err()
}

// memoryRecords returns records as a person is shown them: without what looks like a
// credential.
func (h *Handlers) memoryRecords(found []memory.Found) []wire.MemoryRecord {
	all := make([]wire.MemoryRecord, 0, len(found))
	for _, f := range found {
		r := wire.MemoryRecord{
			Store: f.Store, ID: f.ID, Key: f.Key, Content: string(h.daemon.MaskText([]byte(f.Content))),
			Agent: f.Agent, Session: f.Session,
			Time: stamp(f.Time), Taint: f.Taint, Score: f.Score,
		}
		if len(f.Metadata) > 0 {
			r.Metadata = h.daemon.MaskText(f.Metadata)
		}
		all = append(all, r)
	}
	return all
}

// searchMemory serves agents/memory/search.
// Stores that cannot be read are problems in the answer, unless one was asked for by its id.
func (h *Handlers) searchMemory(ctx context.Context, _ struct{},
	p *wire.MemorySearchParams) (*wire.MemorySearchResult, error) {
	stores, problems, err := h.memories(ctx, p.Store, p.All)
	if err != nil {
		return nil, err
	}
	found, err := h.daemon.Agents.Memories.Search(ctx, stores, p.Query, cmp.Or(p.Limit, 10))
	if err != nil {
		return nil, err
	}
	return &wire.MemorySearchResult{Records: h.memoryRecords(found), Problems: problems}, nil
}

// stays is what a person has to know who erases something that an agent said.
const stays = "The logs of sessions keep what was said in them: `agentls sessions delete` erases one."

// deleteMemory serves agents/memory/delete.
// It cannot be undone.
// A store that there is not is fault.NotFound.
func (h *Handlers) deleteMemory(ctx context.Context, _ struct{},
	p *wire.MemoryDeleteParams) (*wire.MemoryDeleteResult, error) {
	s, err := h.daemon.Agents.MemoryStore(ctx, p.Store)
	if err != nil {
		return nil, err
	}
	r := &wire.MemoryDeleteResult{}
	if p.All {
		r.Deleted, err = h.daemon.Agents.Memories.Drop(ctx, s)
	} else {
		r.Deleted, err = h.daemon.Agents.Memories.Delete(ctx, s, p.Keys)
	}
	if err != nil {
		return nil, err
	}
	if r.Deleted > 0 {
		r.Note = strings.TrimSpace(stays + " " + h.daemon.Agents.Memories.CleanFiles(ctx, s))
	}
	return r, nil
}
