package workspace

// Memory files: the instructions that a person and a project keep for every agent
// (spec 6.2).

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// The bounds of memory files. What goes beyond is left out, and named.
const (
	maxMemoryFile  = 64 << 10  // bytes of one file, and of one import
	maxMemoryText  = 192 << 10 // bytes of all together
	maxMemoryFiles = 64        // files and imports
	maxMemoryDepth = 5         // imports of imports
)

// MemoryNames are the names of memory files, in the order in which a folder's are
// read; a folder that has one of the first two is not asked for the last. Do not
// change it.
var MemoryNames = []string{"GEMINI.md", "AGENTS.md", "CLAUDE.md"}

// MemoryQuery says whose memory files are wanted.
// Paths are absolute.
type MemoryQuery struct {
	Home    string                   // the person's ~/.gemini; "" = none
	Person  string                   // the person's home folder, canonical: no folder above it is looked at
	Folder  string                   // the workspace folder of the run, canonical; "" = none
	File    string                   // the file at hand; "" = none
	Trusted func(folder string) bool // instructions of any other folder are not taken
	Bundles []MemoryBundle           // whose instructions come first
	Data    string                   // the heading of a section that is data and imports nothing: what agents noted; "" = none
	// Refused returns why a file that says text may not be taken, "" if it may: it
	// holds credentials, or a rule denies it.
	Refused func(path, text string) string
}

// MemoryBundle is an extension that the person approved, with its instructions.
type MemoryBundle struct {
	Name  string
	Dir   string
	Files []string // relative to Dir, in order
}

// Memory is what memory files say, outermost folder first.
type Memory struct {
	Files   []MemoryFile
	LeftOut []MemoryLeftOut // files that are there and are not taken, and imports that fail
}

// MemoryFile is one file with its imports in place.
type MemoryFile struct {
	Path    string // absolute, as it was found
	Global  bool   // the person's own, for all projects
	Text    string
	Imports []string // absolute
	Bundle  string   // the extension that it comes with; "" = none
}

// MemoryLeftOut is a file that was not taken.
type MemoryLeftOut struct{ Path, Why string }

// ReadMemory reads the memory files that hold for a run: the person's own, then those
// of each folder from the person's home down to the workspace folder, and on to the
// folder of the file at hand. It reads what is on disk, and only what a trusted folder
// holds; no link and no import leads out of that folder. Each file is taken once.
// It never fails: what cannot be read, or may not be taken, is in LeftOut with the
// reason. The caller owns the result. ctx ends the reading of files, which are then
// left out.
func ReadMemory(ctx context.Context, q MemoryQuery) Memory {
	r := &memoryReader{ctx: ctx, q: q, taken: make(map[string]bool)}
	for _, b := range q.Bundles {
		r.bundle(b)
	}
	if q.Home != "" {
		r.folder(q.Home, true)
	}
	for _, dir := range q.folders() {
		// ~/.gemini may itself lie on the way; its files were taken above.
		if dir != q.Home {
			r.folder(dir, false)
		}
	}
	return r.memory
}

// folders returns the folders whose files may hold, outermost first.
// Above the workspace folder only those within the person's folder count, below it
// those on the way to the file that it is about.
func (q MemoryQuery) folders() []string {
	if q.Folder == "" {
		return nil
	}
	var list []string
	if rel, ok := Below(q.Person, q.Folder); ok && q.Person != "" && rel != "." {
		for dir := filepath.Dir(q.Folder); ; dir = filepath.Dir(dir) {
			list = append(list, dir)
			if dir == q.Person {
				break
			}
		}
		slices.Reverse(list)
	}
	list = append(list, q.Folder)
	rel, ok := Below(q.Folder, filepath.Dir(q.File))
	if q.File == "" || !ok || rel == "." {
		return list
	}
	dir := q.Folder
	for _, element := range strings.Split(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, element)
		list = append(list, dir)
	}
	return list
}

// memoryReader collects memory files.
type memoryReader struct {
	ctx    context.Context
	q      MemoryQuery
	memory Memory
	taken  map[string]bool // absolute paths, links resolved
	size   int
}

