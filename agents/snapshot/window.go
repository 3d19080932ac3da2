package snapshot

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/git"
)

// Mode is what kind of file something is.
type Mode string

// The modes; "" = there is no file.
const (
	None       Mode = ""
	File       Mode = "file"
	Executable Mode = "executable"
	Link       Mode = "link" // symbolic; its content is where it leads
)

// Side is a file before or after a command.
type Side struct {
	Mode Mode
	// The content; nil where there is no file, where it is lost, and where Digest is set.
	Data []byte
	// Digest is set instead of Data where somebody said what they had written
	// ([Store.Wrote]): the hex SHA-256 of what the command found.
	Digest string
}

// Change is what a command did to one file.
type Change struct {
	Path          string // absolute
	Before, After Side
	// Lost says why the contents are not known, for people: nothing can be undone. "" =
	// they are known.
	Lost string
}

// Window is the time of one command. Make it with [Store.Begin], and end it. It serves
// one goroutine. One that is not ended keeps its references until they are old.
type Window struct {
	store *Store
	parts []*window
}

// window is one folder's part of a Window.
type window struct {
	f      *folder
	id     string
	before *view
}

// Begin looks at folders before a command whose id, unique for a person, says whose
// changes they are if the daemon does not live to end it ([Store.Recover]). What a
// command can destroy from here on is on stable storage. The error says for
// people why a folder cannot be looked at; nothing is begun then. It takes as long as a
// look. Folders that lie in others are looked at with these.
func (s *Store) Begin(ctx context.Context, folders []string, id string) (*Window, error) {
	w := &Window{store: s}
	for _, path := range outermost(folders) {
		f, err := s.folder(ctx, path)
		if err == nil {
			err = w.begin(ctx, f, id)
		}
		if err != nil {
			w.drop()
			return nil, err
		}
	}
	return w, nil
}

// outermost leaves out folders that lie in others.
func outermost(folders []string) []string {
	var out []string
	for i, path := range folders {
		inside := slices.ContainsFunc(folders, func(other string) bool { return other != path && within(other, path) })
		if !inside && !slices.Contains(folders[:i], path) {
			out = append(out, path)
		}
	}
	return out
}

// begin looks at one folder and notes it as a part of the window.
//
// It holds the folder's lock, and that of its repository against other daemons. The first
// window of a folder takes what lies there now for known.
func (w *Window) begin(ctx context.Context, f *folder, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.withLock(ctx, func() error {
		v, err := f.look(ctx)
		if err != nil {
			return err
		}
		if len(f.windows) == 0 { // what changed before was a person, or what nobody asks about
			f.told, f.wrote = v.tree, make(map[string]string)
		}
		part := &window{f, id, v}
		if err := f.pend(part); err != nil {
			return fault.New(fault.Unavailable, "snapshot.begin", "what lies in %s cannot be noted: %w", f.path, err)
		}
		f.windows[part] = true
		w.parts = append(w.parts, part)
		return nil
	})
}

// drop forgets a window of which nothing was made.
func (w *Window) drop() {
	for _, part := range w.parts {
		part.f.mu.Lock()
		part.close()
		part.f.mu.Unlock()
	}
	w.parts = nil
}

// close forgets a part that was told. f.mu is held.
func (part *window) close() {
	delete(part.f.windows, part)
	_ = os.Remove(part.f.pending(part.id)) // else it is taken away when it is old
}

// pending is the file of the reference that keeps the tree of a window.
func (f *folder) pending(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(f.dir, "refs", "pending", hex.EncodeToString(sum[:16]))
}

// pend writes down from which tree on changes were not told, for the case that the
// daemon ends. A reference of git is a file with an id, so writing one is enough.
func (f *folder) pend(part *window) error {
	return os.WriteFile(f.pending(part.id), []byte(f.told+"\n"), 0o600)
}

// Wrote says that somebody else than a command wrote a file that now has the hex
// SHA-256 digest, "" for none: it is not told as a command's. It is called right after
// the write, by whoever writes for the agent or the editor, and waits for a look that
// goes on. Without an open window it does nothing.
func (s *Store) Wrote(path, digest string) {
	s.mu.Lock()
	folders := slices.Collect(maps.Values(s.folders))
	s.mu.Unlock()
	for _, f := range folders {
		if within(f.path, path) {
			f.mu.Lock()
			if len(f.windows) > 0 {
				f.wrote[f.relative(path)] = digest
			}
			f.mu.Unlock()
		}
	}
}

// End looks again, calls each for what changed and nobody was told yet, by path,
// and closes the window. notes are for people: what cannot be undone. The error
// says why it is not known what changed. It is called in any case, once, also when the
// command was cancelled, then with a context that still lives. each is called on this
// goroutine while the folder is locked: it must not call the store. What is told of
// several folders is told as far as it goes; errors are joined.
func (w *Window) End(ctx context.Context, each func(Change)) (notes []string, err error) {
	for _, part := range w.parts {
		more, e := part.end(ctx, each)
		notes, err = append(notes, more...), errors.Join(err, e)
	}
	w.parts = nil
	return notes, err
}

