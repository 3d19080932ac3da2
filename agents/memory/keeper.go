package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/agentls/agentls/internal/fault"
)

// Keeper is what people see of all memory: the stores of every backend.
// It is not changed once it is in use, and then safe for concurrent use. It works
// without any agent's file: a store is used in the shape that it has. It owns the
// backends, and Close closes them.
type Keeper map[string]Backend // by name

// Found is a record with the id of its store.
// Match.Score is 0 where nothing was searched for.
type Found struct {
	// [Stored.ID].
	Store string
	Match
}

// Stores returns the stores of all backends, and the errors of those that failed.
// They are in the order of the backends' names. Both results count: what is there is
// shown although another backend failed. A store that cannot be read is among them,
// with its Problem.
func (k Keeper) Stores(ctx context.Context) (all []Stored, failed []error) {
	for _, name := range k.names() {
		some, err := k[name].Stores(ctx)
		for i := range some {
			some[i].Backend = name
		}
		if all = append(all, some...); err != nil {
			failed = append(failed, err)
		}
	}
	return all, failed
}

// names returns the names of the backends, sorted.
func (k Keeper) names() []string {
	var names []string
	for name := range k {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// open returns a store that [Keeper.Stores] listed.
// One with a Problem is an error of kind fault.Unavailable that says it.
func (k Keeper) open(ctx context.Context, s Stored) (Store, error) {
	if s.Problem != "" {
		return nil, fault.New(fault.Unavailable, "memory.open", "%s: %s", s.ID, s.Problem)
	}
	return k[s.Backend].Open(ctx, s.Place, nil)
}

// List returns the newest records of the given stores, after skip of them.
// The stores are those of [Keeper.Stores]; those that cannot be read are left out.
// skip and limit are from 0. more says whether there are records after these. The
// first error ends it: it is the backend's.
func (k Keeper) List(ctx context.Context, stores []Stored, skip, limit int) (records []Found, more bool, err error) {
	for _, stored := range stores {
		if stored.Problem != "" || stored.Records == 0 {
			continue
		}
		s, err := k.open(ctx, stored)
		if err != nil {
			return nil, false, err
		}
		some, _, err := s.List(ctx, 0, skip+limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, r := range some {
			records = append(records, Found{stored.ID, Match{Record: r}})
		}
	}
	slices.SortStableFunc(records, func(a, b Found) int { return b.Time.Compare(a.Time) })
	records = records[min(skip, len(records)):]
	return records[:min(limit, len(records))], len(records) > limit, nil
}

// Search returns the records of the given stores that have most of a query's words. No
// provider is asked.
// The best come first, limit at most. Stores that cannot be read are left out; any
// other error ends it.
func (k Keeper) Search(ctx context.Context, stores []Stored, query string, limit int) ([]Found, error) {
	var all []Found
	for _, stored := range stores {
		if stored.Problem != "" || stored.Records == 0 {
			continue
		}
		s, err := k.open(ctx, stored)
		if err != nil {
			return nil, err
		}
		some, err := s.Find(ctx, Query{Words: QueryWords(query), Limit: limit})
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			all = append(all, Found{stored.ID, m})
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int { return compareMatches(a.Match, b.Match) })
	return all[:min(limit, len(all))], nil
}

// Delete erases records of a store by their keys.
// It returns how many there were; a key that is not there is no error. Errors are the
// backend's, and some records may be gone already.
func (k Keeper) Delete(ctx context.Context, stored Stored, keys []string) (int, error) {
	s, err := k.open(ctx, stored)
	if err != nil {
		return 0, err
	}
	return s.Delete(ctx, keys...)
}

// Drop erases a store, and returns how many records it had.
// The count is the one of the list, so it may be out of date.
func (k Keeper) Drop(ctx context.Context, stored Stored) (int, error) {
	s, err := k.open(ctx, stored)
	if err != nil {
		return 0, err
	}
	return stored.Records, s.Drop(ctx)
}

// CleanFiles asks a store's backend for files without what was deleted. The note tells
// people in which files it still is; "" for none.
// It is called after deletions, when all of them are done.
func (k Keeper) CleanFiles(ctx context.Context, stored Stored) (note string) {
	if c, is := k[stored.Backend].(Cleaner); is {
		return c.CleanFiles(ctx)
	}
	return ""
}

// Close lets go of all that was opened.
// Nothing of the keeper is used after it.
func (k Keeper) Close() error {
	var errs []error
	for _, b := range k {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
