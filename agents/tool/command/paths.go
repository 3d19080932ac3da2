package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// purpose is what a command does with a path.
type purpose uint8

const (
	forReading purpose = iota
	forRunning
	forAnything // it is not known what
	forWriting
)

// maxEffort is how much one command may have looked at: about one for each
// entry of a folder, and some for each path. It is half a second's worth; what
// nobody can be kept waiting for is asked about. There is as much again for looks
// that take at most maxShort: more than the words of a text that can be shown
// take.
const (
	maxEffort = 100_000
	maxShort  = 1000
)

// afford takes n from what may still be looked at, and reports whether there was
// so much; else it takes nothing.
func (j *judge) afford(n int) bool {
	if n > maxEffort-j.effort {
		return false
	}
	j.effort += n
	return true
}

// spend is afford for what the risk depends on.
func (j *judge) spend(n int) bool {
	if !j.afford(n) {
		j.exceeds()
		return false
	}
	return true
}

// exceeds asks each time for what has more looked at than there is effort for.
func (j *judge) exceeds() {
	j.unkept = true
	j.raise(tool.Protected, "cannot be analysed: it names more than can be looked at")
}

// spare is spend for what may be catastrophic, which nothing that stands before
// it may hide: a short look is possible where the effort is used up, though the
// command is asked about each time then.
func (j *judge) spare(n int) bool {
	if j.spend(n) {
		return true
	}
	if n > min(maxShort, maxEffort-j.spared) {
		return false
	}
	j.spared += n
	return true
}

// hidden refuses what writes files that another file names, an archive or a patch,
// where what stands before it has left less than n to look at that file.
func (j *judge) hidden(n int) bool {
	if n <= maxEffort-j.effort {
		return false
	}
	j.raise(tool.Catastrophic, "cannot be analysed behind so much else, and may write anywhere; run it by itself")
	return true
}

// pay takes n for what was looked at already, from wherever something is left.
func (j *judge) pay(n int) {
	rest := min(n, maxEffort-j.effort)
	j.effort += rest
	j.spared = min(j.spared+n-rest, maxEffort)
}

// effortOf is what it takes to follow a path: each part of it is looked at by
// its whole name.
func effortOf(abs string) int { return (1 + strings.Count(abs, "/")) * (1 + len(abs)/64) }

// resolve is [tool.Resolve], as far as there is effort left.
func (j *judge) resolve(abs string) (tool.Place, error) {
	if !j.spend(effortOf(abs)) {
		return tool.Place{}, errors.New("more than can be looked at")
	}
	return tool.Resolve(j.Env, abs)
}

// path judges one path of a command by the policy that file tools have
// (SEC-38): outside asks, credentials are refused, protected places ask each
// time unless they are only read.
func (j *judge) path(w word, why purpose) {
	key := string(rune('0'+why)) + w.text
	if w.text == "" || w.text == "/dev/null" || j.judged[key] {
		return
	}
	j.judged[key] = true
	if tool.IsCredential(w.text) && !j.revealed(w) {
		j.raise(tool.Catastrophic, "%s holds credentials", tool.Escape(w.source))
		return
	}
	if why == forWriting && device(w.text) {
		j.raise(tool.Catastrophic, "writes to the device %s", tool.Name(w.text))
		return
	}
	if w.computed {
		return // it asks already; where it leads nobody knows
	}
	abs := j.abs(w.text)
	if w.glob {
		if all, _ := j.matched(w.text); len(all) > 0 {
			for _, one := range all {
				j.path(word{text: one, source: w.source}, why)
			}
			return
		}
	}
	if why == forWriting {
		if sealed := tool.SealedBy(j.Env, abs); sealed != "" {
			j.raise(tool.Catastrophic, "writes %s (%s)", tool.Name(w.text), sealed)
			return
		}
	}
	if tool.IsCredential(abs) && !j.revealed(w) { // the folder can be part of the name
		j.raise(tool.Catastrophic, "%s holds credentials", tool.Escape(w.source))
		return
	}
	if by := tool.ProtectedBy(abs); by != "" && why != forReading {
		j.raise(tool.Protected, "%s is protected: %s", tool.Escape(w.source), by)
	}
	if !j.spare(effortOf(abs)) {
		return
	}
	if j.below(w.text) {
		j.reads(w, abs, why)
		return
	}
	place, err := tool.Resolve(j.Env, abs)
	if err != nil {
		j.unkept = true
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			j.leads(w, real)
			if tool.IsCredential(real) && !slices.Contains(j.Env.Reveal, real) {
				j.raise(tool.Catastrophic, "%s holds credentials", tool.Escape(w.source))
				return
			}
		}
		j.raise(tool.High, "%s lies outside the workspace", tool.Escape(w.source))
		return
	}
	if place.Real != abs {
		j.leads(w, place.Real)
	}
	j.reads(w, place.Real, why)
	switch {
	case place.Credential && !place.Revealed:
		j.raise(tool.Catastrophic, "%s holds credentials", tool.Escape(w.source))
	case place.Sealed != "" && why == forWriting:
		j.raise(tool.Catastrophic, "writes %s (%s)", tool.Name(w.text), place.Sealed)
	case place.Sealed != "" && why != forReading:
		j.raise(tool.Protected, "%s is %s", tool.Escape(w.source), place.Sealed)
	case place.Protected && why != forReading:
		j.raise(tool.Protected, "%s is protected: %s", tool.Escape(w.source), place.ProtectedBy)
	}
}