// end looks at one folder again and tells what changed.
//
// What is told is the difference to what was told last, so changes of windows that overlap
// are told once. After an error the next window that ends, or Recover, tells it.
func (part *window) end(ctx context.Context, each func(Change)) (notes []string, err error) {
	f := part.f
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.withLock(ctx, func() error {
		v, err := f.look(ctx)
		if err != nil {
			return err
		}
		if err := f.tell(ctx, f.told, part.before, v, each); err != nil {
			return err
		}
		f.told, f.wrote = v.tree, make(map[string]string)
		notes = part.notes(v)
		f.collect(ctx)
		return nil
	})
	if err == nil {
		part.close()
		for other := range f.windows {
			_ = f.pend(other) // else a change is told twice, after a crash
		}
	} else {
		delete(f.windows, part) // its reference stays: the next one that ends, or Recover, tells it
	}
	return notes, err
}

// notes is what a person should know about what is not undone.
//
// They are for people and say what an undo will not bring back.
func (part *window) notes(now *view) []string {
	var notes []string
	for _, path := range slices.Sorted(maps.Keys(part.before.large)) {
		if was, is := part.before.large[path], now.large[path]; was != is {
			notes = append(notes, fmt.Sprintf("%s changed; it has more than %d MiB, so it was not kept and cannot be undone", path, part.f.store.Limits.File>>20))
		}
	}
	if was, is := part.before.head, now.head; was != is && was != "" && is != "" {
		notes = append(notes, fmt.Sprintf("git went from commit %s to %s: undoing brings files back, not commits (git reset --soft %s does)", was[:12], is[:12], was[:12]))
	}
	if len(now.nested) > 0 {
		slices.Sort(now.nested)
		shown := now.nested[:min(len(now.nested), 3)]
		more := ""
		if len(shown) < len(now.nested) {
			more = fmt.Sprintf(" and %d more", len(now.nested)-len(shown))
		}
		notes = append(notes, fmt.Sprintf("what commands do in repositories of their own is not kept: %s%s",
			strings.Join(shown, ", "), more))
	}
	return notes
}

// entry is a file that two trees have otherwise. As git diff-tree --raw prints it.
type entry struct {
	path        string
	modes, shas [2]string // before and after
}

// tell calls each for what differs between a tree and what a look saw. before is nil
// where it is not known any more. Contents are read in one batch, and are lost beyond
// Limits.Command.
func (f *folder) tell(ctx context.Context, from string, before, now *view, each func(Change)) error {
	if from == now.tree {
		return nil
	}
	entries, err := f.differences(ctx, from, now.tree)
	if err != nil || len(entries) == 0 {
		return err
	}
	left := f.store.Limits.Command
	return f.contents(ctx, entries, func(e *entry, sizes [2]int64, read func() ([2][]byte, error)) error {
		c := Change{Path: f.name(e.path), Before: Side{Mode: mode(e.modes[0])}, After: Side{Mode: mode(e.modes[1])}}
		switch large := f.store.Limits.File >> 20; {
		case before != nil && before.large[e.path] != (largeFile{}) && c.Before.Mode == None:
			c.Before.Mode, c.Lost = File, fmt.Sprintf("it had more than %d MiB before", large)
		case now.large[e.path] != (largeFile{}) && c.After.Mode == None:
			c.After.Mode, c.Lost = File, fmt.Sprintf("it has more than %d MiB now", large)
		case sizes[0]+sizes[1] > left:
			c.Lost = fmt.Sprintf("the command changed more than %d MiB", f.store.Limits.Command>>20)
		}
		data, err := read()
		if err != nil {
			return err
		}
		if c.Lost == "" {
			left -= sizes[0] + sizes[1]
			c.Before.Data, c.After.Data = data[0], data[1]
			if skip := f.subtract(e.path, &c); skip {
				return nil
			}
		}
		each(c)
		return nil
	})
}

// subtract takes out of a change what others wrote. skip is whether nothing is left.
// Where the file is as they wrote it nothing is; else the command began from what they
// wrote.
func (f *folder) subtract(path string, c *Change) (skip bool) {
	wrote, ok := f.wrote[path]
	if !ok {
		return false
	}
	now := ""
	if c.After.Mode != None {
		sum := sha256.Sum256(c.After.Data)
		now = hex.EncodeToString(sum[:])
	}
	if now == wrote {
		return true
	}
	c.Before.Data, c.Before.Digest = nil, wrote
	if wrote == "" {
		c.Before = Side{}
	} else if c.Before.Mode == None {
		c.Before.Mode = File
	}
	return false
}

