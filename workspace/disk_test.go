//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// openDisk returns a disk on the folder proj of a new folder, which holds a
// secret beside it.
func openDisk(t testing.TB) (d *Disk, outside string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "proj"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	d, err = OpenDisk(filepath.Join(dir, "proj"))
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d, dir
}

func put(t testing.TB, d *Disk, name, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(d.Path(), name)), 0o755))
	must(t, os.WriteFile(filepath.Join(d.Path(), name), []byte(content), 0o644))
}

func get(t testing.TB, d *Disk, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(d.Path(), name))
	must(t, err)
	return string(content)
}

// onlyFiles checks that no temporary file was left.
func onlyFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, names, want)
	}
}

func TestSEC54LinksThatLeaveAreRefusedAndNamed(t *testing.T) {
	d, dir := openDisk(t)
	put(t, d, "sub/real.txt", "real")
	for name, target := range map[string]string{
		"key":     filepath.Join(dir, "secret"),
		"rel":     "../secret",
		"up":      "..",
		"environ": "/proc/self/environ",
		"fd":      "/dev/fd/0",
		"evil":    d.Path() + "-evil",
		"sub/far": "../../secret",
		"chain":   "key",
		"nowhere": "/does/not/exist",
	} {
		must(t, os.Symlink(target, filepath.Join(d.Path(), name)))
	}
	must(t, os.Mkdir(d.Path()+"-evil", 0o755))
	must(t, os.WriteFile(d.Path()+"-evil/x", []byte("evil"), 0o644))
	for _, c := range []struct{ name, target string }{
		{"key", "/secret"}, {"rel", "/secret"}, {"up/secret", "/secret"}, {"environ", "/proc/"}, {"fd", "/dev/"},
		{"evil/x", "-evil/x"}, {"sub/far", "/secret"}, {"chain", "/secret"}, {"nowhere", "/does/not/exist"},
		{"../secret", "/secret"}, {"../proj-evil/x", "-evil/x"}, {"sub/../../secret", "/secret"},
		{filepath.Join(dir, "secret"), "/secret"}, {d.Path() + "-evil/x", "-evil/x"}, {"/proc/self/environ", "/proc/self/environ"},
	} {
		_, errRead := d.Read(t.Context(), c.name, 0)
		_, errWrite := d.Write(t.Context(), Write{Name: c.name, Text: "x"})
		_, errReplace := d.Write(t.Context(), Write{Name: c.name, Text: "x", Seen: DigestOf("secret")})
		_, errResolve := d.Resolve(c.name)
		for what, err := range map[string]error{"read": errRead, "create": errWrite, "replace": errReplace, "resolve": errResolve} {
			if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "leaves the workspace") || !strings.Contains(err.Error(), c.target) {
				t.Errorf("%s %q: %v", what, c.name, err)
			}
		}
	}
	for _, name := range []string{"key", "up/secret", "../secret"} {
		if err := d.Delete(t.Context(), name, DigestOf("secret")); fault.KindOf(err) != fault.Denied {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil || string(content) != "secret" {
		t.Errorf("the secret is %q, %v", content, err)
	}
}

func TestLinksInsideAreFollowed(t *testing.T) {
	d, dir := openDisk(t)
	put(t, d, "sub/real.txt", "real")
	put(t, d, "sub/deep/er.txt", "deeper")
	must(t, os.Symlink(d.Path(), filepath.Join(dir, "alias")))
	for name, target := range map[string]string{
		"rel": "sub/real.txt", "abs": filepath.Join(d.Path(), "sub/real.txt"), "dir": "sub", "dirabs": filepath.Join(d.Path(), "sub"),
		"back": "../proj/sub/real.txt", "alias": filepath.Join(dir, "alias/sub/real.txt"), "sub/deep/up": "../real.txt", "chain": "dir/real.txt",
		"loop": "loop", "new": "sub/new.txt",
	} {
		must(t, os.Symlink(target, filepath.Join(d.Path(), name)))
	}
	for _, name := range []string{"rel", "abs", "dir/real.txt", "dirabs/real.txt", "back", "alias", "sub/deep/up", "dir/deep/up", "chain", filepath.Join(d.Path(), "rel")} {
		if f, err := d.Read(t.Context(), name, 0); err != nil || string(f.Bytes) != "real" || f.Name != "sub/real.txt" {
			t.Errorf("%q: %+v, %v", name, f, err)
		}
		if rel, err := d.Resolve(name); err != nil || rel != "sub/real.txt" {
			t.Errorf("Resolve(%q) = %q, %v", name, rel, err)
		}
	}
	if _, err := d.Read(t.Context(), "loop", 0); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a loop: %v", err)
	}
	// A write goes where the link leads, and the link stays one.
	if _, err := d.Write(t.Context(), Write{Name: "rel", Text: "new", Seen: DigestOf("real")}); err != nil || get(t, d, "sub/real.txt") != "new" {
		t.Errorf("%v", err)
	}
	if info, err := os.Lstat(filepath.Join(d.Path(), "rel")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced", err)
	}
	if _, err := d.Write(t.Context(), Write{Name: "new", Text: "n"}); err != nil || get(t, d, "sub/new.txt") != "n" {
		t.Errorf("a write through a link to nothing: %v", err)
	}
	if err := d.Delete(t.Context(), "rel", DigestOf("new")); fault.KindOf(err) != fault.Denied {
		t.Errorf("a link was deleted: %v", err)
	}
	for name, want := range map[string]string{"not/there": "not/there", "dir/not/there": "sub/not/there", ".": ".", "sub/deep/../x": "sub/x"} {
		if rel, err := d.Resolve(name); err != nil || rel != want {
			t.Errorf("Resolve(%q) = %q, %v, want %q", name, rel, err, want)
		}
	}
}

