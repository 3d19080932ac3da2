package tool

// Hard links: a file that holds credentials, or is protected, under a name that
// says nothing of it (SEC-17, SEC-20). Which names a file has no system tells,
// so it is compared with the places that are known.

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The bounds of looking for the other names of a file. Where a bound was met, a
// write of a file with several names asks as one of a protected place does.
const (
	maxLinkFolder = 20_000 // entries of one folder
	maxLinkPlaces = 8_000  // files that are compared
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

// places are the known files of credentials and protected places, by what they
// are on disk. It is safe for concurrent use.
type places struct {
	mu      sync.Mutex
	known   map[fileID]meaning
	folders map[string]bool // that were looked at
	home    bool            // home was
	capped  bool            // there are more than are compared
}

// Together returns env for a call that resolves many paths: what files with
// several names are compared with is looked at once.
func Together(env *Env) *Env {
	e := *env
	e.places = &places{}
	return &e
}

// linkedTo returns what the other names say of a file that has several. path is
// where it lies, links resolved.
func linkedTo(env *Env, path string, info fs.FileInfo) meaning {
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
	m, ok := p.known[id]
	if !ok && p.capped {
		m.protected = "a file with several names (hard links), and too many protected ones to compare it with"
	}
	return m
}

// look takes in what is known, and what lies beside path.
func (p *places) look(env *Env, path string) {
	if p.known == nil {
		p.known, p.folders = make(map[fileID]meaning), make(map[string]bool)
	}
	if home := env.HomeFolder(); !p.home && home != "" {
		p.home = true
		p.folder(env, home, 0)
		for _, name := range credentialFolders {
			p.tree(env, filepath.Join(append([]string{home}, name...)...), 1)
		}
		for _, name := range configFolders {
			p.tree(env, filepath.Join(home, filepath.FromSlash(name)), 1)
		}
		p.tree(env, env.State, 1)
	}
	root, _ := env.holding(path)
	for _, folder := range append([]string{env.Folder}, env.Folders...) {
		p.folder(env, folder, maxLinkDepth)
	}
	for dir := filepath.Dir(path); root != "" && Within(root, dir); dir = filepath.Dir(dir) {
		p.folder(env, dir, maxLinkDepth)
		if dir == root {
			break
		}
	}
}

// folder takes in the files of a folder whose names mean something, and of the
// folders in it that do so many levels down.
func (p *places) folder(env *Env, dir string, depth int) {
	for _, e := range p.list(dir) {
		path := below(dir, e.Name())
		switch {
		case e.Type().IsRegular():
			p.add(env, path, e)
		case e.IsDir() && depth > 0 && (protectedFolders[fold(e.Name())] != "" || isCredential([]string{fold(e.Name())})):
			p.tree(env, path, depth-1)
		case e.IsDir() && depth > 0 && fold(e.Name()) == ".github":
			p.tree(env, below(path, "workflows"), 0)
			p.tree(env, below(path, "actions"), 1)
		}
	}
}

// tree takes in all files of a folder and of those in it, but for what git keeps
// of the history. What is a file is taken as one.
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
	for _, e := range p.list(dir) {
		path := below(dir, e.Name())
		switch {
		case e.Type().IsRegular():
			p.add(env, path, e)
		case e.IsDir() && depth > 0 && !slices.Contains([]string{"objects", "refs", "logs", "lfs", "node_modules"}, e.Name()):
			p.tree(env, path, depth-1)
		}
	}
}

// list returns the entries of a folder that was not looked at yet. A link is
// not followed.
func (p *places) list(dir string) []fs.DirEntry {
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
	list, _ := f.ReadDir(maxLinkFolder + 1) // an error leaves what was read
	if len(list) > maxLinkFolder {
		p.capped = true
	}
	return list
}

// add takes in a file whose name means something.
func (p *places) add(env *Env, path string, e fs.DirEntry) {
	names := folded(path)
	m := meaning{credential: isCredential(names), protected: protectedBy(names), sealed: SealedBy(env, path)}
	if !m.credential && m.protected == "" && m.sealed == "" {
		return
	}
	if len(p.known) >= maxLinkPlaces {
		p.capped = true
		return
	}
	info, err := e.Info()
	if err != nil {
		return // it went
	}
	id, _ := identity(info)
	old := p.known[id]
	m.credential = m.credential || old.credential
	if m.protected = firstOf(old.protected, m.protected); m.protected != "" && !strings.Contains(m.protected, "hard link") {
		m.protected += ", as which it is linked too (hard link)"
	}
	m.sealed = firstOf(old.sealed, m.sealed)
	p.known[id] = m
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
