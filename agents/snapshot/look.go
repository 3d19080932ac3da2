package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/git"
)

// view is what a look saw. It is not changed afterwards.
type view struct {
	// the id of git's tree
	tree  string
	large map[string]largeFile // files that are left out since they are too large, by path
	// Their paths from the root of the work tree, with slashes.
	nested []string // repositories inside of the folder
	head   string   // the commit that the project's git is at; "" if that is not known
}

// largeFile is how a file looks that is left out.
type largeFile struct {
	size    int64
	changed time.Time
}

// forced are the files that the project tracks although they are ignored. They are read
// anew when the project's index has changed.
type forced struct {
	index string // how the project's index looked
	paths []string
}

// lookTimeout bounds one git of a look; the first stores the whole folder. Later looks
// store what changed and take a moment.
const lookTimeout = 5 * time.Minute

// look brings the index up to what lies in the folder and returns what it saw. The
// folder's mu and lock are held. Available asks again after a failure, by what is noted
// in looked and why. The steps: what may differ, what of it is stored and what
// forgotten, the index, the tree. Files that change meanwhile are as they were at some
// moment of the look.
func (f *folder) look(ctx context.Context) (v *view, err error) {
	defer func() {
		f.looked, f.why = f.store.Now(), ""
		if err != nil {
			f.tree, f.why = "", fault.Message(err)
		}
	}()
	v = &view{large: make(map[string]largeFile), head: headOf(f.root)}
	found, err := f.candidates(ctx, v)
	if err != nil {
		return nil, err
	}
	adds, removes, err := f.sort(found, v)
	if err != nil {
		return nil, err
	}
	if err := f.update(ctx, adds, removes); err != nil {
		return nil, err
	}
	if n := f.entries(); n > f.store.Limits.Files {
		return nil, f.tooMany()
	}
	index := stamp(filepath.Join(f.dir, "index"))
	if f.tree == "" || index != f.index {
		out, err := f.git(ctx, git.Command{Args: []string{"write-tree"}})
		if err != nil {
			return nil, err
		}
		f.tree, f.index = strings.TrimSpace(string(out)), stamp(filepath.Join(f.dir, "index"))
	}
	v.tree = f.tree
	return v, nil
}

// tooMany is the error of a folder with more files than Limits.Files.
func (f *folder) tooMany() error {
	return fault.New(fault.Unavailable, "snapshot.look", "%s has more than %d files that git does not ignore",
		f.path, f.store.Limits.Files)
}

// git runs a command in the folder's repository, for lookTimeout at most.
func (f *folder) git(ctx context.Context, c git.Command) ([]byte, error) {
	c.Timeout = lookTimeout
	return f.repository.Run(ctx, c)
}

