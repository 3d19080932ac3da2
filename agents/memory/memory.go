// Package memory is what agents know across sessions (spec 6.2): records in stores, each
// found again by words or by meaning.
//
// A [Store] keeps the records of one [Place]. Two backends open stores: local, a file of
// this machine for each, and redis, a server. memorytest holds what both must do. What an
// agent does with its memory is [Agent]; what a person does, [Keeper].
//
// # One store, one embedder
//
// Vectors of two embedders cannot be compared. So a store has a [Shape] from its first
// record on, and whoever wants another is refused.
//
// # Cost
//
// Nothing is opened before it is asked for. The package imports internal/fault only.
//
// # Life cycle
//
// A [Backend] is made by who configures the daemon and closed by it. Stores are opened
// through it, again for each use, and are not closed one by one. A store comes to be with
// the first record ([Agent.Remember]), is used in the shape that this record gave it, and
// ends with [Store.Drop].
//
// # Files
//
// memory.go has what is stored and what stores must do, agent.go what an agent does,
// keeper.go what a person does, embed.go vectors, and words.go what a text's words are:
// both backends use it, so that the same question finds the same records in each.
package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// Kind is how records are found again.
type Kind string

// The kinds.
const (
	// By meaning: each record has a vector.
	Vector Kind = "vector"
	// By words alone: no vectors, and no provider is asked.
	KeyValue Kind = "key_value"
)

// Scope says who shares a store. It is part of the [Place], so the same agent with
// another scope has another store.
type Scope string

// The scopes.
const (
	// One agent, in all workspaces; one that comes with a project, in that project.
	OfAgent Scope = "agent"
	// All agents of a workspace folder.
	OfWorkspace Scope = "workspace"
	// All agents of the person.
	OfUser Scope = "user"
)

// Place says which store is meant. Two equal places are one store.
// It is a value that may be compared and used as a key.
type Place struct {
	Backend string `json:"backend"`         // local, redis
	Scope   Scope  `json:"scope"`           // agent, workspace, user
	Agent   string `json:"agent,omitempty"` // of scope agent
	// Folder is the workspace folder of scope workspace, and of scope agent that of an
	// agent which comes with a project: namesakes of two projects share nothing.
	Folder string `json:"folder,omitempty"`
	Index  string `json:"index,omitempty"` // index_name; "" = the one that comes with the scope
}

// ID names the store in requests, files and keys: a word for people, and a digest of all
// that the place says but the backend.
// It is the same in every version, since files and keys are found by it. Two places that
// differ have the same one with a chance of one in 2^48 for each pair.
func (p Place) ID() string {
	digest := sha256.Sum256([]byte(strings.Join([]string{string(p.Scope), p.Agent, p.Folder, p.Index}, "\x00")))
	word := p.Index
	if word == "" {
		word = p.Agent
	}
	if word == "" {
		word = string(p.Scope)
	}
	return slug(word) + "-" + hex.EncodeToString(digest[:6])
}

// slug returns a text as a part of a file's name: ASCII letters, digits and dashes, 40 at
// most.
func slug(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	text = strings.Trim(text, "-")
	if text = text[:min(len(text), 40)]; text == "" {
		return "store"
	}
	return text
}

// String says for people whose store it is.
// It follows "of" or "for" in a sentence.
func (p Place) String() string {
	whose := "all your agents"
	switch {
	case p.Scope == OfAgent && p.Folder != "":
		whose = p.Agent + " of " + p.Folder
	case p.Scope == OfAgent:
		whose = p.Agent
	case p.Scope == OfWorkspace && p.Folder == "":
		whose = "agents without a workspace"
	case p.Scope == OfWorkspace:
		whose = "the workspace " + p.Folder
	}
	if p.Index != "" {
		return "index " + p.Index + " of " + whose
	}
	return whose
}

// Shape is what a store is made for, from its first record on.
// Embedder and Dimension are zero of a store of type key_value.
type Shape struct {
	Kind Kind `json:"type"`
	// Of type vector: what made the vectors, as [Embedder.Name] says it.
	Embedder string `json:"embedder,omitempty"`
	// Of type vector: how many numbers each has, from 1.
	Dimension int `json:"dimension,omitempty"`
}

// Record is one thing that is remembered.
// Texts are kept as they are given: who stores takes out what must not be kept, such as
// keys.
type Record struct {
	// Given by the store; what a caller sets is ignored.
	ID string `json:"id"`
	// What replaces it: a store has one record of each key.
	Key     string `json:"key"`
	Content string `json:"content"`
	Agent   string `json:"agent"` // that stored it
	Session string `json:"session"`
	// When it was stored, by the caller's clock.
	Time     time.Time       `json:"time"`
	Taint    string          `json:"taint,omitempty"`    // foreign, web: the agent had read what others wrote, and the person agreed
	Metadata json.RawMessage `json:"metadata,omitempty"` // an object
}

// Match is a record that was found.
type Match struct {
	Record
	// Score is how well it fits, from 0 to 1: the cosine of the vectors, or which part of
	// the query's words it has.
	Score float64 `json:"score"`
}