// reads judges what the content of a file means, and who may have written it.
func (j *judge) reads(w word, real string, why purpose) {
	if why == forWriting {
		return
	}
	j.taint = j.taint.Max(j.Env.TaintOf(real))
	if kind := j.secretIn(real); kind != "" && why == forReading {
		j.raise(tool.Catastrophic, "%s holds %s", tool.Escape(w.source), kind)
	} else if kind != "" {
		j.raise(tool.Protected, "%s holds %s", tool.Escape(w.source), kind)
	}
}

// secretIn returns what kind of secret stands in a file that may hold one.
func (j *judge) secretIn(real string) string {
	if !tool.MayHoldSecret(real) || slices.Contains(j.Env.Reveal, real) {
		return ""
	}
	if kind, known := j.secrets[real]; known || !j.spare(1) {
		return kind
	}
	kind := ""
	if data, err := readSome(real, maxPatch); err == nil {
		j.pay(len(data) >> 9) // what comes after pays, as this is read already
		kind = tool.SecretIn(real, string(data))
	}
	j.secrets[real] = kind
	return kind
}

// below reports whether a path leads to a place below the folder, by no link:
// then its name says all that [tool.Resolve] would.
func (j *judge) below(path string) bool {
	if path = filepath.Clean(path); !j.plain || !filepath.IsLocal(path) || strings.ContainsRune(path, 0) {
		return false
	}
	for at := 0; at <= len(path); at++ {
		if at < len(path) && path[at] != filepath.Separator {
			continue
		}
		info, err := os.Lstat(filepath.Join(j.Dir, path[:at]))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true
		case err != nil || info.Mode()&fs.ModeSymlink != 0:
			return false
		}
	}
	return true
}

// revealed reports whether the user's own rule names the file.
func (j *judge) revealed(w word) bool {
	if w.computed || w.glob {
		return false
	}
	abs := j.abs(w.text)
	if !j.spare(effortOf(abs)) {
		return false
	}
	place, err := tool.Resolve(j.Env, abs)
	return err == nil && place.Revealed
}

// paths judges the arguments of a command whose flags are not known: whatever
// can be a path in them.
func (j *judge) paths(words []word) {
	for _, w := range words {
		if strings.Contains(w.text, "://") {
			j.raise(tool.High, "%s names another machine", tool.Escape(w.source))
			continue
		}
		for _, piece := range pieces(w.text) {
			j.path(word{text: piece, source: w.source, computed: w.computed, glob: w.glob}, forAnything)
		}
	}
}

// pieces returns what may be a path in an argument: the whole, the value of an
// option or a setting, what is attached to a short option, the parts of a list.
func pieces(arg string) []string {
	var out []string
	if strings.HasPrefix(arg, "-") {
		if _, value, ok := strings.Cut(arg, "="); ok {
			out = append(out, value)
		} else if i := strings.IndexAny(arg, "/~."); i > 0 {
			out = append(out, arg[i:])
		}
	} else {
		out = append(out, arg)
		if _, value, ok := strings.Cut(arg, "="); ok {
			out = append(out, value)
		}
	}
	for _, piece := range out {
		if strings.Contains(piece, ":") {
			for part := range strings.SplitSeq(piece, ":") {
				out = append(out, part)
			}
		}
	}
	return out
}

// maxScanned is how many entries a search for credentials looks at.
const maxScanned = 20_000

// scan returns why the content of a folder must not be read as a whole, "" if
// it may: because a file in it holds credentials, or because there are too many
// to know. hidden says whether names with a dot are read too.
func (j *judge) scan(dir string, hidden bool) string {
	key := dir
	if hidden {
		key += "\x00"
	}
	if why, known := j.scanned[key]; known {
		return why
	}
	seen, why := 0, ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be listed cannot be read
		}
		name := d.Name()
		if d.IsDir() && slices.Contains(j.Env.Strange, path) {
			j.taint = j.taint.Max(j.Env.TaintOf(path))
		} else if name == ".git" {
			j.taint = j.taint.Max(j.Env.TaintOf(filepath.Dir(path)))
		}
		if path != dir && !hidden && strings.HasPrefix(name, ".") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if seen++; seen > maxScanned || !j.afford(1) {
			why = "reads a folder of more files than can be checked for credentials"
			return filepath.SkipAll
		}
		if tool.IsCredential(path) {
			why = "would read " + tool.Name(name) + ", which holds credentials"
			return filepath.SkipAll
		}
		if kind := j.secretIn(path); kind != "" {
			why = "would read " + tool.Name(name) + ", which holds " + kind
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		why = "reads a folder that cannot be checked for credentials"
	}
	j.scanned[key] = why
	return why
}
