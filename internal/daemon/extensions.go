package daemon

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/extensions/hook"
	"github.com/agentls/agentls/extensions/skill"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// Bundles is where extension bundles are (spec 9.3).
func (c Config) Bundles() *bundle.Store {
	return &bundle.Store{Home: c.Home, State: c.state(), Named: workspace.ReadNamed}
}

// listBundles returns the bundles of a folder, "" for none: the person's, and the
// folder's own where it is trusted.
func (b *daemon) listBundles(ctx context.Context, folder string) ([]bundle.Listed, error) {
	if folder != "" && !b.trusted(folder) {
		folder = ""
	}
	return b.Bundles().List(ctx, folder)
}

// activeBundles returns the bundles that take effect in a folder, as they are now:
// what the person has not approved is none.
// It is asked while settings are read, so it must not ask for settings.
// In safe mode there are none.
func (b *daemon) activeBundles(ctx context.Context, folder string) []*bundle.Bundle {
	if b.safe {
		return nil
	}
	all, _ := b.listBundles(ctx, folder) // the error is a problem of the settings, and then none is active
	var active []*bundle.Bundle
	for _, l := range all {
		if l.State == bundle.Active {
			active = append(active, l.Bundle)
		}
	}
	return active
}

// addBundles adds the MCP servers of bundles to the settings of a folder. A server that
// the settings describe hides one of its name.
// It returns the folders of the bundles by the servers that they bring. The map of all
// is copied before it is changed, since it may be shared.
func (b *daemon) addBundles(all *workspace.Settings, bundles []*bundle.Bundle, folder string) map[string]string {
	bundled := make(map[string]string)
	for _, of := range bundles {
		origin := settings.Origin{Scope: settings.UserScope,
			File: filepath.Join(of.Dir, bundle.ManifestName), Line: 1, Column: 1}
		if of.Project != "" {
			origin.Scope = settings.ProjectScope
		}
		for name, raw := range of.Servers(folder, b.lookup(of.Project != "")) {
			if _, taken := all.MCPServers[name]; taken {
				continue
			}
			if len(bundled) == 0 {
				if all.MCPServers = maps.Clone(all.MCPServers); all.MCPServers == nil {
					all.MCPServers = make(map[string]settings.Raw)
				}
			}
			all.MCPServers[name] = settings.Raw{JSON: raw, Origin: origin}
			bundled[name] = of.Folder
		}
	}
	return bundled
}

// excludeTools takes the tools away that bundles want no agent to have. It comes after
// translate, whose lists it adds to.
func (s *folderSettings) excludeTools(bundles []*bundle.Bundle, in places) {
	for _, of := range bundles {
		for _, text := range of.ExcludeTools() {
			at := settings.Origin{Scope: settings.UserScope,
				File: filepath.Join(of.Dir, bundle.ManifestName), Line: 1, Column: 1}
			s.exclude(settings.Entry{Text: text, Origin: at}, explanation.Origin{What: "the extension " + of.Name}, in)
		}
	}
}

// addHooks adds the hooks of bundles behind those of the settings, but for those that
// the person has switched off.
// Variables of the bundle count before those of the environment. It comes after
// readHooks, which has the names of hooks that are switched off.
func (b *daemon) addHooks(s *folderSettings, bundles []*bundle.Bundle, folder string) {
	for _, of := range bundles {
		raw := of.Hooks(folder)
		if raw == nil || s.noHooks {
			continue
		}
		origin := settings.Origin{Scope: settings.UserScope,
			File: filepath.Join(of.Dir, "hooks", "hooks.json"), Line: 1, Column: 1}
		if of.Project != "" {
			origin.Scope = settings.ProjectScope
		}
		variables := of.Variables(folder)
		lookup := func(name string) (string, bool) {
			for _, variable := range variables {
				if value, ok := strings.CutPrefix(variable, name+"="); ok {
					return value, true
				}
			}
			return b.lookup(of.Project != "")(name)
		}
		list, off := hook.Parse(raw, of.Project != "", lookup)
		for _, d := range list {
			if slices.Contains(off, d.Name) || slices.Contains(s.hooksOff, d.Name) {
				continue
			}
			// The next hook uses variables as well, so append must not write behind them.
			d.Env = append(variables[:len(variables):len(variables)], d.Env...)
			s.hooks = append(s.hooks, describedHook{Described: d, raw: raw, origin: origin, bundle: of.Folder})
			if d.Problem != "" {
				s.ignoreHook(origin, d)
			}
		}
	}
}