// Query asks a store. Exactly one of Words and Vector is set.
// Which of the two counts follows from what is set, not from the store's type: a store of
// type vector can be asked for words.
type Query struct {
	// As [QueryWords] makes them; a record with any of them may match.
	Words []string
	// By the store's embedder, as long as its shape says.
	Vector []float32
	// Matches at most; from 1. With 0 nothing is found.
	Limit int
	// The least score of a match, 0 to 1. Scores of 0 and less never match.
	Threshold float64
}

// Store keeps the records of one place. It is safe for concurrent use, by other processes
// too.
//
// Errors are faults. Unavailable: the disk or the server failed, and a retry may help.
// It stays valid until its backend is closed or the store is dropped. Each call ends with
// ctx, whose error is then in the chain. Slices that are returned are the caller's; those
// that are given are not kept.
type Store interface {
	// Shape returns what the store was made for. It needs no disk and no server.
	Shape() Shape
	// Put keeps a record; one of the same key is replaced, and keeps its id. vector
	// belongs to it in a store of type vector, and must be as long as the shape says. When
	// Put returns without an error, the record outlives the process.
	Put(ctx context.Context, r Record, vector []float32) (id string, err error)
	// Find returns what fits best, the best first. By words it looks at the newest of
	// the records that have a common one only, so that such a word costs no more than
	// another. By vector it compares all, up to what the backend rounds.
	Find(ctx context.Context, q Query) ([]Match, error)
	// List returns records, the newest first, and how many there are in all. skip and
	// limit are from 0; a skip beyond the end gives none.
	List(ctx context.Context, skip, limit int) ([]Record, int, error)
	// Delete erases the records of these keys and returns how many there were. No copy of
	// their contents stays in what the store consists of. Keys that there are not are
	// passed over. The deletion is one change: an error before it leaves all of them.
	// After an Unavailable error that says so they are deleted, and a copy may remain
	// until it is called again.
	Delete(ctx context.Context, keys ...string) (int, error)
	// Drop erases the store. Afterwards it is as one that never was: the next Open makes a
	// new one, of any shape.
	Drop(ctx context.Context) error
}

// Backend opens stores. It is safe for concurrent use. It owns its stores.
type Backend interface {
	// Open returns the store of a place. Where there is none it makes one of the given
	// shape; without a shape the error is fault.NotFound. A store that is there is
	// returned whatever its shape: the caller compares it ([Shape.Fits]). Two daemons that
	// make one at the same time get the same store, of the shape that came first. The
	// store is not closed by the caller.
	Open(ctx context.Context, p Place, make *Shape) (Store, error)
	// Stores returns the stores that there are, by their ids, with what is wrong where one
	// cannot be read. With an error those that it found before are returned as well.
	Stores(ctx context.Context) ([]Stored, error)
	// Close lets go of what was opened. It is called once, after the last use.
	Close() error
}

// Cleaner is a [Backend] whose files may have what was deleted for a while.
type Cleaner interface {
	// CleanFiles asks for files without it. The note tells people in which files it still
	// is; "" for none. It may take as long as copying the files.
	CleanFiles(ctx context.Context) (note string)
}

// Stored is a store as lists have it. It is as of the moment of the list: other
// processes may have changed the store since.
type Stored struct {
	ID    string `json:"id"`
	Place        // zero where it cannot be read
	Shape        // the same
	// How many there are; 0 where it cannot be read.
	Records int    `json:"records"`
	Problem string `json:"problem,omitempty"` // why it cannot be read, for people
}

// Check returns why a vector does not belong into a store of the shape.
// The error is of kind fault.Invalid. Backends call it before they store.
func (s Shape) Check(vector []float32) error {
	if s.Kind == Vector && len(vector) != s.Dimension {
		return fault.New(fault.Invalid, "memory.check", "the vector has %d numbers, and those of this memory have %d",
			len(vector), s.Dimension)
	}
	return nil
}

// None is the error of a place that has no store.
// It is of kind fault.NotFound, which callers take as an empty memory.
func None(p Place) error {
	return fault.New(fault.NotFound, "memory.open", "nothing is remembered for %s", p)
}

// words for errors of more than one place.
const startOver = "name another index_name, or delete this memory with `agentls memory delete --store %s --all`"

// Fits returns why an agent that wants one shape cannot use a store of another. What the
// agent does not say, it takes as it is.
// The error is of kind fault.Invalid, for people, and says what to change; nil = it can be
// used.
func (s Shape) Fits(want Shape, p Place) error {
	over := fmt.Sprintf(startOver, p.ID())
	switch {
	case want.Kind != s.Kind:
		return fault.New(fault.Invalid, "memory.open",
			"the memory of %s is of type %s, and the agent's file says %s: %s", p, s.Kind, want.Kind, over)
	case want.Embedder != "" && want.Embedder != s.Embedder:
		return fault.New(fault.Invalid, "memory.open",
			"the vectors in the memory of %s are by %s, and the agent's file says %s: %s", p,
			s.Embedder, want.Embedder, over)
	case want.Dimension != 0 && want.Dimension != s.Dimension:
		return fault.New(fault.Invalid, "memory.open",
			"the vectors in the memory of %s have the dimension %d, and the agent's file says %d: %s", p,
			s.Dimension, want.Dimension, over)
	}
	return nil
}
