package workspace

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// maxPermissions is how many answers are kept for one workspace.
const maxPermissions = 1000

// A Permission is a person's answer for always: what one agent may call with one
// tool in one workspace without asking again (spec 4.3).
// Either Shape or Access and Argv say which calls it covers.
type Permission struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	// Project is the folder that the agent comes with, "" for the person's own.
	Project string    `json:"project,omitempty"`
	Tool    string    `json:"tool"`
	Folder  string    `json:"folder,omitempty"` // that the calls run in
	Shape   string    `json:"shape,omitempty"`  // of the arguments
	Access  string    `json:"access,omitempty"` // of commands: what they are let do
	Argv    []string  `json:"argv,omitempty"`   // of commands: the words of one
	Prefix  bool      `json:"prefix,omitempty"` // of commands: of all that begin so
	Covers  string    `json:"covers"`           // for people
	Since   time.Time `json:"since"`
}

// usable says that it covers something, and what is known of it is whole. One for
// a command from before there were accesses counts for nothing: the person did
// not say what the command is let do.
func (p Permission) usable() bool {
	command := len(p.Argv) > 0 && p.Access != ""
	return p.ID != "" && p.Agent != "" && p.Tool != "" && (p.Shape != "") != command
}

// Permissions are the answers for always of one person, by workspace: a file
// that all daemons of theirs share (~/.gemini/agentls/permissions.json). No file
// of a workspace is ever looked at (SEC-24), and everything fails closed as in
// [Trust] (SEC-140). It is safe for concurrent use.
type Permissions struct{ recordFile[permissionFile] }

// permissionFile is the file's JSON.
type permissionFile struct {
	Version int                     `json:"version"`
	Roots   map[string][]Permission `json:"workspaces"` // by canonical root
}

// NewPermissions returns the answers in file, an absolute path, which need not
// exist. Now gives the time of new ones.
func NewPermissions(file string, now func() time.Time) *Permissions {
	return &Permissions{newRecordFile[permissionFile](file, "workspace.permissions",
		"no answer for always counts", now)}
}

// Of returns what is kept for a workspace, given by its canonical root, oldest
// first; with an error nothing is. It costs two stats when the file is as before.
// The caller owns the slice. Those that are not usable are left out.
func (p *Permissions) Of(root string) ([]Permission, error) {
	data, err := p.load()
	if err != nil {
		return nil, err
	}
	all := make([]Permission, 0, len(data.Roots[root]))
	for _, one := range data.Roots[root] {
		if one.usable() {
			// The result of load is shared by all callers.
			one.Argv = slices.Clone(one.Argv)
			all = append(all, one)
		}
	}
	return all, nil
}

// Keep adds answers for a workspace, all or none; the same one, by its id, stays
// as it is. The error says that they are not kept: [fault.Denied] where there are
// too many, else as of [Trust.Set].
func (p *Permissions) Keep(ctx context.Context, root string, more ...Permission) error {
	if root == "" || slices.ContainsFunc(more, func(one Permission) bool { return !one.usable() }) {
		return fault.New(fault.Invalid, p.op, "the answer is not kept: it does not say what it covers, or where")
	}
	return p.change(ctx, func(data *permissionFile) error {
		list := slices.Clone(data.Roots[root])
		for _, one := range more {
			if slices.ContainsFunc(list, func(other Permission) bool { return other.ID == one.ID }) {
				continue
			}
			if len(list) >= maxPermissions {
				return fault.New(fault.Denied, p.op,
					"the answer is not kept: there are %d for this workspace already; forget some", len(list))
			}
			one.Since = p.now().UTC()
			list = append(list, one)
		}
		next := maps.Clone(data.Roots)
		if next == nil {
			next = make(map[string][]Permission)
		}
		next[root] = list
		data.Roots = next
		return nil
	})
}

// Forget drops an answer of a workspace and reports whether there was one.
// The error is as of [Trust.Set]; the answer then still counts.
func (p *Permissions) Forget(ctx context.Context, root, id string) (found bool, err error) {
	// Where there is nothing to forget no lock is taken and nothing is written.
	if all, err := p.load(); err == nil && !slices.ContainsFunc(all.Roots[root],
		func(one Permission) bool { return one.ID == id }) {
		return false, nil
	}
	err = p.change(ctx, func(data *permissionFile) error {
		rest := slices.DeleteFunc(slices.Clone(data.Roots[root]), func(one Permission) bool { return one.ID == id })
		found = len(rest) < len(data.Roots[root])
		// Another daemon has removed it meanwhile.
		if !found {
			return nil
		}
		data.Roots = maps.Clone(data.Roots)
		if data.Roots[root] = rest; len(rest) == 0 {
			delete(data.Roots, root)
		}
		return nil
	})
	return found && err == nil, err
}