// folder takes the memory files of one folder.
// Nothing fails the whole: a file that is not taken is among those left out, with why.
func (r *memoryReader) folder(dir string, global bool) {
	names := r.names(dir)
	if len(names) == 0 {
		return
	}
	if !global && !r.q.Trusted(dir) {
		for _, name := range names {
			r.leaveOut(filepath.Join(dir, name), "its folder is not trusted")
		}
		return
	}
	// Which folder the disk is of decides what an import can reach.
	root, within := dir, "." // imports stay in the workspace folder, in one above it beside the file
	if rel, ok := Below(r.q.Folder, dir); ok && !global {
		root, within = r.q.Folder, rel
	}
	for _, name := range names {
		at, base := root, filepath.Join(within, name)
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, name)); global && err == nil {
			at, base = filepath.Split(real) // the person keeps their configuration elsewhere
		}
		disk, err := OpenDisk(at)
		if err != nil {
			r.leaveOut(filepath.Join(dir, name), fault.Message(err))
			continue
		}
		file := MemoryFile{Path: filepath.Join(dir, name), Global: global}
		if text, ok := r.read(disk, base, file.Path, 0, &file); ok && strings.TrimSpace(text) != "" {
			file.Text = text
			r.memory.Files = append(r.memory.Files, file)
		}
		_ = disk.Close()
	}
}

// bundle takes the instructions of an extension.
func (r *memoryReader) bundle(b MemoryBundle) {
	disk, err := OpenDisk(b.Dir)
	if err != nil {
		r.leaveOut(b.Dir, fault.Message(err))
		return
	}
	defer disk.Close()
	for _, name := range b.Files {
		file := MemoryFile{Path: filepath.Join(b.Dir, name), Global: true, Bundle: b.Name}
		if text, ok := r.read(disk, name, file.Path, 0, &file); ok && strings.TrimSpace(text) != "" {
			file.Text = text
			r.memory.Files = append(r.memory.Files, file)
		}
	}
}

// names returns the memory files that a folder has.
func (r *memoryReader) names(dir string) []string {
	disk, err := OpenDisk(dir)
	if err != nil {
		return nil
	}
	defer disk.Close()
	return memoryNames(disk)
}

// memoryNames returns the memory files beneath a disk, by [MemoryNames].
func memoryNames(disk *Disk) []string {
	var names []string
	for _, name := range MemoryNames {
		if _, err := disk.root.Lstat(name); err == nil && (name != "CLAUDE.md" || len(names) == 0) {
			names = append(names, name)
		}
	}
	return names
}

// read returns the text of a file beneath a disk, with its imports in place; false
// for one that is left out, or was taken before. called is the path as it was written.
// depth is 0 for a memory file, and one more for each import on the way. into says whose
// the file is and collects its imports.
func (r *memoryReader) read(disk *Disk, name, called string, depth int, into *MemoryFile) (string, bool) {
	f, err := disk.Read(r.ctx, name, maxMemoryFile)
	if err != nil {
		r.leaveOut(called, cmp.Or(largeMemory(err), fault.Message(err)))
		return "", false
	}
	path := filepath.Join(disk.Path(), f.Name)
	// Compare resolved paths: a file counts once, whatever name leads to it.
	if r.taken[path] {
		return "", false
	}
	text, err := f.Text()
	if err != nil {
		r.leaveOut(called, "it is not text")
		return "", false
	}
	switch why := r.whyRefused(path, text.Text, into.Global); {
	case why != "":
		r.leaveOut(called, why)
		return "", false
	case len(r.taken) == maxMemoryFiles || r.size+len(text.Text) > maxMemoryText:
		r.leaveOut(called, fmt.Sprintf("the memory files before it are %d already, or together with it larger than %d KiB", len(r.taken), maxMemoryText>>10))
		return "", false
	}
	r.taken[path] = true
	r.size += len(text.Text)
	if into.Bundle != "" {
		return text.Text, true // what it would import is not what the person approved
	}
	return r.withImports(disk, f.Name, text.Text, depth, into), true
}

