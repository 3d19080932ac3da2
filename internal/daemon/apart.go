package daemon

import (
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/guard"
)

// keptInMemory are answers for always of a daemon that keeps nothing of the person's: those
// that they gave before, and those of its own runs.
// It is safe for concurrent use.
type keptInMemory struct {
	mu     sync.Mutex
	grants []guard.Grant
}

// apartGrants returns the answers that hold in a daemon that is apart.
//
// Without a folder or a Before there are none. Those of the store are copied: what is
// forgotten here stays there.
func (b *daemon) apartGrants() *keptInMemory {
	k := new(keptInMemory)
	if b.first == "" || b.Before.IsZero() {
		return k
	}
	known, err := (permissionStore{b.ctx, b.always, b.first}).Grants()
	if err != nil {
		return k // none counts that cannot be read
	}
	for _, g := range known {
		if g.Since.Before(b.Before) {
			k.grants = append(k.grants, g)
		}
	}
	return k
}

// Grants implements [guard.Store].
func (k *keptInMemory) Grants() ([]guard.Grant, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.grants), nil
}

// Keep implements [guard.Store].
func (k *keptInMemory) Keep(all ...guard.Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.grants = append(k.grants, all...)
	return nil
}

// Forget implements [guard.Store].
func (k *keptInMemory) Forget(id string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := len(k.grants)
	k.grants = slices.DeleteFunc(k.grants, func(g guard.Grant) bool { return g.ID == id })
	return len(k.grants) < before, nil
}
