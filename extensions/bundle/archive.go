package bundle

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// The bounds of an archive (SEC-95).
const (
	maxUnpacked = 64 << 20 // bytes
	maxEntries  = 10_000
	maxRatio    = 100     // unpacked to packed
	ratioFrom   = 1 << 20 // unpacked bytes: below it the ratio says nothing
	maxName     = 4096
)

// unpacking is an archive on its way into a fresh folder. It serves one goroutine and
// one archive. Everything is written through into, so no name leads out of it.
// packed is the archive's size, by which the ratio is judged. size is what was written so
// far, and entries counts files and folders, also those that only the path of a file names.
type unpacking struct {
	ctx     context.Context
	into    *os.Root
	packed  int64
	size    int64
	entries int
	seen    map[string]bool // names of files, in small letters; of folders with a slash
}

// unpack unpacks an archive. It stops at the first entry that is not plainly a file or
// a folder in it, and who called throws away what is there by then. Errors are Invalid
// where the archive is at fault, with a sentence for people; the context's where that
// ended.
func unpack(ctx context.Context, archive string, into *os.Root) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refuse("%s is neither a folder nor a file", archive)
	}
	u := &unpacking{ctx: ctx, into: into, packed: info.Size(), seen: make(map[string]bool)}
	r := bufio.NewReader(f)
	// The first bytes tell a zip and a gzip; a plain tar is known by its name alone.
	head, _ := r.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return u.zip(f)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		zipped, err := gzip.NewReader(r)
		if err != nil {
			return refuse("%s cannot be read: %w", archive, err)
		}
		return u.tar(zipped)
	case strings.HasSuffix(archive, ".tar"):
		return u.tar(r)
	}
	return refuse("%s is no archive that can be read; use .zip, .tar or .tar.gz", archive)
}

// refuse is the error of an archive that is not taken.
func refuse(format string, args ...any) error {
	return fault.New(fault.Invalid, "bundle.unpack", format, args...)
}

// boundedAt reads so many bytes, and then fails until it is unbounded. archive/zip
// reads the whole directory before it says how many entries there are.
type boundedAt struct {
	io.ReaderAt
	// How many bytes may still be read; below 0 a read was refused.
	left      int64
	unbounded bool
}

// ReadAt implements [io.ReaderAt].
func (b *boundedAt) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 && !b.unbounded {
		return 0, errors.New("the archive is larger than an extension may be")
	}
	return b.ReaderAt.ReadAt(p, off)
}

// zip unpacks a zip. Sizes that its directory claims are checked again while its entries are read.
//
// The directory is read through boundedAt, since archive/zip reads all of it before
// anything can be refused.
func (u *unpacking) zip(f *os.File) error {
	directory := &boundedAt{ReaderAt: f, left: maxEntries * 1024}
	archive, err := zip.NewReader(directory, u.packed) // reads all headers, however few the archive says there are
	if directory.left < 0 {
		return refuse("the archive has more than %d entries, or their names are too long", maxEntries)
	}
	if err != nil {
		return refuse("%s cannot be read: %w", f.Name(), err)
	}
	if len(archive.File) > maxEntries {
		return refuse("the archive has more than %d entries", maxEntries)
	}
	directory.unbounded = true
	for _, e := range archive.File {
		content, err := e.Open()
		if err != nil {
			return refuse("the entry %q cannot be read: %w", e.Name, err)
		}
		err = u.entry(e.Name, e.Mode(), int64(min(e.UncompressedSize64, math.MaxInt64)), content)
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// tar unpacks a tar that is not compressed any more.
//
// Links, devices and anything else but files and folders are refused.
func (u *unpacking) tar(r io.Reader) error {
	// What an archive says between its entries counts too.
	counted := &io.LimitedReader{R: r, N: maxUnpacked + maxEntries*1024 + 1}
	archive := tar.NewReader(counted)
	for {
		e, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && counted.N > 0:
			return nil
		case counted.N <= 0:
			return refuse("the archive has more than %d MiB", maxUnpacked>>20)
		case err != nil:
			return refuse("the archive cannot be read: %w", err)
		case e.Typeflag == tar.TypeXGlobalHeader: // of git archive: a comment
			continue
		case e.Typeflag != tar.TypeReg && e.Typeflag != tar.TypeDir:
			return refuse("the entry %q is neither a file nor a folder; links and devices are not taken", e.Name)
		}
		if err := u.entry(e.Name, e.FileInfo().Mode(), e.Size, archive); err != nil {
			return err
		}
	}
}

// entry takes one entry. What says that it is too large is not begun with. No file
// replaces another, also on a disk that knows no capitals.
// The size that is claimed is looked at before anything is written, and what really comes
// while it is: an archive may claim less. TestSEC95Archives has the cases.
func (u *unpacking) entry(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	switch {
	// Backslashes and colons part names on Windows; they are refused on every system.
	case len(name) > maxName, strings.ContainsAny(name, "\\\x00:"), !filepath.IsLocal(filepath.FromSlash(clean)),
		strings.Contains("/"+name+"/", "/../"):
		return refuse("the entry %.100q leads out of the archive, or cannot be a file's name", name)
	case mode.IsDir() && clean == ".":
		return nil
	case !mode.IsDir() && !mode.IsRegular():
		return refuse("the entry %q is neither a file nor a folder; links and devices are not taken", name)
	}
	parent := path.Dir(clean)
	if mode.IsDir() {
		parent = clean
	}
	if err := u.folder(parent); err != nil || mode.IsDir() {
		return err
	}
	if err := u.count(); err != nil {
		return err
	}
	folded := strings.ToLower(clean)
	if u.seen[folded] || u.seen[folded+"/"] {
		return refuse("the archive has two entries %q, or two that differ only in capitals", name)
	}
	u.seen[folded] = true
	bomb := refuse("the archive is a bomb: its %d bytes unpack to more than %d MiB, or to more than %d times as much",
		u.packed, maxUnpacked>>20, maxRatio)
	left := u.remaining()
	if size > left {
		return bomb
	}
	n, err := writeFile(u.into, filepath.FromSlash(clean), content, mode, left)
	if u.size += n; n > left {
		return bomb
	}
	return err
}

// count counts a file or a folder that is made.
func (u *unpacking) count() error {
	if u.entries++; u.entries > maxEntries {
		return refuse("the archive has more than %d entries", maxEntries)
	}
	return nil
}

// remaining returns how many more bytes are taken.
// Small archives may unpack to ratioFrom whatever their ratio is.
func (u *unpacking) remaining() int64 {
	return min(maxUnpacked, max(u.packed*maxRatio, ratioFrom)) - u.size
}

// folder makes a folder and those above it. One name has one spelling. An archive need
// not name its folders.
// In seen a folder stands twice: in small letters with one slash, to find other spellings,
// and as it is with two, to know it again.
func (u *unpacking) folder(name string) error {
	if name == "." || u.seen[name+"//"] {
		return nil
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := u.count(); err != nil {
		return err
	}
	folded := strings.ToLower(name)
	if u.seen[folded] || u.seen[folded+"/"] {
		return refuse("the archive has two entries %q, or two that differ only in capitals", name)
	}
	u.seen[folded+"/"], u.seen[name+"//"] = true, true
	return u.into.Mkdir(filepath.FromSlash(name), 0o755)
}