// whyRefused returns why a file is not taken, whatever name led to it.
func (r *memoryReader) whyRefused(path, text string, global bool) string {
	switch {
	case !global && !r.q.Trusted(filepath.Dir(path)):
		return "its folder is not trusted"
	case r.q.Refused != nil:
		return r.q.Refused(path, text)
	}
	return ""
}

// largeMemory says what to do with a file that is too large; "" for any other error.
func largeMemory(err error) string {
	// fault.Invalid alone is not specific enough, so match sortRead's words.
	if fault.KindOf(err) == fault.Invalid && strings.Contains(err.Error(), "is larger than") {
		return fmt.Sprintf("it is larger than %d KiB; move parts of it to files that agents read when they need them",
			maxMemoryFile>>10)
	}
	return ""
}

// importing is what may be an import: @path after the beginning of a line or a blank.
var (
	importing  = regexp.MustCompile("(?:^|[ \t(])@([^\\s`@()<>\"']+)")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
)

// withImports returns a text with the files that it imports, each behind the line that
// names it. What stands in code is no import, and what agents noted is none either.
func (r *memoryReader) withImports(disk *Disk, name, text string, depth int, into *MemoryFile) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	fence := "" // of the block of code that a line is in
	data := false
	for line := range strings.Lines(text) {
		b.WriteString(line)
		// The next heading of the first or second level ends the section.
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ") {
			data = strings.TrimSpace(line) == r.q.Data
		}
		mark := strings.TrimSpace(line)
		switch mark = mark[:min(3, len(mark))]; {
		case fence == mark:
			fence = ""
		case fence != "":
		case mark == "```" || mark == "~~~":
			fence = mark
		case data:
		default:
			// A backtick stays in the place of code, so that an @ right behind it begins no import.
			for _, m := range importing.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, "`"), -1) {
				r.take(disk, name, strings.TrimRight(m[1], ".,;:!?"), depth, into, &b)
			}
		}
	}
	return b.String()
}

// take adds an imported file to b. A path at which there is nothing is a word, unless
// it reads like a file.
// Imports stay in the folder that disk is of, and lead maxMemoryDepth files deep, so
// that a circle ends. The text stands between lines that name the file.
func (r *memoryReader) take(disk *Disk, from, path string, depth int, into *MemoryFile, b *strings.Builder) {
	name := path
	if !filepath.IsAbs(path) {
		name = filepath.Join(filepath.Dir(from), path)
	}
	called := filepath.Join(disk.Path(), filepath.Dir(from), path)
	if filepath.IsAbs(path) {
		called = path
	}
	meant := strings.HasPrefix(path, ".") || strings.HasPrefix(path, "/") || strings.HasSuffix(path, ".md")
	rel, err := disk.Resolve(name)
	info, missing := disk.root.Stat(rel)
	switch {
	case err != nil && meant:
		r.leaveOut(called, fmt.Sprintf("%s imports it, and it lies outside of %s",
			filepath.Join(disk.Path(), from), disk.Path()))
		return
	case err != nil || missing != nil || info.IsDir():
		if err == nil && missing != nil && meant {
			r.leaveOut(called, fmt.Sprintf("%s imports it, and it does not exist", filepath.Join(disk.Path(), from)))
		}
		return
	case depth == maxMemoryDepth:
		r.leaveOut(called, fmt.Sprintf("imports lead %d files deep at most", maxMemoryDepth))
		return
	}
	real := filepath.Join(disk.Path(), rel)
	if text, ok := r.read(disk, rel, real, depth+1, into); ok {
		into.Imports = append(into.Imports, real)
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "[%s]\n%s\n[end of %[1]s]\n", filepath.ToSlash(rel), strings.TrimSpace(text))
	}
}

// leaveOut notes a file that is not taken.
func (r *memoryReader) leaveOut(path, why string) {
	r.memory.LeftOut = append(r.memory.LeftOut, MemoryLeftOut{path, why})
}
