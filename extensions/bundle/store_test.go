package bundle_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
)

// TestSwitch: disable, enable, remove; a link stays where it is and is followed.
func TestSwitch(t *testing.T) {
	s := store(t)
	source := write(t, t.TempDir(), whole())
	staged, err := s.Link(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	b, err := staged.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state := func() bundle.State {
		l, err := s.Find(t.Context(), "", "tools")
		if err != nil {
			return bundle.State(err.Error())
		}
		return l.State
	}
	if got := state(); got != bundle.Active || b.Dir != source || !b.Linked {
		t.Errorf("%v %v", got, b.Dir)
	}
	if err := s.Disable(t.Context(), b); err != nil || state() != bundle.Disabled {
		t.Errorf("%v %v", err, state())
	}
	if err := s.Approve(t.Context(), b); err != nil || state() != bundle.Active {
		t.Errorf("%v %v", err, state())
	}
	if err := s.Remove(t.Context(), b); err != nil || !strings.Contains(string(state()), "none is installed") {
		t.Errorf("%v %v", err, state())
	}
	if _, err := os.Stat(filepath.Join(source, "srv.js")); err != nil {
		t.Error(err)
	}
	// Approvals that others could have written are none.
	install(t, s, source)
	if err := os.Chmod(s.File(), 0o666); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(t.Context(), ""); err == nil || all[0].State != bundle.Unapproved {
		t.Errorf("%v %v", all[0].State, err)
	}
}

// TestSEC96ChangesAreApprovedAnew: a change of anything that a bundle brings, of the
// programs that it names too, takes it out of effect until the person approves it.
func TestSEC96ChangesAreApprovedAnew(t *testing.T) {
	for file, item := range map[string]string{
		"srv.js": "MCP server srv", "hooks/check.sh": "hook BeforeTool", "commands/go.toml": "command /go", "agents/helper.md": "agent helper",
		"skills/s/extra.txt": "skill s", "GEMINI.md": "context file GEMINI.md", "commands/new.toml": "command /new", "agents/new.md": "agent new",
	} {
		t.Run(file, func(t *testing.T) {
			s := store(t)
			b := install(t, s, write(t, t.TempDir(), whole()))
			if l, err := s.Find(t.Context(), "", "tools"); err != nil || l.State != bundle.Active {
				t.Fatalf("installed: %v, %v", l.State, err)
			}
			write(t, b.Folder, map[string]string{"other.txt": "changed"})
			if l, _ := s.Find(t.Context(), "", "tools"); l.State != bundle.Active {
				t.Errorf("a file that nothing names: %v", l.State)
			}
			write(t, b.Folder, map[string]string{file: `prompt = "changed"`})
			l, err := s.Find(t.Context(), "", "tools")
			if err != nil || l.State != bundle.Unapproved || !slices.Equal(names(l.News), []string{item}) {
				t.Errorf("%v %v, %v", l.State, names(l.News), err)
			}
			if err := s.Approve(t.Context(), l.Bundle); err != nil {
				t.Fatal(err)
			}
			if l, _ := s.Find(t.Context(), "", "tools"); l.State != bundle.Active {
				t.Errorf("approved: %v", l.State)
			}
		})
	}
}

// TestReadIsCancelled: a bundle that was not read to its end takes no effect.
func TestReadIsCancelled(t *testing.T) {
	s := store(t)
	install(t, s, write(t, t.TempDir(), whole()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l, err := s.Find(ctx, "", "tools"); err != nil || l.State != bundle.Broken {
		t.Errorf("%v %v, %v", l.State, l.Problem, err)
	}
}

// TestTwins: of two bundles with one name the person's counts, or the first of theirs,
// and the other has no effect, whatever of it was approved; it comes back when the first
// goes.
func TestTwins(t *testing.T) {
	s := store(t)
	install(t, s, write(t, t.TempDir(), whole()))
	project := t.TempDir()
	theirs := filepath.Join(project, ".gemini", "extensions", "tools")
	write(t, theirs, whole())
	write(t, filepath.Join(s.Dir(), "zzz"), whole()) // a copy in another folder
	twin := s.Read(t.Context(), theirs, project)
	if err := s.Approve(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	states := func() (all []string) {
		list, err := s.List(t.Context(), project)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			all = append(all, fmt.Sprintf("%s %t %s %s", filepath.Base(l.Folder), l.Project != "", l.State, l.Problem))
		}
		return all
	}
	want := []string{"tools false enabled ", "zzz false broken another extension has its name", "tools true broken another extension has its name"}
	if got := states(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"tools", "zzz"} {
		if err := os.RemoveAll(filepath.Join(s.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := states(); !slices.Equal(got, []string{"tools true enabled "}) {
		t.Errorf("alone: %q", got)
	}
}
