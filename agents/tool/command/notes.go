package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// The limits of what a person is told besides, and of what is looked at for it.
const (
	maxNotes    = 24
	maxMatched  = 2000   // paths that a pattern is followed to
	maxListed   = 10_000 // entries of folders that are read for one pattern
	maxFollowed = 8      // folders of one pattern that are looked at though the effort is used up
	maxMoved    = 64     // folders that cd goes to
)

// note tells a person something besides the commands, once.
func (j *judge) note(format string, args ...any) {
	line := tool.Escape(fmt.Sprintf(format, args...))
	switch {
	case len(j.notes) > maxNotes || slices.Contains(j.notes, line):
	case len(j.notes) == maxNotes:
		j.notes = append(j.notes, "and more of the kind")
	default:
		j.notes = append(j.notes, line)
	}
}

// shown returns a path as notes have it: relative to where the command runs, if
// it lies there.
func (j *judge) shown(path string) string {
	if rel, err := filepath.Rel(j.Dir, path); err == nil && tool.Within(j.Dir, path) {
		return tool.Name(filepath.ToSlash(rel))
	}
	return tool.Name(path)
}

// leads tells where a path with links leads (SEC-67).
func (j *judge) leads(w word, real string) {
	j.note("%s → %s", j.shown(j.abs(w.text)), j.shown(real))
}

// listing is what stands in a folder: its names, sorted, and whether they are
// all.
type listing struct {
	names []string
	whole bool
}

// list returns the names in a folder, and whether they are all: no more than a
// pattern is followed to, and no more than there is effort left for. What cannot
// be read has none. It reads a folder once; for a short one, spare also what is
// kept for short looks is used.
func (j *judge) list(folder string, spare bool) (names []string, whole bool) {
	if l, known := j.listed[folder]; known {
		return l.names, l.whole
	}
	most := min(maxListed+1, maxEffort-j.effort)
	if short := min(maxShort, maxEffort-j.spared); spare && short > most {
		most = short
	}
	if most <= 0 {
		return nil, false
	}
	f, err := openFolder(folder)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	names, err = f.Readdirnames(most)
	j.pay(len(names))
	l := listing{names, err != nil || len(names) < most}
	slices.Sort(l.names)
	if l.whole || most > maxListed {
		j.listed[folder] = l
	} else {
		j.exceeds()
	}
	return l.names, l.whole
}

// matched returns the paths that a pattern stands for, as bash has them, and
// whether they are all of them. Where there is no effort left for it, it returns
// none.
func (j *judge) matched(pattern string) (all []string, whole bool) {
	at, read := []string{"."}, 0
	if filepath.IsAbs(pattern) {
		at = []string{"/"}
	}
	for element := range strings.SplitSeq(pattern, "/") {
		if element == "" {
			continue
		}
		var next []string
		spend := j.spend
		if len(at) <= maxFollowed {
			spend = j.spare
		}
		if !strings.ContainsAny(element, "*?[") {
			for _, folder := range at {
				if !spend(1) {
					return nil, false
				}
				path := filepath.Join(folder, element)
				if _, err := os.Lstat(j.abs(path)); err == nil {
					next = append(next, path)
				}
			}
			at = next
			continue
		}
		match := strings.ReplaceAll(element, "[!", "[^")
		for _, folder := range at {
			if !spend(1) {
				return nil, false
			}
			names, whole := j.list(j.abs(folder), len(at) <= maxFollowed)
			if read += len(names); read > maxListed {
				return at, false
			}
			each := 1 + len(element)/64
			if !whole || !j.spend(len(names)*each) && (len(at) > maxFollowed || !j.spare(len(names)*each/16)) {
				return nil, false
			}
			for _, name := range names {
				if strings.HasPrefix(name, ".") != strings.HasPrefix(element, ".") {
					continue
				}
				if ok, err := filepath.Match(match, name); ok || err != nil {
					next = append(next, filepath.Join(folder, name))
				}
			}
		}
		if at = next; len(at) > maxMatched {
			return at[:maxMatched], false
		}
	}
	return at, true
}

// counted tells what a mass change would reach, and how much it is (SEC-41).
func (j *judge) counted(what string, w word, below bool) {
	if w.computed || !j.spend(1) {
		return
	}
	all, whole := []string{w.text}, true
	if w.glob {
		if all, whole = j.matched(w.text); !whole && len(all) == 0 {
			return
		}
	}
	more := ""
	if !whole {
		more = "more than "
	}
	names := make([]string, 0, 4)
	entries := 0
	for i, one := range all {
		if i < 3 {
			names = append(names, j.shown(j.abs(one)))
		}
		if !below || entries > maxListed {
			continue
		}
		// What cannot be read cannot be counted.
		_ = filepath.WalkDir(j.abs(one), func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == j.abs(one) {
				return nil
			}
			if entries++; entries > maxListed || !j.spend(1) {
				return filepath.SkipAll
			}
			return nil
		})
	}
	if len(all) > len(names) {
		names = append(names, "…")
	}
	line := fmt.Sprintf("%s %s%d (%s)", what, more, len(all), strings.Join(names, ", "))
	switch {
	case entries > maxListed:
		line += fmt.Sprintf(", with more than %d files and folders below", maxListed)
	case entries > 0:
		line += ", with " + tool.Count(entries, "file or folder", "files and folders") + " below"
	}
	j.note("%s", line)
}

// moves is where cd goes.
type moves struct {
	folders []string       // each once, the last one last
	long    int            // their bytes
	lost    bool           // they are more than are followed
	times   int            // that one came to them
	removed map[string]int // what was judged in each of them, and at which of times
}

// to adds a folder.
func (m *moves) to(folder string) {
	if i := slices.Index(m.folders, folder); i >= 0 {
		m.folders = append(slices.Delete(m.folders, i, i+1), folder)
		return
	}
	if len(m.folders) == maxMoved || m.long+len(folder) > maxShown {
		m.lost = true
		return
	}
	m.folders, m.long, m.times = append(m.folders, folder), m.long+len(folder), m.times+1
}

// moves records where cd goes.
func (j *judge) moves(words []word) {
	for _, w := range words {
		if w.computed || strings.HasPrefix(w.text, "-") {
			continue
		}
		from := j.Dir
		if n := len(j.moved.folders); n > 0 {
			from = j.moved.folders[n-1]
		}
		if filepath.IsAbs(w.text) {
			from = ""
		}
		j.moved.to(filepath.Join(from, w.text))
		return
	}
	if len(words) == 0 && j.Env.HomeFolder() != "" {
		j.moved.to(j.Env.HomeFolder())
	}
}

// operandsOf returns the words that are no options.
func operandsOf(words []word) []word {
	var out []word
	for i, w := range words[1:] {
		if w.text == "--" {
			return append(out, words[i+2:]...)
		}
		if w.text == "-" || !strings.HasPrefix(w.text, "-") {
			out = append(out, w)
		}
	}
	return out
}
