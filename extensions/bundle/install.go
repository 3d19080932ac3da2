package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// The bounds of a folder that is copied, or cloned.
const (
	maxFolderBytes = 1 << 30
	maxFolderFiles = 100_000
)

// Staged is a bundle that was brought in, beside those that are installed, and takes
// no effect. Commit or discard it. Its folder lies in the store's, under a name that
// lists leave out.
type Staged struct {
	*Bundle
	store *Store
	// The folder of the staging, with the content and what Commit replaces; Discard
	// removes it.
	temp string
}

// remote is the form of an address of a git repository.
var remote = regexp.MustCompile(`^(https?|ssh|git|file)://|^[\w.-]+@[\w.-]+:`)

// Stage brings a bundle in: a folder, an archive (zip, tar, tar.gz), or the address of
// a git repository. Nothing of it is run. It may take as long as a clone or a copy, and
// ends with ctx, leaving nothing. Errors are NotFound for a source that there is not,
// Unavailable for a repository that cannot be cloned, and Invalid for what is no
// extension.
func (s *Store) Stage(ctx context.Context, source string) (*Staged, error) {
	return s.stage(ctx, source, func(root *os.Root) (kind, from string, err error) {
		if remote.MatchString(source) {
			return "git", source, clone(ctx, source, root)
		}
		path, err := filepath.Abs(source)
		if err != nil {
			return "", "", err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", "", fault.New(fault.NotFound, "bundle.install",
				"there is no %s; name a folder, an archive or the address of a git repository", source)
		case err != nil:
			return "", "", err
		case info.IsDir():
			return "local", path, copyFolder(ctx, path, root)
		}
		return "archive", path, unpack(ctx, path, root)
	})
}

// Link stages a bundle whose files stay where they are: what is changed there changes
// the bundle. It is approved by digests like any other, so a change there needs another
// approval.
func (s *Store) Link(ctx context.Context, folder string) (*Staged, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, fault.New(fault.NotFound, "bundle.link", "%s is no folder that is there", folder)
	}
	return s.stage(ctx, path, func(*os.Root) (string, string, error) { return "link", path, nil })
}

// stage makes a folder for what comes, has fill put it there, and reads it. With an error nothing
// is left.
//
// The folder that is staged lies beside the installed ones, so that a commit is a rename
// on one disk. A note of where the bundle came from that came along is replaced by our
// own.
func (s *Store) stage(ctx context.Context, source string, fill func(*os.Root) (kind, from string,
	err error)) (staged *Staged, err error) {
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(s.Dir(), ".staged-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	content := filepath.Join(temp, "content")
	if err := os.Mkdir(content, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(content)
	if err != nil {
		return nil, err
	}
	defer func() { root.Close() }()
	kind, from, err := fill(root)
	if err != nil {
		return nil, err
	}
	if kind != "link" {
		inner, err := innermost(root)
		if err != nil {
			return nil, err
		}
		if inner != "." {
			content = filepath.Join(content, inner)
			within, err := root.OpenRoot(inner)
			if err != nil {
				return nil, err
			}
			root.Close()
			root = within
		}
	}
	note, err := json.Marshal(installed{Source: from, Type: kind})
	if err != nil {
		return nil, err
	}
	if err := root.RemoveAll(installedName); err != nil { // one that came along says nothing
		return nil, err
	}
	if err := root.WriteFile(installedName, note, 0o600); err != nil {
		return nil, err
	}
	b := s.Read(ctx, content, "")
	if b.Problem != "" {
		return nil, fault.New(fault.Invalid, "bundle.install", "%s is no extension that can be used: %s", source,
			strings.ReplaceAll(b.Problem, content, source))
	}
	return &Staged{b, s, temp}, nil
}

// innermost returns the folder that has the manifest: the whole, or the one folder in
// it, as in archives that are made of repositories.
// Where neither has it the whole is returned, and reading that says what is missing.
func innermost(root *os.Root) (string, error) {
	if _, err := root.Lstat(ManifestName); err == nil {
		return ".", nil
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", err
	}
	if len(entries) == 1 && entries[0].IsDir() {
		if _, err := root.Lstat(filepath.Join(entries[0].Name(), ManifestName)); err == nil {
			return entries[0].Name(), nil
		}
	}
	return ".", nil // reading it says what is missing
}

// Discard removes what was brought in. It may be called twice, and after Commit.
func (s *Staged) Discard() error { return os.RemoveAll(s.temp) }

// Before returns the bundle that this one replaces, with what is new in it compared to
// that, and false where it replaces none. It reads the approvals only.
func (s *Staged) Before() (Listed, bool) {
	records, _ := s.store.load() // without approvals everything is new
	folder := filepath.Join(s.store.Dir(), s.Name)
	if _, err := os.Lstat(folder); err != nil {
		return Listed{}, false
	}
	moved := *s.Bundle
	moved.Folder = folder
	return judge(&moved, records), true
}

// Commit installs the bundle as it was staged, in place of one of its name, and
// records that the person approves it. The one that was there is put back where the new
// one cannot take its place. What is approved is what was staged: a file that changed
// since makes it inactive.
func (s *Staged) Commit(ctx context.Context) (*Bundle, error) {
	folder := filepath.Join(s.store.Dir(), s.Name)
	old := filepath.Join(s.temp, "old")
	err := os.Rename(folder, old)
	replaced := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, s.Discard())
	}
	if err := os.Rename(s.Folder, folder); err != nil {
		if replaced {
			err = errors.Join(err, os.Rename(old, folder))
		}
		return nil, errors.Join(err, s.Discard())
	}
	approved := *s.Bundle // what was shown, and not what lies there by now
	approved.Folder = folder
	err = s.store.Approve(ctx, &approved)
	if !s.Linked {
		approved.Dir = folder
	}
	return &approved, errors.Join(err, s.Discard())
}

