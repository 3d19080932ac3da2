package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// MaxFile is how large a file may be, in bytes, that is compared with what was
// read before it is replaced or deleted, and the limit of a read that names none.
const MaxFile = 64 << 20

// readChunk is how many bytes are read between two looks at the context.
const readChunk = 256 << 10

// attempts is how often something is tried again that changed under our hands.
const attempts = 4

// A Disk reads and writes the regular files beneath one folder and nothing else:
// no name, no link and nobody who replaces one by the other meanwhile leads it
// out (SEC-53 to SEC-59). Names are relative to the folder, or absolute inside
// it. It holds the folder open; see [Disks] for many uses in a row.
// It is not changed after it was opened, so any number of goroutines may use it
// at once, and the copies that WithoutLinks and Direct return with it.
type Disk struct {
	path    string // canonical
	spelled string // as the caller of OpenDisk wrote it
	root    *os.Root
	info    fs.FileInfo // of the folder
	strict  bool        // no name leads through a link
	direct  bool        // as strict, for names that nobody has resolved
	release func()      // gives it back to the [Disks] that it is from; nil = it is closed
}

// OpenDisk opens the folder at an absolute path. The caller closes it.
// The error is of kind [fault.NotFound] where there is none, [fault.Stale] where
// another one took its place meanwhile, [fault.Invalid] for a path that is not
// absolute, and [fault.Unavailable] else.
func OpenDisk(folder string) (*Disk, error) {
	path, err := Canonical(folder)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		kind := fault.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = fault.NotFound
		}
		return nil, fault.New(kind, "workspace.disk", "the folder %q cannot be opened: %w", folder, err)
	}
	// A link may have taken the folder's place since Canonical: what was opened must be
	// what lies at the path itself.
	opened, err := root.Stat(".")
	if seen, other := os.Lstat(path); err != nil || other != nil || !os.SameFile(opened, seen) {
		_ = root.Close()
		return nil, moving("workspace.disk", folder)
	}
	return &Disk{path: path, spelled: filepath.Clean(folder), root: root, info: opened}, nil
}

// WithoutLinks returns d as a disk for names that were resolved before and were
// decided about: one on which a link in a name is not followed but [fault.Stale],
// since it took the place of what was looked at (SEC-55). It is closed with d.
func (d *Disk) WithoutLinks() *Disk {
	strict := *d
	strict.strict = true
	return &strict
}

// Direct returns d as a disk for names that are meant as they are written: one
// that leads through a link is [fault.Denied], whether something lies there or
// not. It is closed with d.
func (d *Disk) Direct() *Disk {
	direct := *d
	direct.direct = true
	return &direct
}

// Path returns the canonical path of the folder.
func (d *Disk) Path() string { return d.path }

// Close gives the folder back.
// Neither the disk nor its copies must be used afterwards. A disk of [Disks] may be
// closed more than once.
func (d *Disk) Close() error {
	if d.release != nil {
		d.release()
		return nil
	}
	return d.root.Close()
}

// Resolve returns where name leads, relative to the folder and with every link
// resolved: what a rule about protected places is applied to. The file need not
// exist. The error is [fault.Denied] when it leads out of the folder.
func (d *Disk) Resolve(name string) (string, error) {
	if rel, err := d.relative("workspace.resolve", name); err != nil || rel == "." {
		return rel, err
	}
	w := &walk{op: "workspace.resolve", disk: d, name: name}
	p, err := w.locate()
	if err == nil {
		defer p.close()
		return p.rel, nil
	}
	if fault.KindOf(err) != fault.NotFound {
		return "", err
	}
	// Folders on the way are missing, so there is no link in what is left.
	rest := append(w.missing, w.todo...)
	rel := filepath.Join(append(append([]string(nil), w.done...), rest...)...)
	if !filepath.IsLocal(rel) {
		return "", leaves("workspace.resolve", name, filepath.Join(d.path, rel))
	}
	return rel, nil
}

// A File is a file as it lay on disk.
// The caller owns it, with its bytes.
type File struct {
	Name    string // relative to the folder, links resolved
	Bytes   []byte
	Mode    fs.FileMode // permissions
	ModTime time.Time
	Digest  Digest      // of Bytes
	Info    fs.FileInfo // as the system tells it, of the file that was read
}

