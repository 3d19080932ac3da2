package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

var (
	// power ends the machine.
	power = set("shutdown reboot halt poweroff")
	// ends are the words of systemctl and loginctl that do.
	ends = set("poweroff reboot halt kexec suspend hibernate")
	// streams are devices that a write does nothing to.
	streams = set("/dev/null /dev/zero /dev/stdout /dev/stderr /dev/tty /dev/full")
)

// disaster records why the text is on the short list; the first reason is told.
func (r *reader) disaster(why string) {
	if r.Disaster == "" {
		r.Disaster = why
	}
}

// disasters looks for a command of the short list of SEC-41 in the words of a
// simple command: at its beginning, and behind a wrapper or, in a text that was
// not parsed, anywhere. It reads all words, however many, and its cost is linear
// in them: of each program the first place counts, since what follows a later one
// follows the first as well.
func (r *reader) disasters(words []word, anywhere bool) {
	if len(words) > 0 {
		name := filepath.Base(words[0].text)
		anywhere = anywhere || wrappers[name] || name == "find"
	}
	seen := make(map[string]bool)
	for i, w := range words {
		name := filepath.Base(w.text)
		if i > 0 && !anywhere {
			break
		}
		if seen[name] || w.text == "" || w.text[0] == '-' {
			continue
		}
		behind := words[i+1:]
		switch {
		case name == "rm":
			r.removes(behind)
		case name == "find":
			r.findDeletes(behind)
		case name == "dd":
			for _, operand := range behind {
				if device, ok := strings.CutPrefix(operand.text, "of="); ok && isDevice(device) {
					r.disaster("writes to the device " + tool.Name(device))
				}
			}
		case power[name], strings.HasPrefix(name, "mkfs"):
			if wraps(words[:i]) {
				r.disaster(tool.Name(name) + " ends the machine or destroys its disks")
			}
		case name == "systemctl", name == "loginctl":
			if wraps(words[:i]) && slices.ContainsFunc(behind, func(w word) bool { return ends[w.text] }) {
				r.disaster(name + " ends the machine")
			}
		default:
			continue
		}
		seen[name] = true
	}
}

// wraps reports whether a command may begin after these words: they are none, or
// a wrapper with options and what may be their values. So `xargs grep shutdown`
// ends no machine.
func wraps(words []word) bool {
	if len(words) > 0 && filepath.Base(words[0].text) == "find" {
		runs := slices.IndexFunc(words, func(w word) bool { return findRuns[w.text] })
		if runs < 0 {
			return false
		}
		words = words[runs+1:]
	} else if len(words) > 0 && !wrappers[filepath.Base(words[0].text)] {
		return false
	}
	option := false
	for _, w := range words {
		plain := w.text != "" && !strings.Contains(w.text, "=") && (w.text[0] < '0' || w.text[0] > '9')
		switch {
		case wrappers[filepath.Base(w.text)]:
			option = false
		case strings.HasPrefix(w.text, "-"):
			option = true
		case plain && !option:
			return false
		default:
			option = false
		}
	}
	return true
}

// isDevice reports whether a path is a device on which writing destroys something.
func isDevice(path string) bool {
	path = filepath.Clean(path)
	return strings.HasPrefix(path, "/dev/") && !streams[path] && !strings.HasPrefix(path, "/dev/fd/")
}

// removes looks at what rm would remove.
//
// Without a recursive option rm deletes no folder with something in it, so nothing is
// looked at then.
// Abbreviations of --recursive count, and what may become an option does too.
func (r *reader) removes(words []word) {
	recursive, options := false, true
	for _, w := range words {
		switch {
		case options && w.text == "--":
			options = false
		case options && strings.HasPrefix(w.text, "--"):
			recursive = recursive || (len(w.text) > 2 && strings.HasPrefix("--recursive", w.text))
		case options && strings.HasPrefix(w.text, "-"):
			recursive = recursive || strings.ContainsAny(w.text, "rR")
		case strings.HasPrefix(w.text, Unknown):
			recursive = true // it may be an option
		}
	}
	if !recursive {
		return
	}
	for _, w := range words {
		if r.holdsAll(w) {
			r.disaster("deletes " + tool.Name(w.source) + " and everything below")
		}
	}
}

// findDeletes looks at where find would delete.
// Only the words before the first option are folders of find. A word that is known only
// when it runs is not judged: the wall is what keeps such a command.
func (r *reader) findDeletes(words []word) {
	runs, deletes := false, false
	for _, w := range words {
		runs = runs || findRuns[w.text]
		deletes = deletes || w.text == "-delete" || (runs && filepath.Base(w.text) == "rm")
	}
	if !deletes {
		return
	}
	for _, w := range words {
		if strings.HasPrefix(w.text, "-") && len(w.text) > len("-L") {
			break // its folders come first
		}
		if !w.computed && !w.glob && r.above(filepath.Clean(w.text)) {
			r.disaster("find deletes everything below " + tool.Name(w.source))
		}
	}
}

// holdsAll reports whether a word is ., .., the root, the home, a folder of the
// workspace or one above these, or all that is in the root or the home.
// A relative path counts from the call's folder. TestSEC41TheShortList has the cases.
func (r *reader) holdsAll(w word) bool {
	path := w.text
	if w.computed || path == "" {
		return false
	}
	if w.glob {
		if path = strings.TrimRight(path, "*"); path == "" || path[len(path)-1] != '/' ||
			strings.ContainsAny(path, "*?[") {
			return false
		}
		return filepath.IsAbs(path) && r.above(filepath.Clean(path))
	}
	path = filepath.Clean(path)
	if strings.Trim(path, "./") == "" {
		return true // ., .., ../.. and /
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Dir, path)
	}
	return r.above(path) || slices.ContainsFunc(r.Folders, func(folder string) bool {
		return tool.Within(path,
			folder)
	})
}

// above reports whether an absolute path is the root, the home, or above it.
func (r *reader) above(path string) bool {
	return path == "/" || (r.Home != "" && filepath.IsAbs(path) && tool.Within(path, r.Home))
}
