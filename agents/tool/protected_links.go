package tool

// Hard links: a file that holds credentials, or is protected, under a name that
// says nothing of it (SEC-17, SEC-20). Which names a file has no system tells,
// so it is compared with the places that are known.

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// The bounds of looking for the other names of a file. What is over them is not
// compared, and is as ordinary as its own name says: the places that matter
// most are looked at first.
const (
	maxLinkFolder = 20_000 // entries of one folder
	maxLinkTree   = 1_000  // entries of one protected folder: no settings are so many
	maxLinkPlaces = 8_000  // entries that are looked at, over all folders
	maxLinkState  = 500    // entries of the daemon's own folder
	maxLinkDepth  = 3      // folders below a protected one
)

// meaning is what another name of a file says of it.
type meaning struct {
	credential bool
	protected  string // why, for people
	sealed     string
}

// fileID is what all names of a file share.
type fileID struct{ dev, ino uint64 }

// places are the known files of credentials and protected places that have
// several names, by what they are on disk. It is safe for concurrent use.
type places struct {
	mu      sync.Mutex
	known   map[fileID]meaning
	folders map[string]bool // that were looked at
	home    bool            // home was
	left    int             // entries that may still be looked at

	repositories map[string]bool // folders that are one of their own (see [Env.TaintOf])
}

// Together returns env for a call that resolves many paths: what files with
// several names are compared with is looked at once. Of an env that it returned
// it returns the same.
//
// It is for one call and its time: files that get another name meanwhile are not
// noticed.
func Together(env *Env) *Env {
	if env.places != nil {
		return env
	}
	e := *env
	e.places = &places{}
	return &e
}

// meaningOfLinks returns what the other names say of a file that has several. path is
// where it lies, links resolved.
func meaningOfLinks(env *Env, path string, info fs.FileInfo) meaning {
	if info == nil || !info.Mode().IsRegular() {
		return meaning{}
	}
	id, several := identity(info)
	if !several {
		return meaning{}
	}
	p := env.places
	if p == nil {
		p = &places{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look(env, path)
	return p.known[id]
}

// look takes in what is known, and what lies beside path.
// Home is looked through once, the folders around path each time, and
// maxLinkPlaces bounds all of it.
func (p *places) look(env *Env, path string) {
	if p.known == nil {
		p.known, p.folders, p.left = make(map[fileID]meaning), make(map[string]bool), maxLinkPlaces
	}
	if home := env.HomeFolder(); !p.home && home != "" {
		p.home = true
		p.folder(env, home, 0)
		for _, list := range [][][]string{credentialFolders, configFolders} {
			for _, name := range list {
				if name[0] != ".gemini" {
					p.tree(env, filepath.Join(append([]string{home}, name...)...), 1)
				}
			}
		}
		p.state(env, home)
	}
	root, _ := env.holding(path)
	p.folder(env, env.Folder, maxLinkDepth)
	for _, folder := range env.Folders {
		p.folder(env, folder, maxLinkDepth)
	}
	for dir := filepath.Dir(path); root != "" && Within(root, dir); dir = filepath.Dir(dir) {
		p.folder(env, dir, maxLinkDepth)
		if dir == root {
			break
		}
	}
}

// state takes in the files that lie at the top of the daemon's own folder: what
// it trusts and permits. Those below, of sessions, are many.
func (p *places) state(env *Env, home string) {
	state := env.State
	if state == "" {
		state = filepath.Join(home, ".gemini")
	}
	for _, dir := range []string{state, filepath.Join(state, "agentls")} {
		for _, e := range p.list(dir, maxLinkState) {
			if e.Type().IsRegular() {
				p.add(env, below(dir, e.Name()), e)
			}
		}
	}
}

// folder takes in the files of a folder whose names mean something, and of the
// folders in it that do so many levels down.
func (p *places) folder(env *Env, dir string, depth int) {
	names := foldPath(dir)
	// A file of any name counts where the folder's own says so.
	all := whyProtected(names) != "" || isCredential(names) || dir == env.HomeFolder()
	for _, e := range p.list(dir, maxLinkFolder) {
		name := fold(e.Name())
		one := [1]string{name}
		switch {
		case e.Type().IsRegular():
			if all || whyProtected(one[:]) != "" || isCredential(one[:]) {
				p.add(env, below(dir, e.Name()), e)
			}
		case !e.IsDir() || depth == 0:
		case protectedFolders[name] != "" || isCredential(one[:]):
			p.tree(env, below(dir, e.Name()), depth-1)
		case name != "" && name[0] == '.':
			for _, inner := range protectedPaths[name] {
				p.tree(env, filepath.Join(dir, e.Name(), inner.name), 1)
			}
			for _, inner := range credentialFolders {
				if inner[0] == name {
					p.tree(env, filepath.Join(append([]string{dir, e.Name()}, inner[1:]...)...), 1)
				}
			}
		}
	}
}

// linkSkipped are folders in which version control keeps its history, and
// others that are large and no settings.
var linkSkipped = map[string]bool{
	"objects": true, "refs": true, "logs": true, "lfs": true, "rr-cache": true, "pristine": true,
	"store": true, "node_modules": true,
}

// tree takes in all files of a folder and of those in it, but for what version
// control keeps of the history. What is a file is taken as one.
func (p *places) tree(env *Env, dir string, depth int) {
	if dir == "" {
		return
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return // it is not there
	}
	if info.Mode().IsRegular() {
		p.add(env, dir, fs.FileInfoToDirEntry(info))
		return
	}
	for _, e := range p.list(dir, maxLinkTree) {
		path := below(dir, e.Name())
		switch {
		case e.Type().IsRegular():
			p.add(env, path, e)
		case e.IsDir() && depth > 0 && !linkSkipped[e.Name()]:
			p.tree(env, path, depth-1)
		}
	}
}

// list returns so many entries of a folder that was not looked at yet. A link is
// not followed.
func (p *places) list(dir string, limit int) []fs.DirEntry {
	if dir == "" || p.folders[dir] {
		return nil
	}
	p.folders[dir] = true
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.ReadDir(limit) // an error leaves what was read
	return list
}

// add takes in a file that has several names, of which this one means something.
//
// left counts down for every entry that is looked at, so a folder of any size ends.
// Meanings of several names add up.
func (p *places) add(env *Env, path string, e fs.DirEntry) {
	if p.left <= 0 {
		return
	}
	p.left--
	info, err := e.Info()
	if err != nil {
		return // it went
	}
	id, several := identity(info)
	if !several {
		return // whatever it is, it is not what was asked about
	}
	names := foldPath(path)
	m := meaning{credential: isCredential(names), protected: whyProtected(names), sealed: WhySealed(env, path)}
	if !m.credential && m.protected == "" && m.sealed == "" {
		return
	}
	old := p.known[id]
	m.credential = m.credential || old.credential
	if m.protected = firstOf(old.protected, m.protected); m.protected != "" &&
		!strings.Contains(m.protected, "hard link") {
		m.protected += ", as which it is linked too (hard link)"
	}
	m.sealed = firstOf(old.sealed, m.sealed)
	p.known[id] = m
}

// HasOtherNames reports whether the file at a path has other names (hard links).
// Who writes it in place changes it under all of them, wherever they are.
// false where the system does not tell, and for what is not there.
func HasOtherNames(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, several := identity(info)
	return several
}

// firstOf returns a, or b where a is "".
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
