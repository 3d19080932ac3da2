package scenario_test

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/workspace"
)

// extension installs, approves or disables an extension as the command line does:
// extension install FOLDER, extension approve NAME, extension disable NAME.
func (s *story) extension(ctx context.Context, do, name string) error {
	home := filepath.Join(s.dir, "home")
	store := &bundle.Store{Home: home, State: filepath.Join(home, "agentls"), Named: workspace.ReadNamed}
	if do == "install" {
		staged, err := store.Stage(ctx, filepath.Join(s.dir, name))
		if err != nil {
			return err
		}
		_, err = staged.Commit(ctx)
		return err
	}
	work, err := workspace.Canonical(filepath.Join(s.dir, "work"))
	if err != nil {
		return err
	}
	l, err := store.Find(ctx, work, name)
	switch {
	case err != nil:
		return err
	case do == "approve":
		return store.Approve(ctx, l.Bundle)
	case do == "disable":
		return store.Disable(ctx, l.Bundle)
	}
	return errors.New("an extension is installed, approved or disabled")
}
