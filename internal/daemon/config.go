package daemon

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// values returns all settings that hold in a folder. It is shared and must not be
// changed.
func (b *daemon) values(folder string) *workspace.Settings { return b.settingsOf(folder).values }

// setValue changes a setting in the file of a scope, and has it count at once. raw is
// JSON; null takes the setting out of the file. file is where it was written.
//
// The error is of kind fault.NotFound for a key that there is not, fault.Invalid for a
// value that the setting cannot have, fault.Denied where the scope cannot say it, and else
// that of the file, which then is as before.
func (b *daemon) setValue(ctx context.Context, folder string, scope settings.Scope, key string,
	raw []byte) (file string, err error) {
	const op = "daemon.setValue"
	before := b.values(folder)
	if scope == settings.ProjectScope {
		before = b.values("") // a limit that the project lowered itself it may raise again
	}
	value, err := before.Check(key, raw, scope)
	if err != nil {
		return "", err
	}
	path := strings.Split(key, ".")
	switch {
	case scope == settings.UserScope:
		file = b.userSettings()
		err = workspace.SetKey(ctx, file, path, value)
	case folder == "":
		return "", fault.New(fault.Denied, op,
			"there is no folder whose settings could say so; change your own with --global (scope: global)").Because(fault.Config)
	case !b.trusted(folder):
		return "", fault.New(fault.Denied, op,
			"the settings of %s do not count, since the folder is not trusted; trust it with `agentls trust %s`, or change your own settings with --global (scope: global)", folder, folder).
			Because(fault.Untrusted, "folder", tool.URI(folder))
	default:
		file = filepath.Join(folder, workspace.ProjectSettings)
		err = b.setInProject(ctx, folder, path, value)
	}
	b.settings.forget()
	return file, err
}

// setInProject writes through a handle of the folder, so that no link in a repository leads the
// write out of it.
func (b *daemon) setInProject(ctx context.Context, folder string, path []string, value any) error {
	disk, err := workspace.OpenDisk(folder)
	if err != nil {
		return err
	}
	defer disk.Close()
	return disk.SetKey(ctx, workspace.ProjectSettings, path, value)
}
