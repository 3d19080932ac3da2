package bundle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
)

// TestUpdate: installing again tells what is new and what goes, and replaces the whole.
func TestUpdate(t *testing.T) {
	s := store(t)
	source := write(t, t.TempDir(), whole())
	install(t, s, source)
	write(t, source, map[string]string{"srv.js": "worse()"})
	if err := os.Remove(filepath.Join(source, "commands", "go.toml")); err != nil {
		t.Fatal(err)
	}
	staged, err := s.Stage(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	before, replaces := staged.Before()
	if !replaces || !slices.Equal(names(before.News), []string{"MCP server srv"}) || !slices.Equal(names(before.Gone), []string{"command /go"}) {
		t.Errorf("%v %v %v", replaces, names(before.News), names(before.Gone))
	}
	b, err := staged.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.Folder, "commands", "go.toml")); !os.IsNotExist(err) {
		t.Error("the old command is still there")
	}
	if entries, _ := os.ReadDir(s.Dir()); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestBroken: what is wrong with a bundle is said, and it is not installed.
func TestBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no manifest":  {map[string]string{"x": "y"}, "there is no gemini-extension.json"},
		"no JSON":      {map[string]string{bundle.ManifestName: "{"}, "cannot be read"},
		"name":         {map[string]string{bundle.ManifestName: `{"name": "../x"}`}, `the name "../x" cannot be`},
		"context file": {map[string]string{bundle.ManifestName: `{"name": "x", "contextFileName": "../../secret"}`}, "lies outside"},
		"hooks":        {map[string]string{bundle.ManifestName: `{"name": "x"}`, "hooks/hooks.json": `[]`}, "hooks/hooks.json cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			if _, err := s.Stage(t.Context(), write(t, t.TempDir(), tt.files)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Error(err)
			}
			if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
	s := store(t)
	if _, err := s.Stage(t.Context(), "/nowhere/at/all"); err == nil || !strings.Contains(err.Error(), "name a folder, an archive or") {
		t.Error(err)
	}
	linked := write(t, t.TempDir(), whole())
	if err := os.Symlink("/etc/passwd", filepath.Join(linked, "passwd")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stage(t.Context(), linked); err == nil || !strings.Contains(err.Error(), "leads out of the folder") {
		t.Error(err)
	}
}

// TestGit: a repository is cloned without its history and its hooks.
func TestGit(t *testing.T) {
	source := write(t, t.TempDir(), whole())
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := store(t)
	b := install(t, s, "file://"+source)
	if _, err := os.Stat(filepath.Join(b.Folder, ".git")); !os.IsNotExist(err) {
		t.Error(".git is there")
	}
	if l, err := s.Find(t.Context(), "", "tools"); err != nil || l.State != bundle.Active || l.Source != "file://"+source {
		t.Errorf("%v %v %v", l.State, l.Source, err)
	}
	if _, err := s.Stage(t.Context(), "file://"+source+"/nothing"); err == nil || !strings.Contains(err.Error(), "cannot be cloned") {
		t.Error(err)
	}
}

// TestNew: what is made can be installed as it is.
func TestNew(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "fresh")
	if err := bundle.New(folder, true); err != nil {
		t.Fatal(err)
	}
	b := install(t, store(t), folder)
	if got := names(b.Items); !slices.Equal(got, []string{"MCP server fresh", "command /example", "skill example", "context file GEMINI.md"}) {
		t.Errorf("%q", got)
	}
	if err := bundle.New(folder, false); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error(err)
	}
	if err := bundle.New(filepath.Join(t.TempDir(), "a b"), false); err == nil {
		t.Error("a name with a space")
	}
}
