package command

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// ecosystem is a registry of packages, and how a workspace says which of them
// it depends on (SEC-44).
type ecosystem struct {
	registry string
	option   string // names another registry
	files    []string
	depends  func(file string, data []byte) []string
	name     func(spec string) string // without version
}

var ecosystems = map[string]ecosystem{
	"npm":   {"https://registry.npmjs.org", "--registry", []string{"package.json", "package-lock.json"}, npmDepends, npmName},
	"pip":   {"https://pypi.org/simple", "--index-url", []string{"requirements*.txt"}, pipDepends, pipName},
	"go":    {"https://proxy.golang.org", "", []string{"go.mod", "go.sum"}, goDepends, atName},
	"cargo": {"https://crates.io", "--registry", []string{"Cargo.lock"}, cargoDepends, atName},
	"gem":   {"https://rubygems.org", "--source", nil, nil, atName},
}

// fetchers are the programs, with their ecosystem and the subcommands that
// fetch; none = the first operand is a package.
var fetchers = map[string]struct {
	of   string
	subs map[string]bool
}{
	"npx": {"npm", nil}, "pnpx": {"npm", nil}, "bunx": {"npm", nil},
	"npm": {"npm", set("i install add exec x ci update create init in ins isntall")}, "pnpm": {"npm", set("i install add exec dlx update create")},
	"yarn": {"npm", set("add install dlx upgrade create global")}, "bun": {"npm", set("i install add x create update")},
	"pip": {"pip", set("install download")}, "pip3": {"pip", set("install download")}, "pipx": {"pip", set("install run inject")},
	"uvx": {"pip", nil}, "uv": {"pip", set("add pip tool")}, "poetry": {"pip", set("add")}, "pdm": {"pip", set("add")},
	"go": {"go", set("run install get")}, "cargo": {"cargo", set("add install")}, "gem": {"gem", set("install")},
}

// The limits of what is read of a workspace's lists of packages.
const (
	maxManifest = 8 << 20 // bytes
	maxFetched  = 8       // packages that are told about
)

// fetches tells which packages a command fetches from where, and warns of a
// name that is almost that of one that the workspace has.
func (j *judge) fetches(name string, words []word) {
	f, ok := fetchers[name]
	if !ok {
		return
	}
	e := ecosystems[f.of]
	registry, operands, run := j.registry(f.of), []string{}, f.subs == nil
	for i := 1; i < len(words); i++ {
		t := words[i].text
		option, value, valued := strings.Cut(t, "=")
		switch {
		case option == e.option && e.option != "" || option == "-i" && f.of == "pip" || option == "--index" && f.of == "cargo":
			if !valued && i+1 < len(words) {
				i++
				value = words[i].text
			}
			registry = value
		case f.of == "npm" && (option == "-p" || option == "--package"):
			if !valued && i+1 < len(words) {
				i++
				value = words[i].text
			}
			operands, run = append(operands, value), true
		case strings.HasPrefix(t, "-"):
		default:
			operands = append(operands, t)
		}
	}
	if f.subs != nil {
		if len(operands) == 0 || !f.subs[operands[0]] {
			return
		}
		sub := operands[0]
		operands = operands[1:]
		run = set("exec x dlx run create init tool")[sub]
		if len(operands) > 0 && (sub == "pip" || sub == "tool" || sub == "global") {
			operands = operands[1:]
		}
	}
	if run && len(operands) > 1 {
		operands = operands[:1] // the others are its arguments
	}
	if name == "go" && (len(operands) == 0 || !strings.Contains(operands[0], "@")) && words[1].text != "get" {
		return // the workspace's own
	}
	if len(operands) == 0 {
		j.note("%s fetches what the workspace lists, from %s", name, registry)
		return
	}
	known := j.dependencies(e)
	for i, spec := range operands {
		if i == maxFetched {
			j.note("and %d more packages", len(operands)-maxFetched)
			break
		}
		if strings.Contains(spec, "://") || strings.HasPrefix(spec, "git+") {
			j.note("%s fetches %s", name, tool.Name(spec))
			continue
		}
		if strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") {
			continue
		}
		is := e.name(spec)
		j.note("%s fetches the package %s from %s", name, tool.Name(is), registry)
		if known.is[is] {
			continue
		}
		if !j.spend(1 + len(known.sorted)>>6) {
			break
		}
		for _, other := range known.sorted {
			if nearly(is, other) {
				j.note("WARNING: %s is one letter away from %s, which the workspace depends on", tool.Name(is), tool.Name(other))
			}
		}
	}
}