// mode is the kind of file that git's mode stands for; None for anything else, as a submodule.
func mode(octal string) Mode {
	switch octal {
	case "100644":
		return File
	case "100755":
		return Executable
	case "120000":
		return Link
	}
	return None
}

// differences returns what two trees have otherwise, by path.
//
// They are sorted by path. Renames are a removal and an addition.
func (f *folder) differences(ctx context.Context, from, to string) ([]*entry, error) {
	var entries []*entry
	var head []string
	err := f.list(ctx, git.Command{Args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from,
		to}}, func(text string) error {
		if head == nil { // :100644 100755 SHA SHA M
			if head = strings.Fields(strings.TrimPrefix(text, ":")); len(head) != 5 {
				return fault.New(fault.Internal, "snapshot.differences", "git says %q", text)
			}
			return nil
		}
		entries = append(entries, &entry{path: text, modes: [2]string{head[0], head[1]},
			shas: [2]string{head[2], head[3]}})
		head = nil
		return nil
	})
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return entries, err
}

// contents calls each for entries with the sizes of their contents, and with what
// reads these; it is to be called once. Objects come in the order in which they were
// asked for, so each must call read, in its turn.
func (f *folder) contents(ctx context.Context, entries []*entry,
	each func(e *entry, sizes [2]int64, read func() ([2][]byte, error)) error) error {
	var shas []string
	for _, e := range entries {
		for side, sha := range e.shas {
			if mode(e.modes[side]) != None {
				shas = append(shas, sha)
			}
		}
	}
	input := []byte(strings.Join(shas, "\n") + "\n")
	sizes, err := f.sizes(ctx, input)
	if err != nil {
		return err
	}
	_, err = f.git(ctx, git.Command{Args: []string{"cat-file", "--batch"}, Input: input,
		Output: func(r io.Reader) error {
			in := bufio.NewReaderSize(r, 1<<16)
			for _, e := range entries {
				var size [2]int64
				for side, sha := range e.shas {
					size[side] = sizes[sha]
				}
				err := each(e, size, func() (data [2][]byte, err error) {
					for side, sha := range e.shas {
						if mode(e.modes[side]) == None || err != nil {
							continue
						}
						data[side], err = object(in, sha, sizes[sha])
					}
					return data, err
				})
				if err != nil {
					return err
				}
			}
			return nil
		}})
	return err
}

// object reads one object of a batch. It must be the next one.
func object(in *bufio.Reader, sha string, size int64) ([]byte, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(head, sha+" blob ") {
		return nil, fault.New(fault.Unavailable, "snapshot.object", "the content %s is not kept: %s", sha,
			strings.TrimSpace(head))
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, err
	}
	return data[:size], nil
}

// sizes returns how large contents are.
func (f *folder) sizes(ctx context.Context, input []byte) (map[string]int64, error) {
	out, err := f.git(ctx, git.Command{Args: []string{"cat-file",
		"--batch-check=%(objectname) %(objectsize)"}, Input: input})
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64)
	for line := range strings.Lines(string(out)) {
		sha, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return nil, fault.New(fault.Unavailable, "snapshot.sizes", "the content %s is not kept", sha)
		}
		sizes[sha] = n
	}
	return sizes, nil
}

// collect lets git take away what nobody needs any more, when there is much of it. The
// folder 17 stands for all 256, as in git's own gc --auto.
func (f *folder) collect(ctx context.Context) {
	entries, err := os.ReadDir(filepath.Join(f.dir, "objects", "17"))
	if err != nil || len(entries) < tooManyLoose {
		return
	}
	// The folder is as good without it; the next one tries again.
	_, _ = f.git(ctx, git.Command{Args: []string{"gc", "--quiet", "--prune=1.day.ago"}})
}

// tooManyLoose is how many of 256 parts of the loose objects are many, as git
// itself has it.
const tooManyLoose = 6700 / 256

// Recover is [Window.End] for a command that a daemon did not live to end. What
// changed since may be the command's or somebody else's. Nothing happens where
// there is no such command. The error joins those of all folders; what was told is not
// told again, and what failed is tried again the next time.
func (s *Store) Recover(ctx context.Context, folders []string, id string, each func(Change)) error {
	var failed error
	for _, path := range outermost(folders) {
		f, err := s.folder(ctx, path)
		if err != nil {
			continue // then nothing was kept either
		}
		f.mu.Lock()
		from, err := os.ReadFile(f.pending(id))
		if err == nil {
			err = f.withLock(ctx, func() error {
				v, err := f.look(ctx)
				if err != nil {
					return err
				}
				if err := f.tell(ctx, strings.TrimSpace(string(from)), nil, v, each); err != nil {
					return err
				}
				return os.Remove(f.pending(id))
			})
			failed = errors.Join(failed, err)
		}
		f.mu.Unlock()
	}
	return failed
}
