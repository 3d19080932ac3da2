package tool

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// Taint says who may have written what a model has read (spec 11.1 rule 6). The
// zero Taint is of what the person, the agent and trusted folders wrote.
//
// It only grows, for a call, a run and a session ([Taint.Max]), and package
// guard asks more because of it. What it is about is prompt injection: text that
// somebody else wrote may tell a model what to do.
type Taint uint8

// The taints, mildest first.
const (
	Clean   Taint = iota
	Foreign       // a file of an untrusted folder, an MCP server: what leaves the machine asks for the rest of the session
	Web           // a page of the web: the same, and in this run all but safe calls ask
)

var taintNames = [...]string{Clean: "", Foreign: "foreign", Web: "web"}

// String returns the name of the taint in events; "" for Clean.
func (t Taint) String() string {
	if int(t) < len(taintNames) {
		return taintNames[t]
	}
	return taintNames[Web]
}

// TaintOf returns the taint of that name; one that is unknown is the worst.
func TaintOf(name string) Taint {
	if i := slices.Index(taintNames[:], name); i >= 0 {
		return Taint(i)
	}
	return Web
}

// Max returns the worse of t and u.
func (t Taint) Max(u Taint) Taint { return max(t, u) }

// taint is what comes of where a plan reads.
func (p *Plan) taint(env *Env) Taint {
	worst := Clean
	for _, path := range p.Reads {
		worst = worst.Max(env.TaintOf(path))
	}
	return worst
}

// TaintOf returns the taint of what is read at path, absolute, links resolved:
// Foreign in a folder that is not trusted, and in a repository of its own in one
// that is, which trust does not cover. Tools that read more than their plans
// name set it in their results.
// It looks at the disk for each folder on the way, unless [Together] remembers.
func (e *Env) TaintOf(path string) Taint {
	trusted, folder := e.trusts(path)
	if !trusted || (folder != "" && e.nested(folder, path)) {
		return Foreign
	}
	return Clean
}

// Trusts reports whether all places that a call is about are trusted, and the
// folder that decided: one that is not, if there is one. Trust is by place and
// not by run (SEC-16): a second workspace folder that is not trusted restricts
// the calls about it, whatever the run's folder is. A call that names no place
// is about the run's folder.
func (e *Env) Trusts(p *Plan) (trusted bool, folder string) {
	trusted, folder = e.Trusted, e.Folder
	for i, path := range p.places() {
		at, of := e.trusts(path)
		if i == 0 || !at {
			trusted, folder = at, cmp.Or(of, e.Folder)
		}
		if !at {
			break
		}
	}
	return trusted, folder
}

// places returns the paths that a call is about. What a command only reads is
// not among them: it runs in its folder, and reading taints.
func (p *Plan) places() []string {
	all := slices.Concat([]string{p.Path, p.Preview.Cwd}, p.Writes)
	if p.Preview.Cwd == "" {
		all = append(all, p.Reads...)
	}
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}

// trusts reports whether a place is trusted, and the innermost folder that holds
// it: a trusted one in an untrusted one is trusted. A place in no folder goes by
// the run's.
func (e *Env) trusts(path string) (trusted bool, folder string) {
	_, folder = e.holding(path)
	if folder == "" || folder == e.Folder {
		return e.Trusted, folder
	}
	return !slices.Contains(e.Strange, folder), folder
}

// nested reports whether path is, or lies in, a folder below the given one that
// has a .git of its own.
func (e *Env) nested(folder, path string) bool {
	if e.places != nil {
		e.places.mu.Lock()
		defer e.places.mu.Unlock()
	}
	for at := path; at != folder && len(at) > len(folder); at = filepath.Dir(at) {
		if e.repository(at) {
			return true
		}
	}
	return false
}

// repository reports whether a folder has a .git of its own; in a call that
// resolves many paths, each folder is asked once.
func (e *Env) repository(folder string) bool {
	if e.places == nil {
		_, err := os.Lstat(below(folder, ".git"))
		return err == nil
	}
	is, known := e.places.repositories[folder]
	if !known {
		_, err := os.Lstat(below(folder, ".git"))
		is = err == nil
		if e.places.repositories == nil {
			e.places.repositories = make(map[string]bool)
		}
		e.places.repositories[folder] = is
	}
	return is
}
