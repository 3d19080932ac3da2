package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/agentls/agentls/internal/fault"
)

// A Write is new content of a file.
type Write struct {
	Name string // required
	Text string

	// Seen is the digest of the file that the caller read; the write is refused
	// when the file is another one now. "" says that there must be no file yet.
	Seen Digest

	// Exact writes the bytes of Text as they are: to bring a file back. Otherwise
	// a file that is replaced keeps its charset, byte order mark, line ends and
	// final line end (spec 4.1).
	Exact bool

	Mode fs.FileMode // permissions of a new file; 0 means 0644 before the umask
}

// Write replaces or creates a file and returns it as it lies on disk then.
//
// The new content appears at once and whole, or not at all: it is written to a
// new file of a random name in the same folder, synced and renamed (SEC-59).
// Permissions and owner are kept, hard links are not. Folders that a new file
// needs are made (0755). A link is followed and stays a link.
//
// The error is [fault.Stale] when the file is not the one that was seen, with
// its digest now as "digest" ("" when it is gone); [fault.Denied] for what
// leaves the folder, is no regular file or read-only; [fault.Invalid] for a file that is
// not text, unless Exact; [fault.Unavailable] when the disk fails: the old file
// is whole then. Two programs that replace a file within the same microseconds
// cannot be kept apart on today's systems; a new file never replaces another.
func (d *Disk) Write(ctx context.Context, write Write) (*Text, error) {
	const op = "workspace.write"
	// Folders are made for a new file alone: one that was read and is gone with its
	// folder is stale.
	p, err := (&walk{op: op, disk: d, name: write.Name, mkdir: write.Seen == ""}).locate()
	if fault.KindOf(err) == fault.NotFound && write.Seen != "" {
		return nil, stale(op, write.Name, "")
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	if write.Seen == "" {
		return d.create(ctx, op, p, write)
	}
	old, err := d.readSeen(ctx, op, p, write.Seen)
	if err != nil {
		return nil, err
	}
	if old.Mode&0o222 == 0 { // a new file in its place would be written all the same
		return nil, fault.New(fault.Denied, op, "%q is read-only; make it writable first", p.rel)
	}
	content := []byte(write.Text)
	if !write.Exact {
		text, err := old.Text()
		if err != nil {
			return nil, err
		}
		content = text.Encode(text.Conform(write.Text))
	}
	err = putFile(p.dir, p.base, putting{content: content, mode: old.Mode, like: p.info, before: func() error {
		return d.still(ctx, op, p, write.Seen)
	}})
	if err != nil {
		return nil, d.sortWrite(op, p.rel, err)
	}
	return newText(p.rel, old.Mode, content)
}

// Delete removes a regular file that has the digest seen. A symbolic link is
// refused: name the file that it leads to.
// The errors are those of [Disk.Write], and [fault.NotFound] where there is
// nothing.
func (d *Disk) Delete(ctx context.Context, name string, seen Digest) error {
	const op = "workspace.delete"
	p, err := (&walk{op: op, disk: d, name: name, keepLink: true}).locate()
	if err != nil {
		return err
	}
	defer p.close()
	if p.info == nil {
		return fault.New(fault.NotFound, op, "%q does not exist", name)
	}
	if _, err := d.readSeen(ctx, op, p, seen); err != nil {
		return err
	}
	if err := d.still(ctx, op, p, seen); err != nil {
		return err
	}
	if err := p.dir.Remove(p.base); err != nil {
		return d.wrapError(op, p.rel, err)
	}
	return nil
}

// create makes a file that must not be there.
// One that is there is the error of exists, also where it came just now: the new
// file never takes another's place.
func (d *Disk) create(ctx context.Context, op string, p *place, write Write) (*Text, error) {
	if p.info != nil {
		if err := d.regular(op, p); err != nil {
			return nil, err
		}
		now, err := d.read(ctx, op, p, 0)
		if err != nil {
			return nil, err
		}
		return nil, exists(op, p.rel, now.Digest)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	content, mode := []byte(write.Text), cmp.Or(write.Mode.Perm(), 0o644)
	err := putFile(p.dir, p.base, putting{content: content, mode: mode, fresh: true, exact: write.Mode != 0})
	if errors.Is(err, fs.ErrExist) {
		return nil, exists(op, p.rel, "")
	}
	if err != nil {
		return nil, d.sortWrite(op, p.rel, err)
	}
	// The umask may have taken permissions away.
	if info, err := p.dir.Lstat(p.base); err == nil {
		mode = info.Mode().Perm()
	}
	return newText(p.rel, mode, content)
}

// readSeen reads the file at p and refuses it when it is not the one that was seen.
func (d *Disk) readSeen(ctx context.Context, op string, p *place, digest Digest) (*File, error) {
	if p.info == nil {
		return nil, stale(op, p.rel, "")
	}
	f, err := d.read(ctx, op, p, 0)
	if err != nil {
		return nil, err
	}
	if f.Digest != digest {
		return nil, stale(op, p.rel, f.Digest)
	}
	return f, nil
}

// still looks again, right before the file is replaced. Only one that seems
// touched is read anew.
func (d *Disk) still(ctx context.Context, op string, p *place, digest Digest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := p.dir.Lstat(p.base)
	if errors.Is(err, fs.ErrNotExist) {
		return stale(op, p.rel, "")
	}
	if err != nil {
		return d.wrapError(op, p.rel, err)
	}
	if unchanged(p.info, now) {
		return nil
	}
	_, err = d.readSeen(ctx, op, &place{dir: p.dir, base: p.base, rel: p.rel, info: now}, digest)
	return err
}

// newText returns what was written.
func newText(name string, mode fs.FileMode, content []byte) (*Text, error) {
	t, err := DecodeText(content)
	if err != nil {
		// Exact content of any kind was asked for.
		t = &Text{Text: string(content), Digest: DigestOf(content)}
	}
	t.Name, t.Mode = name, mode
	return t, nil
}

// stale is the error of a file that is another one by now; now is its digest, ""
// for none.
func stale(op, name string, now Digest) error {
	what := "changed since it was read"
	if now == "" {
		what = "is gone since it was read"
	}
	return fault.New(fault.Stale, op, "%q %s; read it again", name, what).Because(fault.OutOfDate,
		"digest", string(now))
}

// exists is the error of a file that must not be there.
// now is the digest of that file, "" where it was not read.
func exists(op, name string, now Digest) error {
	return fault.New(fault.Stale, op, "%q exists already; read it first", name).Because(fault.OutOfDate,
		"digest", string(now))
}

// sortWrite leaves faults as they are and sorts what the system said.
// A context that ended is no fault either.
func (d *Disk) sortWrite(op, name string, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return d.wrapError(op, name, err)
}

// putting is what putFile puts.
type putting struct {
	content []byte
	mode    fs.FileMode
	fresh   bool // there must be no file of that name; the umask applies to mode, unless exact
	exact   bool
	like    fs.FileInfo  // the file whose owner is kept; may be nil
	before  func() error // asked right before the file takes its place; may be nil
}

// The name of a file that is not complete, around a random text.
const tempPrefix, tempSuffix = ".agentls-", ".tmp"

// putFile makes content the file base of dir, at once and whole.
func putFile(dir *os.Root, base string, put putting) error {
	if done, err := putUnnamed(dir, base, put); done {
		return err
	}
	return putNamed(dir, base, put)
}

// putNamed is putFile with a new file that has a name before it is complete, which
// nobody can guess.
// The file gets its name as the last step, so a reader sees the old text or the new
// one and none in between. On an error the new file is removed.
func putNamed(dir *os.Root, base string, put putting) (err error) {
	temp := tempPrefix + rand.Text() + tempSuffix
	// Until fill gives it the owner and permissions of the old file, nobody else can read it.
	mode := fs.FileMode(0o600)
	if put.fresh {
		mode = put.mode
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	if err = fill(f, put); err != nil {
		_ = f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if put.before != nil {
		if err = put.before(); err != nil {
			return err
		}
	}
	if put.fresh {
		return putNew(dir, temp, base)
	}
	return dir.Rename(temp, base)
}

// fill writes and syncs the new file.
// It does not close f. Of a new file that is not exact the mode is the one it was opened
// with, which the umask has narrowed.
func fill(f *os.File, put putting) error {
	if _, err := f.Write(put.content); err != nil {
		return err
	}
	if !put.fresh || put.exact {
		if put.like != nil {
			keepOwner(f, put.like)
		}
		if err := f.Chmod(put.mode.Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}

// keepOwner gives f the owner of the file that it replaces, as far as we may.
func keepOwner(f *os.File, like fs.FileInfo) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	uid, gid, ok := owner(like)
	if u, g, known := owner(info); ok && known && (u != uid || g != gid) {
		// Who is not root cannot, and then owns the new file, as editors do.
		_ = f.Chown(uid, gid)
	}
}

// putNew gives temp its name, which nobody must have.
// The error is fs.ErrExist where somebody has it; temp is then left to the caller.
func putNew(dir *os.Root, temp, base string) error {
	err := dir.Link(temp, base)
	switch {
	case err == nil:
		// At worst the temporary name stays beside the file.
		_ = dir.Remove(temp)
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	case !cannotLink(err):
		return err
	}
	// There are no hard links here, so rename: a file that appears after this look is replaced.
	if _, err := dir.Lstat(base); err == nil {
		return fmt.Errorf("%q: %w", base, fs.ErrExist)
	}
	return dir.Rename(temp, base)
}
