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

// Look is [Disk.Read] of what lies at a name itself: of a symbolic link it returns
// where that leads as the Bytes, and fs.ModeSymlink as the Mode. A folder counts
// as nothing ([fault.NotFound]), and so does what lies below a file.
// Of two names for one file, one a link, it tells the two apart: that is what a
// restoration needs.
func (d *Disk) Look(ctx context.Context, name string, limit int64) (*File, error) {
	const op = "workspace.look"
	for try := 1; ; try++ {
		f, err := d.look(ctx, op, name, limit)
		if fault.KindOf(err) != fault.Stale || try == attempts {
			return f, err
		}
	}
}

// look is one try of Look.
// A folder is nothing that Look knows: it is fault.NotFound.
func (d *Disk) look(ctx context.Context, op, name string, limit int64) (*File, error) {
	p, err := (&walk{op: op, disk: d, name: name, keepLink: true}).locate()
	if errors.Is(err, errNotFolder) {
		return nil, fault.New(fault.NotFound, op, "%q does not exist", name)
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	switch {
	case p.info == nil || p.info.IsDir():
		return nil, fault.New(fault.NotFound, op, "%q does not exist", p.rel)
	case p.info.Mode()&fs.ModeSymlink == 0:
		return d.read(ctx, op, p, limit)
	}
	target, err := p.dir.Readlink(p.base)
	if err != nil {
		return nil, d.wrapError(op, p.rel, err)
	}
	return &File{Name: p.rel, Bytes: []byte(target), Mode: fs.ModeSymlink,
		Digest: DigestOf([]byte(target)), Info: p.info}, nil
}

// onlyFolders reports whether a folder holds nothing but folders.
// One that cannot be read counts as holding something.
func onlyFolders(dir *os.Root, base string) bool {
	entries, err := fs.ReadDir(dir.FS(), base)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() || !onlyFolders(dir, base+"/"+e.Name()) {
			return false
		}
	}
	return true
}

// removeFolders takes away a folder that holds nothing but folders. What was
// written to one meanwhile stays, and is the error: the system removes no folder
// that holds something.
func removeFolders(dir *os.Root, base string) error {
	entries, err := fs.ReadDir(dir.FS(), base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := base + "/" + e.Name()
		if !e.IsDir() {
			return fmt.Errorf("%s was written meanwhile", e.Name())
		}
		if err := removeFolders(dir, name); err != nil {
			return err
		}
	}
	return dir.Remove(base)
}

// Restoration is what a name is to hold again.
type Restoration struct {
	Name  string
	Seen  Digest      // what [Disk.Look] returned; "" = there was nothing
	Bytes []byte      // of the file, or where the link leads
	Mode  fs.FileMode // fs.ModeSymlink for a link; permissions of a file, of which those of one that is there follow only whether it may be executed; 0 = the usual ones
}

// Restore makes a name hold exactly what it held before: a file, or a symbolic
// link, whatever of the two lies there now, and takes folders without files out of
// the way. The errors are those of [Disk.Write].
func (d *Disk) Restore(ctx context.Context, r Restoration) error {
	const op = "workspace.restore"
	p, err := (&walk{op: op, disk: d, name: r.Name, mkdir: true, keepLink: true}).locate()
	if err != nil {
		return err
	}
	defer p.close()
	isLink := p.info != nil && p.info.Mode()&fs.ModeSymlink != 0
	if err := d.expect(ctx, op, p, r.Seen); err != nil {
		return err
	}
	if p.info != nil && p.info.IsDir() {
		if err := removeFolders(p.dir, p.base); err != nil {
			return d.wrapError(op, p.rel, err)
		}
		p.info = nil
	}
	switch {
	case p.info == nil:
		err = putNewly(p.dir, p.base, r)
	case isLink || r.Mode&fs.ModeSymlink != 0:
		err = d.exchange(ctx, op, p, r)
	default:
		put := putting{content: r.Bytes, mode: p.info.Mode().Perm(), like: p.info}
		put.before = func() error { return d.still(ctx, op, p, r.Seen) }
		// Executable for everyone who may read it. The other permissions stay as they are now.
		if r.Mode&0o111 != 0 {
			put.mode |= put.mode & 0o444 >> 2
		} else if r.Mode != 0 {
			put.mode &^= 0o111
		}
		err = putFile(p.dir, p.base, put)
	}
	if errors.Is(err, fs.ErrExist) {
		return exists(op, p.rel, "")
	}
	if err != nil {
		return d.sortWrite(op, p.rel, err)
	}
	return nil
}

// putNewly makes what a restoration says where nothing is.
func putNewly(dir *os.Root, base string, r Restoration) error {
	if r.Mode&fs.ModeSymlink != 0 {
		return dir.Symlink(string(r.Bytes), base)
	}
	return putFile(dir, base, putting{content: r.Bytes, mode: cmp.Or(r.Mode.Perm(), 0o644), fresh: true})
}

// exchange puts a link in the place of a file or of another link, or a file in
// that of a link: it is made under another name, so that what is there is looked at
// again right before.
func (d *Disk) exchange(ctx context.Context, op string, p *place, r Restoration) error {
	temp := tempPrefix + rand.Text() + tempSuffix
	if err := putNewly(p.dir, temp, r); err != nil {
		return err
	}
	err := ctx.Err()
	if err == nil {
		now := *p
		if now.info, err = p.dir.Lstat(p.base); errors.Is(err, fs.ErrNotExist) {
			err = nil // expect says so
		}
		if err == nil {
			err = d.expect(ctx, op, &now, r.Seen)
		}
	}
	if err == nil {
		err = p.dir.Rename(temp, p.base)
	}
	if err != nil {
		_ = p.dir.Remove(temp)
	}
	return err
}

// Remove takes away a file or a link that has the digest seen, as [Disk.Look] has
// it. The errors are those of [Disk.Delete].
// A link itself is removed, not its target.
func (d *Disk) Remove(ctx context.Context, name string, seen Digest) error {
	const op = "workspace.remove"
	p, err := (&walk{op: op, disk: d, name: name, keepLink: true}).locate()
	if err != nil {
		return err
	}
	defer p.close()
	if p.info == nil {
		return fault.New(fault.NotFound, op, "%q does not exist", name)
	}
	if err := d.expect(ctx, op, p, seen); err != nil {
		return err
	}
	if err := p.dir.Remove(p.base); err != nil {
		return d.wrapError(op, p.rel, err)
	}
	return nil
}

// expect refuses what is not what was seen ("" = nothing), and a file that is
// read-only.
func (d *Disk) expect(ctx context.Context, op string, p *place, seen Digest) error {
	switch {
	case p.info == nil:
		if seen != "" {
			return stale(op, p.rel, "")
		}
		return nil
	case p.info.IsDir() && seen == "" && onlyFolders(p.dir, p.base):
		return nil
	case p.info.Mode()&fs.ModeSymlink == 0:
		if seen == "" && p.info.Mode().IsRegular() {
			return exists(op, p.rel, "")
		}
		if p.info.Mode().IsRegular() && p.info.Mode()&0o222 == 0 {
			return fault.New(fault.Denied, op, "%q is read-only; make it writable first", p.rel)
		}
		_, err := d.readSeen(ctx, op, p, seen)
		return err
	}
	target, err := p.dir.Readlink(p.base)
	if err != nil {
		return d.wrapError(op, p.rel, err)
	}
	if now := DigestOf([]byte(target)); now != seen {
		return stale(op, p.rel, now)
	}
	return nil
}
