package command

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// needsGit leaves a test out on a machine without git, but not in CI, which installs
// it.
func needsGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no git here: what its commands change is not seen")
	}
}

// alone is an environment of nothing but where programs are and the folder above
// dir as home: git finds only the repository that it runs in.
func alone(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(dir), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
}

// touched makes a repository in which git has reason to write by itself: files
// whose times are not those of the index, caches that are switched on, and
// settings of its own that ask for more.
func touched(t *testing.T) (dir string, git func(args ...string)) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(alone(dir), "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main")
	for name, text := range map[string]string{"a.txt": "a\nb\nc\n", "b.txt": "b\n", "src/main.go": "package main\n", ".gitattributes": "*.txt diff=text\n"} {
		write(name, text)
	}
	git("add", ".")
	git("commit", "-qm", "first")
	git("tag", "-a", "-m", "v1", "v1")
	git("checkout", "-qb", "side")
	write("a.txt", "a\nside\nc\n")
	git("commit", "-qam", "side")
	git("checkout", "-q", "main")
	write("b.txt", "b\nmain\n")
	git("commit", "-qam", "main")
	git("merge", "-q", "--no-edit", "side")
	git("notes", "add", "-m", "a note")
	git("remote", "add", "origin", filepath.Join(dir, "nowhere"))
	git("init", "-q", "-b", "main", "sub")
	write("sub/s.txt", "s\n")
	write("sub/.gitattributes", "* filter=x\n")
	git("-C", "sub", "add", ".")
	git("-C", "sub", "commit", "-qm", "sub")
	git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
	git("commit", "-qm", "a repository within")
	for key, value := range map[string]string{
		"diff.text.textconv": "cat", "diff.text.cachetextconv": "true", "core.untrackedCache": "true", "core.fsmonitor": "true", "log.diffMerges": "remerge",
		"diff.autoRefreshIndex": "true", "notes.displayRef": "*", "gc.auto": "1", "core.preloadIndex": "true",
	} {
		git("config", key, value)
	}
	git("-C", "sub", "config", "core.fsmonitor", "touch "+filepath.Join(dir, "ran"))
	git("-C", "sub", "config", "filter.x.clean", "touch "+filepath.Join(dir, "ran"))
	write("sub/s.txt", "changed\n")
	write("new.txt", "n\n")
	write("src/main.go", "package main // changed\n")
	longAgo := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.Chtimes(filepath.Join(dir, name), longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
	}
	return dir, git
}

