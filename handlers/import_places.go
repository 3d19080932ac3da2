package handlers

// Where other tools keep their agents, and which files are meant.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// found is one file that is to be imported.
type found struct {
	path string             // absolute
	from definition.Dialect // of its place; "" where that tells nothing
	err  error              // why it cannot be read
}

// sources returns the files that are meant: those of the paths, each once.
// Without paths it is the known places of other tools, in the project or the person's
// home.
// Links to one file are one. A folder that holds nothing is an error, since the person
// named it; a file that cannot be read is in the list with its error.
func (im *imports) sources() ([]found, error) {
	if len(im.Paths) == 0 {
		own := im.to.scope == definition.Global
		folder := im.to.folder
		if own {
			folder = im.h.daemon.Home
		}
		if files := im.inPlaces(folder, own); len(files) > 0 {
			return files, nil
		}
		return nil, im.nothingFound(own)
	}
	var files []found
	for i, name := range im.Paths {
		path, ok := folderPath(name)
		if !ok {
			return nil, server.BadParams(wire.MethodImport, fmt.Sprintf("paths[%d]", i), "is %q, which is no URI of a file", name)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			files = append(files, found{path: path, err: err})
			continue
		case !info.IsDir():
			files = append(files, found{path: path, from: dialectAt(path)})
			continue
		}
		// A folder may be a project with places of tools in it, such a place, or any
		// folder with files.
		inside := im.inPlaces(path, false)
		if p, ok := placeOf(path); ok || len(inside) == 0 {
			p.Dir = path
			if inside = filesOf(p, ok); !im.ofPerson(path) {
				inside = within(inside, path)
			}
		}
		if len(inside) == 0 {
			return nil, fault.New(fault.NotFound, "handlers.import",
				"there are no agent files in %s, which are called NAME.md; name the folder that they lie in, or a file",
				im.relative(path))
		}
		files = append(files, inside...)
	}
	var once []found
	at := make(map[string]int) // in once, by what is read
	for _, f := range files {
		canonical := workspace.CanonicalPath(f.path)
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

// places returns where the tools that are meant keep agents: below a project's folder, or
// below the person's home for the person's own.
func (im *imports) places(own bool) (list []exchange.Place) {
	for _, p := range exchange.Places {
		if of := im.From == "" || im.From == string(p.Of); of && p.Own == own {
			list = append(list, p)
		}
	}
	return list
}

// nothingFound says where was looked.
func (im *imports) nothingFound(own bool) error {
	var dirs []string
	for _, p := range im.places(own) {
		dirs = append(dirs, map[bool]string{true: "~/"}[p.Own]+p.Dir)
	}
	text := "there are no agents of other tools in %s; name a file or folder, as in agentls import PATH, or take your own of all projects with agentls import --global"
	switch {
	case im.From == string(definition.GeminiCLI):
		text, dirs = "gemini-cli's agents load from %s as they are; to turn one into our format, name its file",
			[]string{exchange.Folder(definition.GeminiCLI)}
	case own:
		text = "you have no agents of other tools in %s; name a file or folder, as in agentls import --global PATH"
	}
	return fault.New(fault.NotFound, "handlers.import", text, strings.Join(dirs, ", "))
}

// inPlaces returns the agent files in the known places of a project's folder, or of the
// person's home.
func (im *imports) inPlaces(folder string, own bool) (files []found) {
	if folder == "" {
		return nil
	}
	for _, p := range im.places(own) {
		p.Dir = filepath.Join(folder, filepath.FromSlash(p.Dir))
		inside := filesOf(p, true)
		if !own { // what the person has linked is theirs
			inside = within(inside, p.Dir, folder)
		}
		files = append(files, inside...)
	}
	return files
}

// within marks the files that are links out of some folders: they are not followed.
// It changes the list that it got, and returns it.
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
//
// A link that leads nowhere does not lead out.
func leadsOut(path string, folders ...string) bool {
	real, err := workspace.Canonical(path)
	return err == nil && !slices.ContainsFunc(folders, func(folder string) bool {
		root, err := workspace.Canonical(folder)
		_, inside := workspace.Below(root, real)
		return err == nil && inside
	})
}

// placeOf returns the known place that a folder is, or lies in.
//
// The first place that fits is taken, whoever's home the folder is in.
func placeOf(path string) (exchange.Place, bool) {
	slashed := filepath.ToSlash(path) + "/"
	i := slices.IndexFunc(exchange.Places, func(p exchange.Place) bool { return strings.Contains(slashed, "/"+p.Dir+"/") })
	if i < 0 {
		return exchange.Place{}, false
	}
	return exchange.Places[i], true
}

// ofPerson reports whether a folder is one of the person's own places, by its
// name, or lies in one: what they have linked there is theirs.
func (im *imports) ofPerson(path string) bool {
	home := im.h.daemon.Home
	return home != "" && slices.ContainsFunc(exchange.Places, func(p exchange.Place) bool {
		_, inside := workspace.Below(filepath.Join(home, filepath.FromSlash(p.Dir)), path)
		return p.Own && inside
	})
}

// dialectAt returns whose place a file lies in, "" where that is not known.
func dialectAt(path string) definition.Dialect {
	p, _ := placeOf(filepath.Dir(path))
	return p.Of
}

// filesOf returns the agent files of a place, sorted; with deep also those of its
// folders, which other tools look through. A README is none.
// Links to folders are not followed, and links to files are listed as files. One that
// cannot be read is listed with its error; a place that is not there has none.
func filesOf(p exchange.Place, deep bool) []found {
	var files []found
	root := p.Dir + string(filepath.Separator) // what lies behind a link, if it is one
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
			files = append(files, found{path: path, from: p.Of})
		}
		return nil
	}) // what cannot be read is among the files
	return files
}
