package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// implied are the files that a program reads in its folder without being told:
// what they say is what it runs.
var implied = map[string][]string{
	"npm": packages, "npx": packages, "pnpm": packages, "yarn": packages, "bun": packages, "node": packages,
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"},
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml", "taskfile.yml"},
	"cargo": {"Cargo.toml", "build.rs", "src/main.rs"}, "deno": {"deno.json", "deno.jsonc"},
	"uv": {"pyproject.toml"}, "poetry": {"pyproject.toml"}, "pdm": {"pyproject.toml"}, "rake": {"Rakefile", "rakefile"},
	"docker": composes, "docker-compose": composes, "podman": composes,
}

var (
	packages = []string{"package.json"}
	composes = []string{"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}
	// endings are what interpreters add to the name of a script.
	endings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".sh", ".rb", "/__init__.py"}
	// starts are what interpreters run of a folder.
	starts = []string{"package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "__main__.py", "__init__.py"}
)

// ReadNamed returns a text that is another one after any change of a file of the folder
// that texts may name, as commands do (SEC-11): each such file with its digest. The
// error is ctx's, or says that the folder cannot be opened.
func ReadNamed(ctx context.Context, folder string, said []string) ([]byte, error) {
	disk, err := OpenDisk(folder)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	var text bytes.Buffer
	left := maxLooks
	files, ok := filesNamedBy(disk, said, &left)
	if !ok {
		return nil, fault.New(fault.Invalid, "workspace.named", "%q %s", folder, namesTooMuch)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		describe(ctx, disk, &text, file)
	}
	return text.Bytes(), ctx.Err()
}

// filesNamedBy returns the files of the folder that texts may name, as commands do:
// relative to the folder, or to a folder that another of the texts names; also
// those that an interpreter or a program finds by less than their name, as
// python3 -m tools.srv, node srv and npm run x (SEC-11). What these load in turn
// is not followed, but for the scripts of a package. left is how many looks are left;
// with more it reports false, since a change of a file that was not looked for would go
// unseen.
func filesNamedBy(disk *Disk, said []string, left *int) (names []string, ok bool) {
	n := naming{disk: disk, dirs: []string{"."}, seen: map[string]bool{}, found: map[string]bool{}, left: left}
	for _, text := range said {
		n.expand(text)
	}
	// Once more where a package runs go: what was tried before that may be a folder of sources.
	for goes := !n.goes; goes != n.goes; {
		goes = n.goes
		for i := 0; i < len(n.dirs); i++ { // both grow with the packages that are found
			for j := 0; j < len(n.words); j++ {
				if !n.spend() {
					return nil, false
				}
				n.try(n.dirs[i], n.words[j])
			}
		}
	}
	return slices.Sorted(maps.Keys(n.found)), *left >= 0
}

// maxLooks is how many words and places of files are looked at for what one folder brings:
// the texts may be anybody's, and each word is looked for in each folder that another names.
const maxLooks = 50_000

// namesTooMuch says that there were more.
const namesTooMuch = "names more files than can be looked at, so it is not started; name fewer"

// spend takes one look, and reports false where none is left.
func (n *naming) spend() bool {
	*n.left--
	return *n.left >= 0
}

// naming looks for what texts name.
type naming struct {
	disk        *Disk
	words, dirs []string
	seen, found map[string]bool
	goes        bool // the go tool is run
	left        *int // looks
}

var (
	byDefault = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)
	behind    = regexp.MustCompile(`(?:\$\{[^}]*\}|\$\w+|~)/`)
)