// candidates returns the paths that may differ from the index. Deciding here what git
// need not store keeps a look at an unchanged folder cheap.
func (f *folder) candidates(ctx context.Context, v *view) ([]string, error) {
	found := make(map[string]bool)
	list := func(entry string) error {
		if strings.HasSuffix(entry, "/") {
			v.nested = append(v.nested, strings.TrimSuffix(entry, "/"))
			return nil
		}
		if found[entry] = true; len(found) > f.store.Limits.Files {
			return f.tooMany()
		}
		return nil
	}
	args := []string{"ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"}
	if ignore := filepath.Join(f.path, ".geminiignore"); isFile(ignore) {
		args = append(args, "--exclude-from="+ignore)
	}
	if err := f.list(ctx, git.Command{Args: f.addScope(args)}, list); err != nil {
		return nil, err
	}
	if err := f.findForced(ctx); err != nil {
		return nil, err
	}
	for _, path := range f.forced.paths {
		found[path] = true
	}
	paths := make([]string, 0, len(found))
	for path := range found {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

// addScope adds the part of the work tree that is meant.
func (f *folder) addScope(args []string) []string {
	if f.scope == "" {
		return args
	}
	return append(args, "--", f.scope)
}

// isFile reports a regular file; a link is none.
func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// findForced reads the project's own index, and nothing else of its .git, for
// what it tracks and ignores. An index that our git cannot read has none. Links are not
// followed, nor is a .git that is a file: it may lead anywhere.
func (f *folder) findForced(ctx context.Context) error {
	index := filepath.Join(f.root, ".git", "index")
	dir, err := os.Lstat(filepath.Join(f.root, ".git"))
	if err != nil || !dir.IsDir() || !isFile(index) {
		f.forced = forced{}
		return nil
	}
	now := stamp(index)
	if now == f.forced.index {
		return nil
	}
	f.forced = forced{index: now}
	err = f.list(ctx, git.Command{
		Args:    f.addScope([]string{"ls-files", "-z", "--cached", "--ignored", "--exclude-standard"}),
		Environ: []string{"GIT_INDEX_FILE=" + index},
	}, func(path string) error {
		f.forced.paths = append(f.forced.paths, path)
		return nil
	})
	if _, failed := errors.AsType[*git.ExitError](err); failed {
		f.forced.paths = nil
		return nil
	}
	if err != nil { // it was not read to its end
		f.forced = forced{}
	}
	return err
}

// list calls each for the entries of a list that git prints. Entries end with NUL (-z),
// so that names may have any other character.
func (f *folder) list(ctx context.Context, c git.Command, each func(entry string) error) error {
	c.Output = func(r io.Reader) error {
		in := bufio.NewReaderSize(r, 1<<16)
		for {
			entry, err := in.ReadString(0)
			if err == io.EOF {
				return nil
			}
			if err == nil {
				err = each(strings.TrimSuffix(entry, "\x00"))
			}
			if err != nil {
				return err
			}
		}
	}
	_, err := f.git(ctx, c)
	return err
}

// sort tells what is to be stored from what is to be forgotten. What is not there any
// more, lies behind a link, is no file or is too large is forgotten. The error is
// Unavailable: more is new than Limits.Folder.
func (f *folder) sort(paths []string, v *view) (adds, removes []string, err error) {
	links := make(map[string]bool) // whether a folder is reached through a link
	total := int64(0)
	for _, path := range paths {
		info, err := os.Lstat(f.name(path))
		switch {
		case err != nil || f.throughLink(filepath.Dir(f.name(path)), links):
			removes = append(removes, path)
		case info.Mode()&fs.ModeSymlink != 0:
			adds = append(adds, path)
		case !info.Mode().IsRegular():
			removes = append(removes, path)
		case info.Size() > f.store.Limits.File:
			v.large[path] = largeFile{info.Size(), info.ModTime()}
			removes = append(removes, path)
		default:
			adds, total = append(adds, path), total+info.Size()
		}
	}
	if total > f.store.Limits.Folder {
		return nil, nil, fault.New(fault.Unavailable, "snapshot.look",
			"%s holds more than %d MiB that git does not ignore", f.path, f.store.Limits.Folder>>20)
	}
	return adds, removes, nil
}

// throughLink reports whether a folder below root is a link or reached by one:
// what lies behind it is not in the work tree.
func (f *folder) throughLink(dir string, known map[string]bool) bool {
	if dir == f.root || !within(f.root, dir) {
		return false
	}
	is, ok := known[dir]
	if !ok {
		info, err := os.Lstat(dir)
		is = err != nil || !info.IsDir() || f.throughLink(filepath.Dir(dir), known)
		known[dir] = is
	}
	return is
}

// update stores files and forgets others. What cannot be read is left out, and the rest
// tried again: git stores all or nothing of a list.
func (f *folder) update(ctx context.Context, adds, removes []string) error {
	if len(removes) > 0 {
		c := git.Command{Args: []string{"update-index", "-z", "--force-remove", "--stdin"}, Input: lines(removes)}
		if _, err := f.git(ctx, c); err != nil {
			return err
		}
	}
	for try := 0; len(adds) > 0; try++ {
		c := git.Command{Args: []string{"update-index", "-z", "--add", "--remove", "--replace",
			"--stdin"}, Input: lines(adds)}
		_, err := f.git(ctx, c)
		if err == nil {
			return nil
		}
		// Some may have gone meanwhile, or be closed to us: a command cannot read
		// those either.
		readable := slices.DeleteFunc(slices.Clone(adds), func(path string) bool { return !f.readable(path) })
		if try == 3 || (len(readable) == len(adds) && try > 0) {
			return err
		}
		adds = readable
	}
	return nil
}

// readable reports whether a file can be read, or is a link.
func (f *folder) readable(path string) bool {
	info, err := os.Lstat(f.name(path))
	if err != nil {
		return false
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return true
	}
	if !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(f.name(path))
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// lines joins paths as git reads them with -z.
func lines(paths []string) []byte {
	var b bytes.Buffer
	for _, path := range paths {
		b.WriteString(path)
		b.WriteByte(0)
	}
	return b.Bytes()
}

// entries is how many files the index has, which its head says. It is 0 where there is
// no index.
func (f *folder) entries() int {
	file, err := os.Open(filepath.Join(f.dir, "index"))
	if err != nil {
		return 0
	}
	defer file.Close()
	var head [12]byte
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return 0
	}
	return int(binary.BigEndian.Uint32(head[8:]))
}

// stamp is how a file looks, to tell whether it was written since. It is size, time and
// inode, as git itself tells; the number of the inode is what a rename changes.
func stamp(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d %d %v", info.Size(), info.ModTime().UnixNano(), inode(info))
}

// headOf returns the commit that a repository is at, as its files say; "" where
// they do not say it plainly. It runs no git in the project, whose configuration could
// have it run programs.
func headOf(root string) string {
	read := func(rel string) string {
		path := filepath.Join(root, ".git", filepath.FromSlash(rel))
		if !isFile(path) {
			return ""
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1000 {
			return ""
		}
		return strings.TrimSpace(string(data))
	}
	head := read("HEAD")
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		if !filepath.IsLocal(filepath.FromSlash(ref)) {
			return ""
		}
		head = read(ref)
	}
	if len(head) != 40 && len(head) != 64 {
		return ""
	}
	return head
}
