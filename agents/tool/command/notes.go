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
	maxNotes   = 24
	maxMatched = 2000   // paths that a pattern is followed to
	maxListed  = 10_000 // entries of folders that are read for one pattern
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
		if !strings.ContainsAny(element, "*?[") {
			for _, folder := range at {
				if !j.spend(1) {
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
			entries, err := os.ReadDir(j.abs(folder))
			if err != nil {
				continue
			}
			if read += len(entries); read > maxListed {
				return at, false
			}
			if !j.spend(1 + len(entries)*(1+len(element)/64)) {
				return nil, false
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".") != strings.HasPrefix(element, ".") {
					continue
				}
				if ok, err := filepath.Match(match, e.Name()); ok || err != nil {
					next = append(next, filepath.Join(folder, e.Name()))
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

// moves records where cd goes.
func (j *judge) moves(words []word) {
	for _, w := range words {
		if w.computed || strings.HasPrefix(w.text, "-") {
			continue
		}
		from := j.Dir
		if n := len(j.moved); n > 0 {
			from = j.moved[n-1]
		}
		if filepath.IsAbs(w.text) {
			from = ""
		}
		j.moved = append(j.moved, filepath.Join(from, w.text))
		return
	}
	if len(words) == 0 && j.Env.HomeFolder() != "" {
		j.moved = append(j.moved, j.Env.HomeFolder())
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