// state returns all that is in a folder, with the times.
func state(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %d", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// values are what options of git's rows are given, where 1 is none of their
// values.
var values = map[string]string{
	"--format": "%H %N", "--pretty": "fuller", "--since": "2000-01-01", "--until": "now", "--after": "2000-01-01", "--before": "now", "--untracked-files": "all",
	"--word-diff": "plain", "--diff-filter": "MA", "--diff-algorithm": "patience", "--ignore-submodules": "none", "--relative": "src", "--color": "always",
	"--date": "iso", "--group": "author", "--ignored": "matching", "--porcelain": "v2", "--points-at": "HEAD", "--contains": "HEAD", "--merged": "HEAD",
	"--no-merged": "side", "--match": "*", "--decorate": "full", "--sort": "-committerdate", "--abbrev-ref": "strict", "-S": "a", "-G": "a", "-L": "1,2",
}

// forms returns the commands of one row of git's table: each option alone, with
// operands and without.
func forms(name string, r row) [][]string {
	value := func(option string) string {
		if v, ok := values[option]; ok {
			return v
		}
		return "1"
	}
	all := [][]string{nil}
	for _, c := range r.short {
		all = append(all, []string{"-" + string(c)})
	}
	for _, c := range r.value {
		option := "-" + string(c)
		all = append(all, []string{option + value(option)})
	}
	for _, option := range strings.Fields(r.long) {
		all = append(all, []string{option})
	}
	for _, option := range strings.Fields(r.equals) {
		all = append(all, []string{option + "=" + value(option)})
	}
	out := make([][]string, 0, 2*len(all))
	for _, options := range all {
		argv := append([]string{"git", name}, options...)
		out = append(out, argv)
		if r.operands == paths {
			out = append(out, append(slices.Clone(argv), "HEAD", "--", "a.txt"))
		}
	}
	return out
}

// TestSEC46GitOfTheTableChangesNothing: whatever form of git runs by itself, not
// even git's own files are others afterwards, or have other times.
func TestSEC46GitOfTheTableChangesNothing(t *testing.T) {
	needsGit(t)
	dir, git := touched(t)
	run := func(argv []string) {
		args, environ := Harden(argv, dir)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(alone(dir), environ...)
		_ = cmd.Run() // whether it likes its options is not the point
	}
	before, n := state(t, dir), 0
	for _, name := range slices.Sorted(maps.Keys(gitTable)) {
		for _, argv := range forms(name, gitTable[name]) {
			if _, err := gitTable[name].read(argv[1:]); err != nil {
				t.Errorf("%q is not in the table: %v", argv, err)
				continue
			}
			n++
			run(argv)
			if after := state(t, dir); after != before {
				t.Errorf("%q changed files\nbefore:\n%s\nafter:\n%s", argv, before, after)
				dir, git = touched(t)
				before = state(t, dir)
			}
		}
	}
	git("diff") // as git runs without us
	if state(t, dir) == before {
		t.Errorf("%d commands ran where git had nothing to write", n)
	}
}

// TestGitTellsWhatIsDifferent: what runs by itself says of a file that only has
// another time nothing, as git without us says.
func TestGitTellsWhatIsDifferent(t *testing.T) {
	needsGit(t)
	dir, git := touched(t)
	git("checkout", "-q", "src/main.go") // from here on no tracked file is another
	c := Config{Env: &tool.Env{Folder: dir, Folders: []string{dir}, Home: t.TempDir(), Trusted: true}, Dir: dir}
	risk := func(text string) tool.Risk {
		t.Helper()
		a, err := Analyze(text, c)
		if err != nil {
			t.Fatal(err)
		}
		return a.Risk
	}
	longAgo := time.Now().Add(-72 * time.Hour)
	touch := func() {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, "a.txt"), longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"git diff", "git diff HEAD", "git diff -p", "git diff --patch", "git diff --stat", "git diff --numstat", "git diff --shortstat", "git diff --check", "git diff --summary", "git diff --cached --name-only"} {
		touch()
		argv, environ := Harden(strings.Fields(text), dir)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(alone(dir), environ...)
		out, err := cmd.CombinedOutput()
		if risk(text) != tool.Safe || err != nil || strings.Contains(string(out), "|") || strings.Contains(string(out), "@@") || strings.Contains(string(out), "changed") {
			t.Errorf("%q is %v and tells %q, %v", text, risk(text), out, err)
		}
	}
	for _, text := range []string{"git diff --quiet", "git diff --exit-code", "git diff --exit-code HEAD", "git diff --quiet -- a.txt"} {
		if risk(text) < tool.Medium {
			t.Errorf("%q is %v, though its exit code is 1 for files that were only touched", text, risk(text))
		}
	}
}

// TestSEC46GitOfASplitIndexAsks: git sets the times of the parts of an index
// that it only reads.
func TestSEC46GitOfASplitIndexAsks(t *testing.T) {
	needsGit(t)
	dir, git := touched(t)
	c := Config{Env: &tool.Env{Folder: dir, Folders: []string{dir}, Home: t.TempDir(), Trusted: true}, Dir: dir}
	if a, err := Analyze("git status", c); err != nil || a.Risk != tool.Safe {
		t.Errorf("before: %v (%s), %v", a.Risk, a.Why, err)
	}
	git("update-index", "--split-index")
	if a, err := Analyze("git status", c); err != nil || a.Risk != tool.Medium {
		t.Errorf("with a split index: %v (%s), %v", a.Risk, a.Why, err)
	}
}
