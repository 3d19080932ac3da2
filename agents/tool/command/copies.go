package command

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// archivers write the files that an archive names.
var archivers = set("tar bsdtar unzip cpio ar 7z 7za 7zr unrar")

// The limits of what is read of trees, archives and patches: what is longer is
// not known, and asks each time.
const (
	maxCopied  = 2000     // entries of a tree
	maxMembers = 5000     // files of an archive
	maxArchive = 64 << 20 // bytes of it, unpacked
	maxPatch   = 4 << 20  // bytes
)

// copies judges cp, mv, ln and install: where they write, file by file
// (SEC-67), and many at once (SEC-41).
func (j *judge) copies(name string, words []word) {
	j.raise(tool.Medium, "runs %s", name)
	if name == "ln" || name == "install" {
		j.raise(tool.High, "%s makes files that are more than text", name)
	}
	var into *word
	recursive := name == "mv"
	for i, w := range words {
		if i == 0 || !strings.HasPrefix(w.text, "-") || w.text == "-" || w.text == "--" {
			continue
		}
		j.raise(tool.High, "%s with flags", name)
		recursive = recursive || flagged(w, "r", "--recursive", true) || flagged(w, "a", "--archive", false)
		long, value, valued := strings.Cut(w.text, "=")
		switch {
		case valued && strings.HasPrefix("--target-directory", long):
			into = &word{text: value, source: w.source}
		case valued:
			j.path(word{text: value, source: w.source}, forWriting)
		case i+1 < len(words) && (strings.HasPrefix(w.text, "--t") || !strings.HasPrefix(w.text, "--") && strings.HasSuffix(w.text, "t")):
			into = &words[i+1]
		case !strings.HasPrefix(w.text, "--"):
			if _, rest, ok := strings.Cut(w.text, "t"); ok {
				into = &word{text: rest, source: w.source}
			}
		}
	}
	operands := operandsOf(words)
	if name == "mv" {
		for _, w := range operands {
			if w.glob {
				j.counted("moves", w, false)
				j.raise(tool.Protected, "moves many files at once (%s)", tool.Escape(w.source))
			}
		}
	}
	if len(operands) == 0 {
		return
	}
	target, sources := operands[len(operands)-1], operands[:len(operands)-1]
	if into != nil {
		target, sources = *into, operands
	}
	j.path(target, forWriting)
	for _, source := range sources {
		j.copied(name, source, target, recursive)
	}
}

// copied judges one source, and all below it, at the place that it would get.
func (j *judge) copied(name string, source, target word, recursive bool) {
	reading := forReading
	if name == "mv" {
		reading = forWriting
	}
	j.path(source, reading)
	all := []string{source.text}
	if source.glob {
		whole := false
		if all, whole = j.matched(source.text); !whole {
			j.raise(tool.Protected, "copies more files than can be shown (%s)", tool.Escape(source.source))
		}
	}
	for _, one := range all {
		to := filepath.Join(target.text, filepath.Base(one))
		if strings.HasSuffix(one, "/.") || one == "." {
			to = target.text
		}
		j.path(word{text: to, source: target.source + "/…"}, forWriting)
		if !recursive || source.computed || target.computed {
			continue
		}
		seen, spend := 0, j.spend
		if abs := j.abs(one); !j.walked[abs] {
			j.walked[abs], spend = true, j.spare
		}
		// What cannot be read is not copied either.
		_ = filepath.WalkDir(j.abs(one), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if seen++; seen > maxCopied || !spend(1) {
				j.raise(tool.Protected, "copies more files than can be checked (%s)", tool.Escape(source.source))
				return filepath.SkipAll
			}
			rel, err := filepath.Rel(j.abs(one), path)
			if err != nil || rel == "." {
				return nil
			}
			if tool.IsCredential(path) {
				j.raise(tool.Catastrophic, "%s holds credentials", j.shown(path))
			}
			for _, at := range []string{filepath.Join(to, rel), filepath.Join(target.text, rel)} {
				j.path(word{text: at, source: j.shown(j.abs(at))}, forWriting)
			}
			return nil
		})
	}
}

