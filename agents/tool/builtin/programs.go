package builtin

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/agentls/agentls/agents/tool"
)

// inWorkspace reports whether a path lies in a workspace folder: a program there is the project's,
// and is not run by ours.
func inWorkspace(env *tool.Env, path string) bool {
	return tool.Within(env.Folder, path) || slices.ContainsFunc(env.Folders,
		func(f string) bool { return tool.Within(f, path) })
}

// executable reports whether path is a file that may be run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || filepath.Ext(path) == ".exe")
}