// registry returns where packages come from, as far as the environment and the
// workspace say.
func (j *judge) registry(of string) string {
	if of == "go" {
		for _, entry := range j.Env.Environ {
			if value, ok := strings.CutPrefix(entry, "GOPROXY="); ok && value != "" {
				return value
			}
		}
	}
	if of == "npm" {
		if data, err := readSome(filepath.Join(j.Dir, ".npmrc"), 64<<10); err == nil {
			for line := range strings.Lines(string(data)) {
				if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "registry" {
					return strings.TrimSpace(value)
				}
			}
		}
	}
	return ecosystems[of].registry
}

// dependencies are packages.
type dependencies struct {
	is     map[string]bool
	sorted []string
}

// dependencies returns the packages that the workspace names, which it reads
// once; of files that are too large or no such files, none.
func (j *judge) dependencies(e ecosystem) dependencies {
	known, found := j.depends[e.registry]
	if !found {
		known.is = j.named(e)
		known.sorted = slices.Sorted(maps.Keys(known.is))
		j.depends[e.registry] = known
	}
	return known
}

// named reads what dependencies returns.
func (j *judge) named(e ecosystem) map[string]bool {
	known := make(map[string]bool)
	folders := []string{j.Dir}
	if j.Env.Folder != j.Dir {
		folders = append(folders, j.Env.Folder)
	}
	for _, folder := range folders {
		for _, pattern := range e.files {
			found, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				continue
			}
			for _, file := range found[:min(len(found), 8)] {
				info, err := os.Stat(file)
				if err != nil || info.Size() > maxManifest {
					continue
				}
				if !j.spend(1 + int(info.Size()>>9)) {
					return known
				}
				data, err := readSome(file, maxManifest)
				if err != nil {
					continue
				}
				for _, name := range e.depends(filepath.Base(file), data) {
					known[name] = true
				}
			}
		}
	}
	return known
}

func npmName(spec string) string {
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		return spec[:i]
	}
	return spec
}

func atName(spec string) string { name, _, _ := strings.Cut(spec, "@"); return name }

func pipName(spec string) string {
	if i := strings.IndexAny(spec, "=<>!~;[ @"); i >= 0 {
		spec = spec[:i]
	}
	return strings.ToLower(strings.ReplaceAll(spec, "_", "-"))
}

func npmDepends(_ string, data []byte) []string {
	var file struct {
		Dependencies         map[string]json.RawMessage `json:"dependencies"`
		DevDependencies      map[string]json.RawMessage `json:"devDependencies"`
		PeerDependencies     map[string]json.RawMessage `json:"peerDependencies"`
		OptionalDependencies map[string]json.RawMessage `json:"optionalDependencies"`
		Packages             map[string]json.RawMessage `json:"packages"`
	}
	if json.Unmarshal(data, &file) != nil {
		return nil
	}
	var names []string
	for _, all := range []map[string]json.RawMessage{file.Dependencies, file.DevDependencies, file.PeerDependencies, file.OptionalDependencies} {
		for name := range all {
			names = append(names, name)
		}
	}
	for path := range file.Packages {
		if i := strings.LastIndex(path, "node_modules/"); i >= 0 {
			names = append(names, path[i+len("node_modules/"):])
		}
	}
	return names
}

func pipDepends(_ string, data []byte) []string {
	var names []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != '-' {
			names = append(names, pipName(line))
		}
	}
	return names
}

func goDepends(file string, data []byte) []string {
	var names []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.Contains(fields[0], ".") && (file == "go.sum" || strings.HasPrefix(fields[1], "v")) {
			names = append(names, fields[0])
		}
	}
	return names
}

func cargoDepends(_ string, data []byte) []string {
	var names []string
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "name = "); ok {
			names = append(names, strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return names
}

// nearly reports whether a becomes b by one letter more, less or other, or by
// two that change places.
func nearly(a, b string) bool {
	if a == b || len(a) < 3 || len(b) < 3 || len(a) > len(b)+1 || len(b) > len(a)+1 {
		return false
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch {
	case len(a) > len(b):
		return a[1:] == b
	case len(b) > len(a):
		return b[1:] == a
	case a[1:] == b[1:]:
		return true
	}
	return len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}

// speaks tells which machines a command names.
func (j *judge) speaks(name string, words []word) {
	for _, w := range words[1:] {
		if u, err := url.Parse(w.text); err == nil && u.Host != "" {
			j.note("%s speaks to %s", name, u.Host)
		}
	}
}
