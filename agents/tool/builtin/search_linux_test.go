package builtin_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestREL80ManyFilesPipesAndHoles: a search has an end in a tree with more files
// than it shows, pipes that nobody writes to, links to nowhere and folders that
// are closed, and says that it is not all.
func TestREL80ManyFilesPipesAndHoles(t *testing.T) {
	w := tooltest.New(t, map[string]string{"f.txt": "needle\n"})
	const folders, each = 24, 500
	for i := range folders {
		if err := os.MkdirAll(w.Path(fmt.Sprintf("d%02d/deeper", i)), 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range each {
			if err := os.Link(w.Path("f.txt"), w.Path(fmt.Sprintf("d%02d/deeper/f%03d.txt", i, n))); err != nil { // quicker to make than files
				t.Fatal(err)
			}
		}
		for _, name := range []string{"pipe.txt", ".gitignore", "deeper/.geminiignore"} {
			if err := syscall.Mkfifo(w.Path(fmt.Sprintf("d%02d/%s", i, name)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/nowhere", w.Path(fmt.Sprintf("d%02d/link.txt", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(w.Path("closed/d"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(w.Path("closed"), 0o755)
	if r := call(t, w.Env(), "glob", "pattern", "**/*.txt"); !strings.Contains(r.Content, "[partial: ") || strings.Count(r.Content, "/deeper/f") < 100 {
		t.Errorf("glob: %.200s … %s", r.Content, r.Content[max(0, len(r.Content)-200):])
	}
	with, without := both(t, w, "pattern", "needle", "limit", 20)
	if !strings.Contains(without, "[partial: ") || !strings.Contains(without, "needle") {
		t.Errorf("grep: %s", without)
	}
	if !strings.Contains(with, "[partial: ") && !strings.Contains(with, "in the part of") { // ripgrep waits for a pipe that is called .gitignore
		t.Errorf("grep with ripgrep: %s", with)
	}
	if r := call(t, w.Env(), "glob", "pattern", "*.txt", "dir_path", "d01/deeper"); strings.Contains(r.Content, "partial") || strings.Count(r.Content, "f") < 100 {
		t.Errorf("a part of it: %.300s", r.Content)
	}
}

func TestSEC117ChildrenGetNothingButTheirOutput(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	// What the daemon's own parent may have left open.
	fd, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	r := call(t, w.Env(), "bash", "command", "for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done; cat; tty")
	var got []string
	for l := range strings.SplitSeq(r.Content, "\n") {
		if fd, rest, ok := strings.Cut(l, " "); ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "pipe:")) {
			got = append(got, fd)
		}
	}
	// 3 is the pipe of the substitution by which they are listed.
	if strings.Join(got, " ") != "0 1 2 3" || !strings.Contains(r.Content, "\n0 /dev/null\n") || !strings.Contains(r.Content, "not a tty") {
		t.Errorf("descriptors %q in %s", got, r.Content)
	}
}