// clone gets the newest commit of a repository, with the person's own git and their
// access to it. Hooks and submodules of it are not taken. git runs with the person's
// environment and configuration, but for hooks and for protocols that run programs; it
// may ask for a password on their terminal.
// The repository is cloned beside and then copied, so that .git stays behind and the
// bounds of a copy hold for it. The error is Unavailable, with what git said.
func clone(ctx context.Context, address string, into *os.Root) error {
	dir := filepath.Join(filepath.Dir(into.Name()), "clone")
	cmd := exec.CommandContext(ctx, "git", "-c", "core.hooksPath="+os.DevNull, "-c",
		"protocol.ext.allow=never", "clone", "--quiet",
		"--depth=1", "--no-recurse-submodules", "--template=", "--", address, dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String())
		if said == "" {
			said = err.Error()
		}
		return fault.New(fault.Unavailable, "bundle.clone", "%s cannot be cloned: %s", address, said)
	}
	return copyFolder(ctx, dir, into)
}

// copyFolder copies what is below a folder. A link that stays in it is copied as one.
// .git is left out. Devices and links that lead out are errors.
// Links are resolved within the folder alone (os.Root), so one that leads out over other
// links is found too. More than maxFolderFiles files or maxFolderBytes are Invalid.
func copyFolder(ctx context.Context, from string, into *os.Root) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	files, size := 0, int64(0)
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == ".":
			return nil
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if files++; files > maxFolderFiles {
			return fault.New(fault.Invalid, "bundle.copy", "%s has more than %d files", from, maxFolderFiles)
		}
		switch kind := d.Type(); {
		case d.IsDir():
			return into.Mkdir(name, 0o755)
		case kind&fs.ModeSymlink != 0:
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			// root.Stat fails for a link that leads out of the folder.
			if _, err := root.Stat(name); err != nil || filepath.IsAbs(target) {
				return fault.New(fault.Invalid, "bundle.copy", "%s is a link that leads out of the folder, or nowhere",
					filepath.Join(from, name))
			}
			return into.Symlink(target, name)
		case !kind.IsRegular():
			return fault.New(fault.Invalid, "bundle.copy", "%s is neither a file nor a folder",
				filepath.Join(from, name))
		}
		n, err := copyFile(root, into, name, maxFolderBytes-size)
		size += n
		return err
	})
}

// copyFile copies one file, and returns how many bytes it has. More than limit bytes are
// an error.
func copyFile(from, into *os.Root, name string, limit int64) (int64, error) {
	f, err := from.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return writeFile(into, name, f, info.Mode(), limit)
}

// writeFile makes a file that was not there. More than limit bytes are an error. Of the
// permissions only whether it may be executed counts.
// The file must not be there: nothing that comes later in a source replaces what was
// written before.
func writeFile(into *os.Root, name string, content io.Reader, mode fs.FileMode, limit int64) (int64, error) {
	perm := fs.FileMode(0o644)
	if mode.Perm()&0o111 != 0 {
		perm = 0o755
	}
	f, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, io.LimitReader(content, limit+1))
	if err == nil && n > limit {
		err = fault.New(fault.Invalid, "bundle.write", "it has more than is taken of an extension (at %s)", name)
	}
	return n, errors.Join(err, f.Close())
}
