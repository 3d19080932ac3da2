package workspace

import (
	"os"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// identity tells a directory from another one that lies at the same path later
// (SEC-15). What the system does not say is zero, and then not compared.
type identity struct {
	Inode  uint64    `json:"inode,omitempty"`
	Born   time.Time `json:"born,omitzero"`
	device uint64    // not recorded: another start of the system may give another number
}

// identify returns the identity of the directory at a canonical path.
func identify(dir string) (identity, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return identity{}, fault.New(fault.NotFound, "workspace.trust", "%q cannot be looked at: %w", dir, err)
	}
	if !info.IsDir() {
		return identity{}, fault.New(fault.NotFound, "workspace.trust", "%q is no folder", dir)
	}
	return identityOf(dir, info), nil
}

// known reports whether there is something to compare.
func (i identity) known() bool { return i.Inode != 0 || !i.Born.IsZero() }

// same reports whether two identities can be those of one directory. The inode
// alone would not do: it is given again soon after its directory is removed.
func (i identity) same(other identity) bool {
	born := i.Born.IsZero() || other.Born.IsZero() || i.Born.Equal(other.Born)
	device := i.device == 0 || other.device == 0 || i.device == other.device
	return i.Inode == other.Inode && born && device
}
