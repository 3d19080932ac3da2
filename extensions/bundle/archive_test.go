package bundle_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
)

// entry is one entry of an archive that is made for a test.
type entry struct {
	name, text string
	kind       byte // of tar; 0 = a file
	link       string
	size       int64 // that the archive says it has, without a text; it is the last entry then
}

func tarball(t *testing.T, entries []entry) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: max(e.size, int64(len(e.text))), Typeflag: e.kind, Linkname: e.link}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil && entries[len(entries)-1].size == 0 {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), map[string]string{"a.tar.gz": b.String()}) + "/a.tar.gz"
}

func zipped(t *testing.T, entries []entry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644)
		if e.kind == tar.TypeSymlink {
			h.SetMode(os.ModeSymlink | 0o777)
			e.text = e.link
		}
		create := w.CreateHeader
		if e.size > 0 {
			h.UncompressedSize64, create = uint64(e.size), w.CreateRaw
		}
		f, err := create(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), map[string]string{"a.zip": b.String()}) + "/a.zip"
}

// TestSEC95Archives: what climbs out of an archive, is no plain file, is there twice or
// is a bomb is refused, and nothing of the archive is left.
func TestSEC95Archives(t *testing.T) {
	many := []entry{{name: bundle.ManifestName, text: manifest}}
	for i := range 10_001 {
		many = append(many, entry{name: fmt.Sprintf("f%d", i)})
	}
	ok := entry{name: bundle.ManifestName, text: manifest}
	deep := append(many[:9_950:9_950], entry{name: strings.Repeat("d/", 100) + "f"})
	for name, tt := range map[string]struct {
		entries []entry
		want    string // "" = it is installed
	}{
		"plain":          {[]entry{ok, {name: "srv.js", text: "x"}}, ""},
		"one folder":     {[]entry{{name: "tools-1.0/" + bundle.ManifestName, text: manifest}, {name: "tools-1.0/a/b.txt", text: "x"}}, ""},
		"up":             {[]entry{ok, {name: "../x", text: "x"}}, "leads out"},
		"up inside":      {[]entry{ok, {name: "a/../../x", text: "x"}}, "leads out"},
		"up and back":    {[]entry{ok, {name: "a/../b", text: "x"}}, "leads out"},
		"absolute":       {[]entry{ok, {name: "/tmp/x", text: "x"}}, "leads out"},
		"backslash":      {[]entry{ok, {name: `a\..\..\x`, text: "x"}}, "leads out"},
		"drive":          {[]entry{ok, {name: "C:/x", text: "x"}}, "leads out"},
		"link":           {[]entry{ok, {name: "l", kind: tar.TypeSymlink, link: "/etc"}, {name: "l/passwd", text: "x"}}, "neither a file nor a folder"},
		"twice":          {[]entry{ok, {name: "x", text: "1"}, {name: "x", text: "2"}}, "two entries"},
		"capitals":       {[]entry{ok, {name: "x", text: "1"}, {name: "X", text: "2"}}, "two entries"},
		"folder, file":   {[]entry{ok, {name: "x/y", text: "1"}, {name: "x", text: "2"}}, "two entries"},
		"folders":        {[]entry{ok, {name: "x/y", text: "1"}, {name: "X/z", text: "2"}}, "two entries"},
		"bomb":           {[]entry{ok, {name: "x", text: strings.Repeat("0", 8<<20)}}, "bomb"},
		"large":          {[]entry{ok, {name: "noise", text: noise(1 << 20)}, {name: "x", size: 64 << 20}}, "more than 64 MiB"},
		"entries":        {many, "more than 10000 entries"},
		"deep folders":   {deep, "more than 10000 entries"},
		"not a manifest": {[]entry{{name: "x", text: "x"}}, "there is no gemini-extension.json"},
	} {
		for format, pack := range map[string]func(*testing.T, []entry) string{"tar.gz": tarball, "zip": zipped} {
			t.Run(name+" "+format, func(t *testing.T) {
				s := store(t)
				staged, err := s.Stage(t.Context(), pack(t, tt.entries))
				if tt.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					if _, err := staged.Commit(t.Context()); err != nil {
						t.Error(err)
					}
					if l, err := s.Find(t.Context(), "", "tools"); err != nil || l.State != bundle.Active {
						t.Errorf("%v %v", l.State, err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q in it", err, tt.want)
				}
				if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
					t.Errorf("left behind: %v", entries)
				}
			})
		}
	}
	for name, kind := range map[string]byte{"hard link": tar.TypeLink, "device": tar.TypeChar, "pipe": tar.TypeFifo} {
		if _, err := store(t).Stage(t.Context(), tarball(t, []entry{ok, {name: "d", kind: kind, link: bundle.ManifestName}})); err == nil || !strings.Contains(err.Error(), "neither a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// noise is text that does not pack.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return string(b)
}

// TestSEC95DirectoryOfAZip: the directory of an archive is not read without a bound,
// whatever count its end gives.
func TestSEC95DirectoryOfAZip(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 200_000 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := write(t, t.TempDir(), map[string]string{"a.zip": b.String()}) + "/a.zip"
	if _, err := store(t).Stage(t.Context(), path); err == nil || !strings.Contains(err.Error(), "or their names are too long") {
		t.Error(err)
	}
}
