package command

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

var (
	// disks destroys file systems.
	disks = set(`wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard mkswap mke2fs newfs cryptsetup badblocks hdparm
		lvremove vgremove pvremove zpool`)
	// harmless are devices that a write does nothing to.
	harmless = set("/dev/null /dev/zero /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/full /dev/random /dev/urandom")
	// power ends the machine.
	power = set("shutdown reboot halt poweroff")
)

// disaster raises what is critical by the lists of SEC-41.
func (j *judge) disaster(name string, words []word) {
	switch {
	case disks[name], strings.HasPrefix(name, "mkfs"):
		j.raise(tool.Catastrophic, "%s destroys disks", tool.Escape(name))
	case power[name]:
		j.raise(tool.Catastrophic, "%s ends the machine", name)
	case name == "init", name == "telinit":
		if len(words) > 1 && (words[1].text == "0" || words[1].text == "6") {
			j.raise(tool.Catastrophic, "%s %s ends the machine", name, words[1].text)
		}
	case name == "systemctl", name == "loginctl":
		for _, w := range words[1:] {
			if set("poweroff reboot halt kexec suspend hibernate soft-reboot hybrid-sleep")[w.text] {
				j.raise(tool.Catastrophic, "%s %s ends the machine", name, w.text)
			}
		}
	case name == "dd", name == "tee", name == "cp", name == "shred":
		for _, w := range words[1:] {
			if device(strings.TrimPrefix(w.text, "of=")) {
				j.raise(tool.Catastrophic, "writes to the device %s", tool.Name(w.text))
			}
		}
	case name == "rm", name == "rmdir", name == "unlink":
		j.remove(words)
	case name == "find":
		j.findDelete(words)
	case name == "chmod", name == "chown", name == "chgrp":
		for _, w := range words[1:] {
			if flagged(w, "R", "--recursive", false) {
				j.raise(tool.Protected, "%s for all files below", name)
			}
		}
		for _, w := range operandsOf(words)[min(1, len(operandsOf(words))):] {
			j.counted(name+" changes", w, true)
		}
	case name == "truncate":
		j.raise(tool.Protected, "empties files")
	case name == "crontab", name == "at", name == "batch":
		j.raise(tool.Protected, "%s runs things later", name)
	}
}

// device reports whether path is a device that is no stream.
func device(path string) bool {
	path = filepath.Clean(path)
	if path == "/proc/sysrq-trigger" {
		return true
	}
	if !strings.HasPrefix(path, "/dev/") {
		return false
	}
	return !harmless[path] &&
		!strings.HasPrefix(path, "/dev/fd/") && !strings.HasPrefix(path, "/dev/tcp/") && !strings.HasPrefix(path, "/dev/udp/")
}

// flagged reports whether w holds the short option letter, alone or among
// others, or the long option, also abbreviated; either case of the letter if
// fold.
func flagged(w word, letter, long string, fold bool) bool {
	t := w.text
	if strings.HasPrefix(t, "--") {
		return len(t) > 2 && strings.HasPrefix(long, t)
	}
	if !strings.HasPrefix(t, "-") {
		return false
	}
	if fold {
		return strings.ContainsAny(t, strings.ToLower(letter)+strings.ToUpper(letter))
	}
	return strings.Contains(t, letter)
}

// remove judges rm by what it would remove.
func (j *judge) remove(words []word) {
	recursive, options := false, true
	var targets []word
	for _, w := range words[1:] {
		switch {
		case options && w.text == "--":
			options = false
		case options && strings.HasPrefix(w.text, "-"):
			recursive = recursive || flagged(w, "r", "--recursive", true)
		case w.computed && strings.HasPrefix(w.text, unknown):
			recursive = true // it may be a flag
			targets = append(targets, w)
		default:
			targets = append(targets, w)
		}
	}
	for _, w := range targets {
		j.removed(w, recursive)
	}
}

// removed judges one target of a removal.
func (j *judge) removed(w word, recursive bool) {
	shown := tool.Escape(w.source)
	if w.computed {
		j.raise(tool.Protected, "deletes what is known only when it runs (%s)", shown)
		return
	}
	path := w.text
	all := w.glob && len(path) > 0
	if all {
		// What a pattern matches lies in the folder before it.
		if i := strings.IndexAny(path, "*?["); i >= 0 {
			path = path[:i]
		}
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			path = path[:i+1]
		} else {
			path = "."
		}
	}
	abs := j.abs(path)
	if recursive && !filepath.IsAbs(path) {
		j.removedThere(path, all)
	}
	j.counted("deletes", w, recursive)
	switch {
	case recursive && j.holdsAll(abs, all):
		j.raise(tool.Catastrophic, "deletes %s and everything below", tool.Name(abs))
	case all:
		j.raise(tool.Protected, "deletes many files at once (%s)", shown)
	case recursive && !j.inside(abs):
		j.raise(tool.Protected, "deletes %s, which is outside the workspace, and everything below", tool.Name(abs))
	}
	j.path(word{text: abs, source: w.source}, forWriting)
}

// removedThere judges what a relative path of a recursive removal is in each
// folder that cd goes to. Where these are more than are followed, one of them is
// taken to be the worst.
func (j *judge) removedThere(path string, all bool) {
	if j.moved.lost {
		j.raise(tool.Catastrophic, "deletes %s in one of more folders than can be followed", tool.Name(path))
		return
	}
	key := strconv.FormatBool(all) + path
	if j.moved.removed[key] == j.moved.times {
		return
	}
	j.moved.removed[key] = j.moved.times
	for _, folder := range j.moved.folders {
		if there := filepath.Join(folder, path); j.holdsAll(there, all) {
			j.raise(tool.Catastrophic, "deletes %s and everything below", tool.Name(there))
		}
	}
}

// holdsAll reports whether abs is the root, the home folder, or the folder of
// the workspace or one above it. Of a pattern (within) the workspace's own
// folder does not count: its content is mass change enough.
func (j *judge) holdsAll(abs string, within bool) bool {
	if abs == "/" || j.Env.HomeFolder() != "" && tool.Within(abs, j.Env.HomeFolder()) {
		return true
	}
	for _, folder := range append([]string{j.Env.Folder, j.Dir}, j.Env.Folders...) {
		if folder != "" && tool.Within(abs, folder) && !(within && abs == folder) {
			return true
		}
	}
	return false
}

func (j *judge) inside(abs string) bool {
	_, err := j.resolve(abs)
	return err == nil
}

// findDelete judges find by where it deletes.
func (j *judge) findDelete(words []word) {
	deletes, runs := false, false
	roots := []word{}
	expression := false
	for _, w := range words[1:] {
		switch w.text {
		case "-delete":
			deletes = true
		case "-exec", "-execdir", "-ok", "-okdir":
			runs = true
		case "rm", "shred", "unlink":
			deletes = deletes || runs
		}
		if strings.HasPrefix(w.text, "-") || w.text == "(" || w.text == "!" {
			expression = expression || w.text != "-L" && w.text != "-H" && w.text != "-P"
			continue
		}
		if !expression {
			roots = append(roots, w)
		}
	}
	if !deletes {
		return
	}
	j.raise(tool.Protected, "find deletes what it finds")
	for _, w := range roots {
		j.counted("find deletes some of", w, true)
		if !w.computed && !w.glob {
			if abs := j.abs(w.text); abs == "/" || j.Env.HomeFolder() != "" && tool.Within(abs, j.Env.HomeFolder()) {
				j.raise(tool.Catastrophic, "find deletes everything below %s", tool.Name(abs))
			}
		}
	}
}