// expand hears a text, also with the defaults of its variables, and what stands
// behind a variable or ~ in a path: these may be the folder, or one above it. It
// looks at no environment, so that everyone finds the same.
func (n *naming) expand(text string) {
	n.hear(text)
	given := byDefault.ReplaceAllString(text, "$1")
	n.hear(given)
	n.hear(byDefault.ReplaceAllString(text, " ")) // the variable may be set, and empty
	above := strings.Count(filepath.ToSlash(n.disk.Path()), "/")
	for _, text := range []string{text, given} {
		for _, at := range behind.FindAllStringIndex(text, -1) {
			rest, _, _ := strings.Cut(text[at[1]:min(len(text), at[1]+4096)], " ")
			rest = path.Clean(strings.TrimRight(rest, "\t\r\n;|&()<>\"'`"))
			// The variable may be any folder above ours, so each tail of the path is tried.
			for i := 0; i <= above && rest != "" && *n.left >= 0; i++ {
				n.hear(rest)
				_, rest, _ = strings.Cut(rest, "/")
			}
		}
	}
}

// hear takes over the words of a text.
// Any of them may be a path, and so may the whole text.
func (n *naming) hear(text string) {
	for _, word := range append(strings.FieldsFunc(text,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>\"'`=,$", r) }), text) {
		if word == "" {
			continue
		}
		if !n.spend() {
			return
		}
		// An absolute path into the folder is one of its files as well.
		if rel, ok := Below(n.disk.Path(), word); ok {
			word = rel
		}
		word = filepath.ToSlash(filepath.Clean(word))
		if n.seen[word] {
			continue
		}
		n.seen[word] = true
		program := strings.TrimSuffix(path.Base(word), ".exe")
		n.goes = n.goes || program == "go"
		n.words = append(n.words, implied[program]...)
		if filepath.IsAbs(word) {
			continue
		}
		n.words = append(n.words, word) // with ..: seen from a folder below, it may be there
		if rel, ok := Below(n.disk.Path(), filepath.Join(n.disk.Path(), word)); ok && filepath.ToSlash(rel) != word {
			n.hear(rel)
		}
		if !filepath.IsLocal(word) {
			continue
		}
		if info, err := n.disk.root.Stat(word); err == nil && info.IsDir() && word != "." {
			n.dirs = append(n.dirs, word)
		}
	}
}

// try adds the files that a word may mean in a folder.
//
// It asks the disk for each; one that is there as it is written ends the search.
func (n *naming) try(dir, word string) {
	name := path.Join(dir, word)
	if n.file(name) {
		return
	}
	if info, err := n.disk.root.Stat(name); err == nil && info.IsDir() {
		for _, start := range starts {
			n.file(path.Join(name, start))
		}
		if n.goes {
			n.sources(name)
		}
	}
	for _, ending := range endings {
		n.file(name + ending)
	}
	if strings.Contains(word, ".") && !strings.Contains(word, "/") { // a module of Python's
		at := dir
		for _, part := range strings.Split(word, ".") {
			at = path.Join(at, part)
			n.file(path.Join(at, "__init__.py"))
		}
		n.file(at + ".py")
		n.file(path.Join(at, "__main__.py"))
	}
}

// file adds a file that is there, and of a package what its main and its scripts
// name.
func (n *naming) file(name string) bool {
	info, err := n.disk.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if n.found[name] {
		return true
	}
	n.found[name] = true
	if path.Base(name) == "package.json" && info.Size() <= maxSettings {
		var is struct {
			Main, Module string
			Bin, Scripts any
		}
		if content, err := fs.ReadFile(n.disk.root.FS(), name); err == nil && json.Unmarshal(content, &is) == nil {
			for _, text := range append(textsIn(map[string]any{"bin": is.Bin, "scripts": is.Scripts}), is.Main,
				is.Module) {
				n.expand(text)
			}
			if at := path.Dir(name); !slices.Contains(n.dirs, at) {
				n.dirs = append(n.dirs, at)
			}
		}
	}
	return true
}

// sources adds the Go files of a folder.
func (n *naming) sources(dir string) {
	entries, _ := fs.ReadDir(n.disk.root.FS(), dir) // what cannot be read does not run
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") {
			n.file(path.Join(dir, e.Name()))
		}
	}
}