// bundlePlaces are where the agents of bundles are, for all folders of the workspace.
// Each is there once, in the order of the folders.
func (b *daemon) bundlePlaces(list []workspace.Folder) []registry.Place {
	var places []registry.Place
	for _, folder := range folderPaths(list) {
		for _, of := range b.settingsOf(folder).bundles {
			place := registry.Place{Scope: definition.Extension, Dir: of.Agents(), Folder: of.Project}
			if place.Dir != "" && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return places
}

// folderPaths returns the folders of a list, or "" where there is none. Callers go over
// the person's own bundles also where no folder is open.
func folderPaths(list []workspace.Folder) []string {
	if len(list) == 0 {
		return []string{""}
	}
	var paths []string
	for _, f := range list {
		paths = append(paths, f.Canonical)
	}
	return paths
}

// bundleFiles are the files whose change makes other bundles take effect.
func (b *daemon) bundleFiles(list []workspace.Folder) []string {
	files := []string{b.Bundles().File()}
	for _, folder := range folderPaths(list) {
		for _, of := range b.settingsOf(folder).bundles {
			files = append(files, filepath.Join(of.Dir, bundle.ManifestName))
		}
	}
	return files
}

// bundlesMoved reports whether other bundles take effect than when it was asked last.
// It also notices a bundle that stays and brings something else. The first call always
// reports true where there are bundles.
func (b *daemon) bundlesMoved() bool {
	list, _ := b.folders.get()
	var all strings.Builder
	for _, folder := range folderPaths(list) {
		for _, of := range b.settingsOf(folder).bundles {
			fmt.Fprintf(&all, "%s\x00%s\x00%v\n", folder, of.Dir, of.Items)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.bundled
	b.bundled = all.String()
	return before != b.bundled
}

// bundleProblems says which bundles of a folder take no effect, and what to do.
//
// Bundles that wait for an approval are named in one sentence, so that many of them are
// one problem. It reads the bundles from disk.
func (b *daemon) bundleProblems(folder string) []string {
	all, err := b.listBundles(b.ctx, folder)
	var problems, waiting []string
	if err != nil {
		problems = append(problems, fault.Message(err))
	}
	for _, l := range all {
		switch {
		case l.State == bundle.Broken:
			problems = append(problems, fmt.Sprintf("The extension %s cannot be used: %s.", l.Name, l.Problem))
		case l.State == bundle.Unapproved && err == nil:
			waiting = append(waiting, l.Name)
		}
	}
	if len(waiting) > 0 {
		problems = append(problems,
			fmt.Sprintf("Extensions that you have not approved as they are now take no effect: %s. Look at each and approve it with `agentls extensions enable NAME`.", strings.Join(waiting, ", ")))
	}
	return problems
}

// approvesExtension returns why an extension's agent may not run, nil where it may.
// The error is of kind fault.Denied, with the reason fault.Untrusted.
// The bundles are read anew, so an approval that was taken back counts for the next run at
// once.
func (b *daemon) approvesExtension(d *definition.Definition) error {
	list, _ := b.folders.get()
	for _, folder := range folderPaths(list) {
		for _, of := range b.activeBundles(b.ctx, folder) {
			if of.Agents() == filepath.Dir(d.Path) && of.Project == d.Folder {
				return nil
			}
		}
	}
	return fault.New(fault.Denied, "daemon.review",
		"%s comes with an extension that brings something else than you approved, or is disabled: look at it with `agentls extensions list`, then approve it with `agentls extensions enable NAME`", d.Name).
		Because(fault.Untrusted)
}

// commands returns the custom commands that hold in a folder, "" for none: those of
// the folder where it is trusted, then the person's, then those of bundles.
// They are read from disk each time. Of two of one name the first counts.
func (b *daemon) commands(folder string) []command.Command {
	var places []command.Place
	if folder != "" && b.trusted(folder) {
		places = append(places, command.Place{Dir: filepath.Join(folder, ".gemini", "commands"),
			Within: folder, Scope: "project"})
	}
	places = append(places, command.Place{Dir: filepath.Join(b.Home, "commands"), Scope: "global"})
	for _, of := range b.activeBundles(b.ctx, folder) {
		places = append(places, of.Commands())
	}
	return command.Read(places)
}

// skills returns the tool that loads the skills of a folder, "" for none.
// There is none where there are no skills.
func (b *daemon) skills(folder string) []tool.Tool {
	var places []skill.Place
	if folder != "" && b.trusted(folder) {
		places = append(places, skill.Place{Dir: filepath.Join(folder, ".gemini", "skills"),
			Within: folder, Scope: "project"})
	}
	places = append(places, skill.Place{Dir: filepath.Join(b.Home, "skills"), Scope: "global"})
	for _, of := range b.activeBundles(b.ctx, folder) {
		places = append(places, of.Skills())
	}
	return skill.Tools(skill.Read(places))
}

// bundleInstructions are the context files of bundles, for memory files.
func (b *daemon) bundleInstructions(folder string) []workspace.MemoryBundle {
	var all []workspace.MemoryBundle
	for _, of := range b.activeBundles(b.ctx, folder) {
		if files := of.ContextFiles(); len(files) > 0 {
			all = append(all, workspace.MemoryBundle{Name: of.Name, Dir: of.Dir, Files: files})
		}
	}
	return all
}