// The case asks for 10 s of flips; a fraction of that finds a check that is not
// made through the handle within a few hundred.
func TestSEC55FlipsDoNotEscape(t *testing.T) {
	d, dir := openDisk(t)
	must(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "out/f"), []byte("secret"), 0o644))
	put(t, d, "d/f", "inside")
	must(t, os.Symlink("../out", filepath.Join(d.Path(), "l")))
	put(t, d, "file", "inside")
	must(t, os.Symlink("../secret", filepath.Join(d.Path(), "flink")))

	flipping := 2 * time.Second
	if testing.Short() {
		flipping /= 10
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	swap := func(a, b string) {
		a, b, tmp := filepath.Join(d.Path(), a), filepath.Join(d.Path(), b), filepath.Join(d.Path(), a+".swap")
		for ctx.Err() == nil {
			_ = os.Rename(a, tmp)
			_ = os.Rename(b, a)
			_ = os.Rename(a, b)
			_ = os.Rename(tmp, a)
		}
	}
	wg.Go(func() { swap("d", "l") })
	wg.Go(func() { swap("file", "flink") })
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = d.Write(ctx, Write{Name: "d/f", Text: "inside", Seen: DigestOf("inside")})
			_, _ = d.Write(ctx, Write{Name: "file", Text: "inside", Seen: DigestOf("inside")})
			_, _ = d.Write(ctx, Write{Name: fmt.Sprintf("d/new%d", i), Text: "inside"})
			_ = d.Delete(ctx, fmt.Sprintf("d/new%d", i), DigestOf("inside"))
			_ = d.Delete(ctx, "d/f", DigestOf("secret"))
		}
	})
	// Reads are the quick ones: they meet the moments between two looks.
	rounds, read := 0, 0
	for deadline := time.Now().Add(flipping); time.Now().Before(deadline); rounds++ {
		for _, name := range []string{"d/f", "file"} {
			if f, err := d.Read(t.Context(), name, 0); err == nil {
				read++
				if string(f.Bytes) != "inside" {
					t.Errorf("%s read %q", name, f.Bytes)
				}
			}
		}
	}
	cancel()
	wg.Wait()
	onlyFiles(t, filepath.Join(dir, "out"), "f")
	onlyFiles(t, dir, "out", "proj", "secret")
	for _, name := range []string{"out/f", "secret"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != "secret" {
			t.Fatalf("%s is %q, %v", name, content, err)
		}
	}
	t.Logf("%d rounds, %d reads", rounds, read)
}

// The moment that the flips seldom meet: a folder was looked at, and is a link
// when it is opened, to somewhere inside or outside.
func TestSEC55FolderThatBecomesALink(t *testing.T) {
	for _, target := range []string{"..", "../proj/other", "other"} {
		d, _ := openDisk(t)
		put(t, d, "d/f", "inside")
		put(t, d, "other/f", "other")
		seen, err := d.root.Lstat("d")
		must(t, err)
		must(t, os.Rename(filepath.Join(d.Path(), "d"), filepath.Join(d.Path(), "old")))
		must(t, os.Symlink(target, filepath.Join(d.Path(), "d")))
		w := &walk{op: "test", disk: d, name: "d/f", handles: []*os.Root{d.root}}
		if err := w.enter(d.root, "d", seen); err == nil {
			t.Errorf("entered %s", target)
		}
		w.closeAll()
	}
}

