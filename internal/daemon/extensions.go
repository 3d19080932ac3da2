package daemon

import (
	"path/filepath"

	"github.com/agentls/agentls/extensions/command"
)

// commands returns the custom commands that hold in a folder, "" for none: those of
// the folder where it is trusted, then the person's.
func (b *daemon) commands(folder string) []command.Command {
	var places []command.Place
	if folder != "" && b.trusted(folder) {
		places = append(places, command.Place{Dir: filepath.Join(folder, ".gemini", "commands"), Within: folder, Scope: "project"})
	}
	places = append(places, command.Place{Dir: filepath.Join(b.Home, "commands"), Scope: "global"})
	return command.Read(places)
}