// unpack judges what an archive would write.
func (j *judge) unpack(name string, words []word) {
	if !unpacks(name, words) {
		return
	}
	archive, into := "", "."
	for i, w := range words[1:] {
		next := ""
		if i+2 < len(words) {
			next = words[i+2].text
		}
		switch t := w.text; {
		case t == "-C", t == "-d", t == "--directory":
			into = next
		case strings.HasPrefix(t, "--directory="):
			into = strings.TrimPrefix(t, "--directory=")
		case strings.HasPrefix(t, "-C"):
			into = t[2:]
		case strings.HasPrefix(t, "--file="):
			archive = strings.TrimPrefix(t, "--file=")
		case t == "--file", (i == 0 || strings.HasPrefix(t, "-")) && !strings.HasPrefix(t, "--") && strings.HasSuffix(t, "f") && name != "unzip":
			archive = next
		case name == "unzip" && archive == "" && !strings.HasPrefix(t, "-"):
			archive = t
		}
	}
	if archive != "" && j.hidden(maxShort) {
		return
	}
	inside := j.contents(j.abs(archive))
	if archive == "" || !inside.known {
		j.raise(tool.Protected, "cannot be analysed: what it unpacks is not known")
		return
	}
	for _, m := range inside.members {
		if !j.spend(1) {
			break
		}
		j.path(word{text: filepath.Join(into, m), source: m}, forWriting)
	}
	j.note("%s unpacks %s into %s", j.shown(j.abs(archive)), tool.Count(len(inside.members), "entry", "entries"), j.shown(j.abs(into)))
}

// contents is what is in an archive, if that is known.
type contents struct {
	members []string
	known   bool
}

// contents returns what is in an archive, which it reads once, as far as there is
// effort left for it.
func (j *judge) contents(path string) contents {
	if c, known := j.unpacked[path]; known {
		return c
	}
	if !j.spend(1000) {
		return contents{}
	}
	members, read, err := membersOf(path, min(maxArchive, int64(maxEffort-j.effort)<<10))
	j.pay(int(read >> 10))
	c := contents{members, err == nil}
	j.unpacked[path] = c
	return c
}

// unpacks reports whether an archiver writes files: not where it only makes or
// lists an archive.
func unpacks(name string, words []word) bool {
	if name != "tar" && name != "bsdtar" {
		return true
	}
	for i, w := range words[1:] {
		t := w.text
		switch {
		case strings.HasPrefix(t, "--"):
			if strings.HasPrefix("--extract", t) || strings.HasPrefix("--get", t) {
				return true
			}
		case strings.HasPrefix(t, "-") || i == 0:
			if strings.Contains(t, "x") {
				return true
			}
		}
	}
	return false
}

// membersOf returns the names in a tar (plain, gzip or bzip2) or zip file of at
// most so many bytes, unpacked, and how many of them it read.
func membersOf(path string, most int64) (names []string, read int64, err error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, 0, errors.New("no regular file, or too large")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if z, err := zip.NewReader(f, info.Size()); err == nil {
		for _, m := range z.File {
			if names = append(names, m.Name); len(names) > maxMembers {
				return nil, info.Size(), errors.New("too many entries")
			}
		}
		return names, info.Size(), nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	in := bufio.NewReader(f)
	var from io.Reader = in
	switch head, _ := in.Peek(3); {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if from, err = gzip.NewReader(in); err != nil {
			return nil, 0, err
		}
	case bytes.HasPrefix(head, []byte("BZh")):
		from = bzip2.NewReader(in)
	}
	limited := &io.LimitedReader{R: from, N: most}
	defer func() { read = most - limited.N }()
	archive := tar.NewReader(limited)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return names, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		names = append(names, header.Name)
		if header.Linkname != "" {
			names = append(names, header.Linkname)
		}
		if len(names) > maxMembers {
			return nil, 0, errors.New("too many entries")
		}
	}
}

// patched judges the files that patches would write; what they are given by is
// not known, so each operand that is a file is read as one.
func (j *judge) patched(words []word) {
	if j.hidden(maxShort) {
		return
	}
	known := false
	for _, w := range words {
		for _, piece := range pieces(w.text) {
			if !j.spare(1) {
				return
			}
			info, err := os.Stat(j.abs(piece))
			if err != nil || !info.Mode().IsRegular() || info.Size() > maxPatch {
				continue
			}
			known = true
			if read := 1 + int(info.Size()>>6); j.hidden(read) || !j.spend(read) {
				return
			}
			data, err := readSome(j.abs(piece), maxPatch)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(data)) {
				name := ""
				for _, prefix := range []string{"+++ ", "--- ", "rename to ", "rename from ", "copy to "} {
					if rest, ok := strings.CutPrefix(line, prefix); ok {
						name, _, _ = strings.Cut(strings.TrimSpace(rest), "\t")
					}
				}
				if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
					_, name, _ = strings.Cut(strings.TrimSpace(rest), " ")
				}
				name = strings.Trim(name, `"`)
				if name == "" || name == "/dev/null" {
					continue
				}
				if _, rest, ok := strings.Cut(name, "/"); ok { // a/ and b/ of git
					j.path(word{text: rest, source: name}, forWriting)
				}
				j.path(word{text: name, source: name}, forWriting)
			}
		}
	}
	if !known {
		j.raise(tool.Protected, "cannot be analysed: which files the patch is of is not known")
	}
}

// readSome returns the content of a regular file of at most limit bytes.
func readSome(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errors.New("no regular file, or too large")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