func TestSEC57OnlyRegularFiles(t *testing.T) {
	d, _ := openDisk(t)
	must(t, syscall.Mkfifo(filepath.Join(d.Path(), "fifo"), 0o644))
	must(t, os.Mkdir(filepath.Join(d.Path(), "folder"), 0o755))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	defer syscall.Close(fd)
	t.Chdir(d.Path()) // a socket's path has a short limit
	must(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}))
	names := map[string]fault.Kind{"fifo": fault.Denied, "socket": fault.Denied, "folder": fault.Invalid, ".": fault.Invalid, "": fault.Invalid, "a\x00b": fault.Invalid}
	if dev, err := OpenDisk("/dev"); err == nil {
		defer dev.Close()
		for _, name := range []string{"zero", "tty"} {
			if _, err := dev.Read(t.Context(), name, 0); fault.KindOf(err) != fault.Denied {
				t.Errorf("/dev/%s: %v", name, err)
			}
		}
	}
	for name, kind := range names {
		begin := time.Now()
		_, err := d.Read(t.Context(), name, 0)
		_, err2 := d.Write(t.Context(), Write{Name: name, Text: "x", Seen: DigestOf("x")})
		_, err3 := d.Write(t.Context(), Write{Name: name, Text: "x"})
		for _, err := range []error{err, err2, err3} {
			if fault.KindOf(err) != kind {
				t.Errorf("%q: %v, want %s", name, err, kind)
			}
		}
		// The bound is 50 ms; a pipe that is waited for never returns.
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%q took %s", name, took)
		}
	}
}

// A file that takes the place of a pipe check: the open itself does not wait.
func TestSEC57FifoThatTakesAFilesPlace(t *testing.T) {
	d, _ := openDisk(t)
	put(t, d, "f", "x")
	p, err := (&walk{op: "test", disk: d, name: "f"}).locate()
	must(t, err)
	defer p.close()
	must(t, os.Remove(filepath.Join(d.Path(), "f")))
	must(t, syscall.Mkfifo(filepath.Join(d.Path(), "f"), 0o644))
	if _, err := d.read(t.Context(), "test", p, 0); fault.KindOf(err) != fault.Stale {
		t.Error(err)
	}
}

func TestReadLimits(t *testing.T) {
	d, _ := openDisk(t)
	put(t, d, "f", strings.Repeat("x", 1000))
	for _, c := range []struct {
		limit int64
		ok    bool
	}{{999, false}, {1000, true}, {1001, true}, {0, true}} {
		if f, err := d.Read(t.Context(), "f", c.limit); (err == nil) != c.ok || (err != nil && fault.KindOf(err) != fault.Invalid) {
			t.Errorf("limit %d: %v, %v", c.limit, f, err)
		}
	}
	if _, err := d.Read(t.Context(), "none", 0); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if _, err := d.Read(t.Context(), "none/none", 0); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if _, err := d.Read(t.Context(), "f/none", 0); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Read(ctx, "f", 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := OpenDisk(filepath.Join(d.Path(), "none")); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	// A file whose size says nothing.
	if proc, err := OpenDisk("/proc/self"); err == nil {
		defer proc.Close()
		if f, err := proc.Read(t.Context(), "status", 0); err != nil || len(f.Bytes) == 0 {
			t.Errorf("%v, %v", f, err)
		}
		if _, err := proc.Read(t.Context(), "status", 10); fault.KindOf(err) != fault.Invalid {
			t.Error(err)
		}
	}
}

func TestSEC61Names(t *testing.T) {
	d, _ := openDisk(t)
	for _, name := range []string{"a\nb", "\x1b[31m", "\u202egpj.exe", "-rf", strings.Repeat("n", 255), "\xff\xfe", " ", "a'b\"c"} {
		text, err := d.Write(t.Context(), Write{Name: name, Text: "one\n"})
		if err != nil || text.Name != name {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if _, err := d.Write(t.Context(), Write{Name: name, Text: "two\n", Seen: text.Digest}); err != nil || get(t, d, name) != "two\n" {
			t.Errorf("%q: %v", name, err)
		}
		_, err = d.Write(t.Context(), Write{Name: name, Text: "x", Seen: text.Digest})
		if fault.KindOf(err) != fault.Stale || strings.ContainsAny(err.Error(), "\n\x1b\u202e") || strings.Contains(err.Error(), "\xff") {
			t.Errorf("%q in an error: %q", name, err)
		}
		if err := d.Delete(t.Context(), name, DigestOf("two\n")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := d.Write(t.Context(), Write{Name: strings.Repeat("n", 256), Text: "x"}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	onlyFiles(t, d.Path())
}

func FuzzSEC61Names(f *testing.F) {
	for _, name := range []string{"a", "../x", "a/../../x", "/etc/passwd", "a//b", ".", "a\x00b", "\xff", "a/./b/"} {
		f.Add(name)
	}
	d, dir := openDisk(f)
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > 1000 {
			return // a path that is too long for one call, which the check below makes
		}
		text, err := d.Write(t.Context(), Write{Name: name, Text: "x"})
		if err != nil {
			return
		}
		if _, err := os.Lstat(filepath.Join(d.Path(), text.Name)); err != nil || !filepath.IsLocal(text.Name) {
			t.Fatalf("%q was written as %q: %v", name, text.Name, err)
		}
		must(t, d.Delete(t.Context(), name, text.Digest))
		onlyFiles(t, dir, "proj", "secret")
	})
}

func BenchmarkDiskRead(b *testing.B) {
	d, _ := openDisk(b)
	put(b, d, "a/b/c/file.go", "package c\n")
	b.Run("resolve", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Resolve("a/b/c/file.go"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Read(b.Context(), "a/b/c/file.go", 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
