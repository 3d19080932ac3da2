package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
)

type (
	// MemoryListParams asks what agents remember across sessions (spec 6.2).
	MemoryListParams struct {
		Store  string `json:"store,omitempty"`  // only of this one
		All    bool   `json:"all,omitzero"`     // of other workspaces too
		Cursor string `json:"cursor,omitempty"` // of the page before
		Limit  int    `json:"limit,omitzero"`   // records, 100 at most; absent = 50
	}

	// MemoryListResult is what is remembered, the newest records first.
	MemoryListResult struct {
		Stores   []MemoryStore  `json:"stores"`
		Records  []MemoryRecord `json:"records"`
		Cursor   string         `json:"cursor,omitempty"` // of the next page; absent = this is the last
		Problems []string       `json:"problems"`         // why not all stores could be read
	}

	// MemoryStore is one store of records.
	MemoryStore struct {
		// What other requests name it by.
		ID        string `json:"id"`
		Backend   string `json:"backend"`            // local, redis
		Scope     string `json:"scope,omitempty"`    // agent, workspace, user
		Agent     string `json:"agent,omitempty"`    // of scope agent
		URI       string `json:"uri,omitempty"`      // of the workspace folder that it belongs to
		Index     string `json:"index,omitempty"`    // index_name
		Whose     string `json:"whose,omitempty"`    // all of that in words
		Type      string `json:"type,omitempty"`     // vector, key_value
		Embedder  string `json:"embedder,omitempty"` // what made the vectors
		Dimension int    `json:"dimension,omitzero"` // of the vectors
		// How many records it has.
		Records int    `json:"records"`
		Problem string `json:"problem,omitempty"` // why it cannot be read
	}

	// MemoryRecord is one thing that is remembered.
	MemoryRecord struct {
		// The id of the store that has it.
		Store string `json:"store"`
		// Its id in the store.
		ID string `json:"id"`
		// The name under which the agent keeps it; storing under the key again
		// replaces it.
		Key string `json:"key"`
		// The text that agents are told.
		Content  string          `json:"content"`
		Agent    string          `json:"agent"`              // that stored it
		Session  string          `json:"session"`            // in which it did
		Time     string          `json:"time"`               // RFC 3339
		Taint    string          `json:"taint,omitempty"`    // foreign, web: the agent had read what others wrote, and the person agreed
		Metadata json.RawMessage `json:"metadata,omitempty"` // an object
		Score    float64         `json:"score,omitzero"`     // of a search, to 1: which part of the words it has
	}

	// MemorySearchParams looks for records by their words.
	MemorySearchParams struct {
		// Words; a record that has more of them comes first.
		Query string `json:"query"`
		Store string `json:"store,omitempty"` // only in this one
		All   bool   `json:"all,omitzero"`    // in those of other workspaces too
		Limit int    `json:"limit,omitzero"`  // 100 at most; absent = 10
	}

	// MemorySearchResult is what was found, the best first.
	MemorySearchResult struct {
		Records  []MemoryRecord `json:"records"`
		Problems []string       `json:"problems"` // why not all stores could be searched
	}

	// MemoryDeleteParams names records of a store, or all of it.
	MemoryDeleteParams struct {
		// As in agents/memory/list.
		Store string `json:"store"`
		// Keys of its records; without all.
		Keys []string `json:"keys,omitempty"`
		All  bool     `json:"all,omitzero"` // the whole store; without keys
	}

	// MemoryDeleteResult says what is gone.
	MemoryDeleteResult struct {
		// How many records were erased.
		Deleted int    `json:"deleted"`
		Note    string `json:"note,omitempty"` // where else it may be known, for people
	}
)

// maxMemoryPage is how many records a request gets at most.
const maxMemoryPage = 100

// Check implements the server's check of parameters.
func (p *MemoryListParams) Check() (string, error) {
	if n, err := strconv.Atoi(p.Cursor); p.Cursor != "" && (err != nil || n < 0) {
		return "cursor", fmt.Errorf("is none that a page gave")
	}
	return checkMemoryPage(p.Limit)
}

// Check implements the server's check of parameters.
func (p *MemorySearchParams) Check() (string, error) {
	if at, err := checkRequired("query", p.Query); err != nil {
		return at, err
	}
	return checkMemoryPage(p.Limit)
}

// checkMemoryPage refuses a number of records that is negative or above
// [maxMemoryPage]; 0 is absent.
func checkMemoryPage(limit int) (string, error) {
	if limit < 0 || limit > maxMemoryPage {
		return "limit", fmt.Errorf("must be from 1 to %d", maxMemoryPage)
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *MemoryDeleteParams) Check() (string, error) {
	switch at, err := checkRequired("store", p.Store); {
	case err != nil:
		return at, err
	case p.All && len(p.Keys) > 0:
		return "keys", fmt.Errorf("must not be given with all")
	case !p.All && len(p.Keys) == 0:
		return "keys", fmt.Errorf("is required, or all")
	}
	return "", nil
}
