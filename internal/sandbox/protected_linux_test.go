package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentls/agentls/internal/sandbox"
)

// TestSEC19NothingNewStaysInAProtectedFolder: not only what was in it is as it was.
func TestSEC19NothingNewStaysInAProtectedFolder(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		for _, text := range []string{
			"echo x > .vscode/new.json", "mkdir .vscode/q", "ln -s ../a.txt .vscode/l", "rm .vscode/tasks.json; ln -s ../a.txt .vscode/tasks.json", "chmod 700 .vscode; rm -r .vscode/*",
			"mkdir -p .vscode/q/r && echo x > .vscode/q/r/x", "chmod 755 .vscode/tasks.json", "mv .vscode v; mkdir .vscode; echo x > .vscode/tasks.json",
		} {
			w.run(t, w.spec(sandbox.Write), text)
			entries, err := os.ReadDir(filepath.Join(w.folder, ".vscode"))
			info, statErr := os.Lstat(filepath.Join(w.folder, ".vscode/tasks.json"))
			if err != nil || statErr != nil || len(entries) != 1 || info.Mode() != 0o644 || read(filepath.Join(w.folder, ".vscode/tasks.json")) != "{}" {
				t.Errorf("after %q .vscode has %v, %v", text, entries, err)
			}
		}
	})
}

// TestWhatIsBackIsToldSo: a place that a command replaced is told as one that it changed,
// whatever else it replaced.
func TestWhatIsBackIsToldSo(t *testing.T) {
	w := newWorld(t, sandbox.Landlock) // other walls keep these places from being replaced
	spec := w.spec(sandbox.Write)
	for _, name := range []string{".envrc", "lefthook.yml", ".npmrc"} {
		put(t, filepath.Join(w.folder, name), "good")
		spec.Protected = append(spec.Protected, filepath.Join(w.folder, name))
	}
	r := w.runThen(t, spec, "for f in .envrc lefthook.yml .npmrc; do echo evil > x; mv x $f; done; mv .vscode v; mkdir .vscode; echo evil > .vscode/tasks.json", func() []string { return spec.Protected })
	if len(r.quarantined) != 4 {
		t.Errorf("%+v", r.quarantined)
	}
	for _, q := range r.quarantined {
		if !q.Back {
			t.Errorf("%s is told as new", q.Path)
		}
	}
	if got := read(filepath.Join(w.folder, ".envrc")) + read(filepath.Join(w.folder, ".vscode/tasks.json")); got != "good{}" {
		t.Errorf("what was there is %q", got)
	}
}

// TestReleaseShared: what is new or changed is told, and stays.
func TestReleaseShared(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		box, err := w.box.Confine(exec.Command("/bin/true"), w.spec(sandbox.Write))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(w.folder, ".vscode", "own"), "mine")
		tasks := filepath.Join(w.folder, ".vscode", "tasks.json")
		if err := errors.Join(os.WriteFile(tasks+".new", []byte("mine"), 0o600), os.Rename(tasks+".new", tasks)); err != nil {
			t.Fatal(err)
		}
		changed, err := box.ReleaseShared([]string{tasks})
		if err != nil || !slices.Contains(changed, tasks) {
			t.Errorf("told: %q, %v", changed, err)
		}
		if read(tasks) != "mine" || read(filepath.Join(w.folder, ".vscode", "own")) != "mine" {
			t.Error("what the person made meanwhile is gone")
		}
	})
}

// TestSEC49HooksByALink: where .git/hooks is a link, as with hooks that a project
// shares, neither the link nor what it leads to is changed.
func TestSEC49HooksByALink(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		w.repository(t)
		after := func() []string { return w.found(t) }
		put(t, filepath.Join(w.folder, "scripts", "hooks", "pre-commit"), "good")
		hooks := filepath.Join(w.folder, ".git", "hooks")
		if err := os.RemoveAll(hooks); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../scripts/hooks", hooks); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"rm .git/hooks", "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
			"ln -sfn ../evil .git/hooks; mkdir evil; echo evil > evil/pre-commit", "mv .git/hooks h",
			"echo evil > .git/hooks/pre-commit", "echo evil > scripts/hooks/new",
			"mv scripts/hooks scripts/h; mkdir scripts/hooks; echo evil > scripts/hooks/pre-commit",
			"mv scripts s; mkdir -p scripts/hooks; echo evil > scripts/hooks/pre-commit",
		} {
			r := w.runThen(t, w.spec(sandbox.Write), text, after)
			if target, err := os.Readlink(hooks); err != nil || target != "../scripts/hooks" {
				t.Errorf("%s: the link leads to %q, %v: %+v", text, target, err, r)
			}
			// Behind bubblewrap hooks move with a folder that they are in.
			if got := read(filepath.Join(hooks, "pre-commit")); got != "good" && (got != "" || !exists(w.folder, "s/hooks/pre-commit")) {
				t.Errorf("%s: the hook is %q: %+v", text, got, r)
			}
			if exists(hooks, "new") {
				t.Errorf("%s: there is a new hook", text)
			}
		}
		if w.runThen(t, w.spec(sandbox.Write), "mkdir -p src && echo x > src/x", after); !exists(w.folder, "src/x") {
			t.Error("what is ordinary cannot be written")
		}
	})
}