// Read returns a regular file of at most limit bytes; 0 means [MaxFile]. A named
// pipe, a socket or a device is refused at once ([fault.Denied], SEC-57), a
// larger file too ([fault.Invalid]). Ctx is looked at between pieces of 256 KiB.
// A name that does not exist is [fault.NotFound], a folder [fault.Invalid], and
// one that leads out [fault.Denied].
func (d *Disk) Read(ctx context.Context, name string, limit int64) (*File, error) {
	const op = "workspace.read"
	for try := 1; ; try++ {
		p, err := (&walk{op: op, disk: d, name: name}).locate()
		if err != nil {
			// Something on the way was replaced, so the name is followed anew.
			if fault.KindOf(err) == fault.Stale && try < attempts {
				continue
			}
			return nil, err
		}
		f, err := d.read(ctx, op, p, limit)
		p.close()
		if fault.KindOf(err) == fault.Stale && try < attempts {
			continue
		}
		return f, err
	}
}

// ReadText returns a text file of at most limit bytes; 0 means [MaxFile]. The
// errors are those of [Disk.Read] and, for what is not text, [fault.Invalid].
func (d *Disk) ReadText(ctx context.Context, name string, limit int64) (*Text, error) {
	f, err := d.Read(ctx, name, limit)
	if err != nil {
		return nil, err
	}
	return f.Text()
}

// Text returns the file as text; the error is [fault.Invalid] when it is none.
func (f *File) Text() (*Text, error) {
	t, err := DecodeText(f.Bytes)
	if err != nil {
		return nil, fault.New(fault.Invalid, "workspace.text", "%q is not text in UTF-8 or UTF-16", f.Name)
	}
	t.Name, t.Mode = f.Name, f.Mode
	return t, nil
}

// read reads what lies at p. A file that changed while it was read is read
// again; one that never rests is returned as it was seen last.
// p is what the name led to; its info becomes that of the content, for [Disk.still].
func (d *Disk) read(ctx context.Context, op string, p *place, limit int64) (*File, error) {
	if err := d.regular(op, p); err != nil {
		return nil, err
	}
	f, err := p.dir.OpenFile(p.base, readFlags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, moving(op, p.rel)
		}
		return nil, d.wrapError(op, p.rel, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, d.wrapError(op, p.rel, err)
	}
	// OpenFile looked at the name once more: what it opened must be the file that was judged.
	if !info.Mode().IsRegular() || !os.SameFile(info, p.info) {
		return nil, moving(op, p.rel)
	}
	for try := 1; ; try++ {
		if try > 1 {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return nil, d.wrapError(op, p.rel, err)
			}
		}
		content, err := readAll(ctx, f, info.Size(), limit)
		if err != nil {
			return nil, d.sortRead(op, p.rel, limit, err)
		}
		after, err := f.Stat()
		if err != nil {
			return nil, d.wrapError(op, p.rel, err)
		}
		if try == attempts || unchanged(info, after) {
			p.info = after
			return &File{Name: p.rel, Bytes: content, Mode: after.Mode().Perm(), ModTime: after.ModTime(),
				Digest: DigestOf(content), Info: after}, nil
		}
		info = after
	}
}

// regular refuses what is not a regular file.
func (d *Disk) regular(op string, p *place) error {
	switch {
	case p.info == nil:
		return fault.New(fault.NotFound, op, "%q does not exist", p.rel)
	case p.info.IsDir():
		return fault.New(fault.Invalid, op, "%q is a folder", p.rel)
	case !p.info.Mode().IsRegular():
		return fault.New(fault.Denied, op, "%q is %s, not a regular file", p.rel, kindOfFile(p.info.Mode()))
	}
	return nil
}

// kindOfFile says for people what lies there.
func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "something else"
}

// errTooLarge says that a file has more than the limit.
var errTooLarge = errors.New("too large")

// sortRead makes a fault of why a file could not be read. The context's error
// stays as it is.
func (d *Disk) sortRead(op, name string, limit int64, err error) error {
	if errors.Is(err, errTooLarge) {
		if limit <= 0 {
			limit = MaxFile
		}
		return fault.New(fault.Invalid, op, "%q is larger than %d bytes", name, limit)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return d.wrapError(op, name, err)
}

// readAll reads r, of which size is expected, up to limit bytes. A file that has
// all of that and gives no more is read to its end: that it has not grown since,
// the caller looks.
func readAll(ctx context.Context, r io.Reader, size, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = MaxFile
	}
	if size > limit {
		return nil, errTooLarge
	}
	// The byte more lets the read that has all of it come back short, which saves one for io.EOF.
	content := make([]byte, 0, size+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		room := content[len(content):min(cap(content), len(content)+readChunk)]
		n, err := r.Read(room)
		content = content[:len(content)+n]
		if int64(len(content)) > limit {
			return nil, errTooLarge
		}
		if err == io.EOF || (n > 0 && n < len(room) && int64(len(content)) == size) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// unchanged says that two looks at a file saw the same file.
func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
