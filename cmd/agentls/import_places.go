package main

// Where other tools keep their agents, and which files are meant.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// toolPlace is a folder where another tool looks for agents.
type toolPlace struct {
	dir string // relative to a project, or to the person's home
	of  definition.Dialect
	own bool // of the person, not of a project
}

var toolPlaces = []toolPlace{
	{exchange.Folder(definition.Claude), definition.Claude, false},
	{exchange.Folder(definition.Copilot), definition.Copilot, false},
	{exchange.Folder(definition.OpenCode), definition.OpenCode, false},
	{".opencode/agents", definition.OpenCode, false},
	{".claude/agents", definition.Claude, true},
	{".copilot/agents", definition.Copilot, true},
	{".config/opencode/agent", definition.OpenCode, true},
	{".config/opencode/agents", definition.OpenCode, true},
}

// placesInWords lists the places for help.
func placesInWords() string {
	var b strings.Builder
	for _, of := range []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode} {
		var dirs []string
		for _, p := range toolPlaces {
			dir := p.dir
			if p.own {
				dir = "~/" + dir
			}
			if p.of == of {
				dirs = append(dirs, dir)
			}
		}
		fmt.Fprintf(&b, "  %-14s  %s\n", exchange.Title(of), strings.Join(dirs, ", "))
	}
	return b.String()
}

// found is one file that is to be imported.
type found struct {
	path string             // as it is shown
	from definition.Dialect // of its place; "" where that tells nothing
	err  error              // why it cannot be read
}

// sources returns the files that are meant: those of the paths, each once.
func sources(o importOptions, paths []string) ([]found, error) {
	var files []found
	if len(paths) == 0 {
		files = findInPlaces(o, "", o.global)
		if len(files) == 0 {
			return nil, nothingFound(o)
		}
		return files, nil
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			files = append(files, found{path: path, err: err})
			continue
		case !info.IsDir():
			files = append(files, found{path: path, from: dialectAt(path)})
			continue
		}
		inside := findInPlaces(o, path, false)
		if p, ok := placeOf(path); ok || len(inside) == 0 {
			p.dir = path
			if inside = p.files(ok); !ofPerson(path) {
				inside = within(inside, path)
			}
		}
		if len(inside) == 0 {
			return nil, fmt.Errorf("there are no agent files in %s, which are called NAME.md; name the folder that they lie in, or a file", tool.Escape(path))
		}
		files = append(files, inside...)
	}
	var once []found
	at := make(map[string]int) // in once, by what is read
	for _, f := range files {
		canonical, err := canonicalOf(f.path)
		if err != nil {
			canonical = f.path
		}
		i, double := at[canonical]
		switch {
		case !double:
			at[canonical] = len(once)
			once = append(once, f)
		case once[i].err != nil && f.err == nil: // a link that was named too
			once[i] = f
		}
	}
	return once, nil
}

// nothingFound says where was looked.
func nothingFound(o importOptions) error {
	var dirs []string
	for _, p := range toolPlaces {
		if p.own == o.global && (o.from == "" || o.from == string(p.of)) {
			dirs = append(dirs, map[bool]string{true: "~/"}[p.own]+p.dir)
		}
	}
	switch {
	case o.from == string(definition.GeminiCLI):
		return errors.New("gemini-cli's agents load from .gemini/agents as they are; to turn one into our format, name its file")
	case o.global:
		return fmt.Errorf("you have no agents of other tools in %s; name a file or folder, as in agentls import --global PATH", strings.Join(dirs, ", "))
	}
	return fmt.Errorf("there are no agents of other tools in %s; name a file or folder, as in agentls import PATH, or take your own of all projects with agentls import --global", strings.Join(dirs, ", "))
}

// findInPlaces returns the agent files in the known places of a project's folder, "" for
// this one, or of the person.
func findInPlaces(o importOptions, folder string, own bool) []found {
	if own {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		folder = home
	}
	var files []found
	for _, p := range toolPlaces {
		if p.own == own && (o.from == "" || o.from == string(p.of)) {
			p.dir = filepath.Join(folder, filepath.FromSlash(p.dir))
			inside := p.files(true)
			if !own { // what the person has linked is theirs
				inside = within(inside, p.dir, folder)
			}
			files = append(files, inside...)
		}
	}
	return files
}

// within marks the files that are links out of some folders: they are not followed.
func within(files []found, folders ...string) []found {
	for i := range files {
		if leadsOut(files[i].path, folders...) {
			files[i].err = errors.New("it is a link that leads out of its folder, so it is not followed; to import what it leads to, name the file")
		}
	}
	return files
}

// leadsOut reports whether a file that nobody named lies, by a link, in none of
// the folders. A link that is one of the folders is followed: the tool does it too.
func leadsOut(path string, folders ...string) bool {
	real, err := canonicalOf(path)
	return err == nil && !slices.ContainsFunc(folders, func(folder string) bool {
		root, err := canonicalOf(folder)
		if err != nil {
			return false
		}
		_, inside := workspace.Below(root, real)
		return inside
	})
}

// canonicalOf is [workspace.Canonical] of a path that may be relative.
func canonicalOf(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return workspace.Canonical(abs)
}

// placeOf returns the known place that a folder is, or lies in.
func placeOf(path string) (toolPlace, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return toolPlace{}, false
	}
	slashed := filepath.ToSlash(abs) + "/"
	for _, p := range toolPlaces {
		if strings.Contains(slashed, "/"+p.dir+"/") {
			return p, true
		}
	}
	return toolPlace{}, false
}

// ofPerson reports whether a folder is one of the person's own places, by its
// name, or lies in one: what they have linked there is theirs.
func ofPerson(path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(toolPlaces, func(p toolPlace) bool {
		_, inside := workspace.Below(filepath.Join(home, filepath.FromSlash(p.dir)), abs)
		return p.own && inside
	})
}

// dialectAt returns whose place a file lies in, "" where that is not known.
func dialectAt(path string) definition.Dialect {
	p, _ := placeOf(filepath.Dir(path))
	return p.of
}

// files returns the agent files of a place, sorted; with deep also those of its
// folders, which other tools look through. A README is none.
func (p toolPlace) files(deep bool) []found {
	var files []found
	root := p.dir + string(filepath.Separator) // what lies behind a link, if it is one
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case err != nil && path == root:
			return filepath.SkipAll // it is not there
		case err != nil:
			files = append(files, found{path: path, err: err})
			return fs.SkipDir
		case e.IsDir():
			if path != root && (!deep || strings.HasPrefix(name, ".") || name == "node_modules") {
				return fs.SkipDir
			}
		case workspace.AgentFile(name) && !strings.EqualFold(name, "README.md"):
			files = append(files, found{path: path, from: p.of})
		}
		return nil
	}) // what cannot be read is among the files
	return files
}

// besides says what becomes of the agents of a name that others have.
func (im *imports) besides(name string) (notes []string) {
	for _, e := range im.known.Entries() {
		switch d := e.Definition; {
		case d.Name != name || e.State == registry.Shadowed:
		case d.Scope == definition.Project && im.global:
			notes = append(notes, fmt.Sprintf("in this folder the agent %s keeps the name", displayPath(d.Path)))
		case d.Scope != definition.Project && (d.Scope != definition.Global || !im.global):
			notes = append(notes, fmt.Sprintf("it takes the place of %s here; to keep both import it with --name NAME",
				cmp.Or(tool.Escape(d.Path), "the built-in "+name)))
		}
	}
	return notes
}
