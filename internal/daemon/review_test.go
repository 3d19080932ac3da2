package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// reviewing returns a daemon for folders, and their agents by name.
func reviewing(t *testing.T, process bool, folders ...workspace.Folder) (*daemon, func(name string) *definition.Definition) {
	t.Helper()
	b := newBed(t)
	b.config.Trust = process
	var h *daemon
	b.config.testHooks.build = func(made *daemon) { h = made }
	b.build(folders...)
	b.answer()
	return h, func(name string) *definition.Definition {
		t.Helper()
		s, err := b.daemon.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Entries() {
			if e.Definition.Name == name {
				return e.Definition
			}
		}
		t.Fatalf("there is no %s", name)
		return nil
	}
}

// pendingOf returns the names of what waits for a review, "!" before what was
// approved in another version.
func pendingOf(t *testing.T, h *daemon, folder string) string {
	t.Helper()
	list, err := reviews{h}.Pending(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		name := p.Name
		if p.Known {
			name = "!" + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestTrustOfAnEarlierVersionIsReviewedOnce: its records say nothing of items, so
// all of them are asked about, in one batch.
func TestTrustOfAnEarlierVersionIsReviewedOnce(t *testing.T) {
	work := folder(t, "", "one", "two")
	h, find := reviewing(t, false, work)
	if err := h.trust.Set(t.Context(), work.Canonical, true); err != nil {
		t.Fatal(err)
	}
	err := h.checkReviewed(find("one"))
	reason, data := fault.ReasonOf(err)
	if fault.KindOf(err) != fault.Denied || reason != fault.Untrusted || data["folder"] != tool.URI(work.Canonical) ||
		!strings.Contains(err.Error(), "`agentls trust one`") || !strings.Contains(err.Error(), "is new") {
		t.Errorf("%v %v %v", err, reason, data)
	}
	if got := pendingOf(t, h, work.Canonical); got != ".gemini/agents/one.md .gemini/agents/two.md" {
		t.Error(got)
	}
	if err := h.setTrust(work.Canonical, true); err != nil {
		t.Fatal(err)
	}
	if err := h.checkReviewed(find("one")); err != nil || pendingOf(t, h, work.Canonical) != "" {
		t.Errorf("control: approved, it is still reviewed: %v", err)
	}
	agent(t, work.Canonical, "one") // the same bytes
	write(t, filepath.Join(work.Canonical, ".gemini", "agents", "two.md"), "---\nkind: agent\nname: two\ntitle: T\n---\nChanged.\n")
	if got := pendingOf(t, h, work.Canonical); got != "!.gemini/agents/two.md" {
		t.Error(got)
	}
}

// TestSEC12And13WhatAFolderAboveCovers: trust in a folder does not approve what the
// workspace folders in it bring, which nobody was shown: it is reviewed, by its
// place in the folder. What is trusted for the process is not reviewed.
func TestSEC12And13WhatAFolderAboveCovers(t *testing.T) {
	above := folder(t, "")
	inner := workspace.Folder{Name: "sub", Path: filepath.Join(above.Canonical, "sub"), Canonical: filepath.Join(above.Canonical, "sub")}
	agent(t, inner.Canonical, "one")
	h, find := reviewing(t, false, inner)
	if err := h.setTrust(above.Canonical, true); err != nil {
		t.Fatal(err)
	}
	if err := h.checkReviewed(find("one")); err == nil || pendingOf(t, h, inner.Canonical) != "sub/.gemini/agents/one.md" {
		t.Errorf("what was not shown is approved: %q", pendingOf(t, h, inner.Canonical))
	}
	if err := (reviews{h}).ApproveFile(t.Context(), inner.Canonical, ".gemini/agents/one.md", ""); err != nil || pendingOf(t, h, inner.Canonical) != "" || h.checkReviewed(find("one")) != nil {
		t.Errorf("control: approved by name, it waits: %v", err)
	}
	if h, find := reviewing(t, true, inner); h.checkReviewed(find("one")) != nil || !(reviews{h}).Decided(inner.Canonical) {
		t.Error("a folder that is trusted for the process is asked about")
	}
}

// named returns the URI of a file, of the type of another.
func named[U ~string](_ U, path string) U { return U(tool.URI(path)) }

// TestWhatThePersonWritesIsTheirs: a save approves only the text that is on disk
// then, and an unsaved text runs only on top of a file that is approved.
func TestWhatThePersonWritesIsTheirs(t *testing.T) {
	work := folder(t, "", "one")
	h, find := reviewing(t, false, work)
	if err := h.setTrust(work.Canonical, true); err != nil {
		t.Fatal(err)
	}
	const rel = ".gemini/agents/one.md"
	file := filepath.Join(work.Canonical, filepath.FromSlash(rel))
	typed := "---\nkind: agent\nname: one\ntitle: T\n---\nTyped.\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	approved := string(data)
	if _, err := h.site.Workspace.Apply(workspace.Opened{URI: named(workspace.Opened{}.URI, file), Version: 1, Text: approved}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.site.Workspace.Apply(workspace.Edited{URI: named(workspace.Edited{}.URI, file), Version: 2, Edits: []workspace.Edit{{Text: typed}}}); err != nil {
		t.Fatal(err)
	}
	buffer := definition.Parse(definition.Source{Path: file, Folder: work.Canonical, Scope: definition.Project, Data: []byte(typed)})
	if err := h.checkReviewed(buffer); err != nil {
		t.Errorf("an unsaved text: %v", err)
	}
	write(t, file, "---\nkind: agent\nname: one\ntitle: T\n---\nOf another.\n")
	if h.checkReviewed(buffer) == nil {
		t.Error("an unsaved text on top of a file that was not approved runs")
	}
	save := func(text, base string) error {
		return reviews{h}.ApproveSave(context.Background(), work.Canonical, rel, text, base)
	}
	if err := save(typed+"More.\n", "Of another.\n"); err != nil || pendingOf(t, h, work.Canonical) != "!"+rel {
		t.Errorf("what the person made of a text that they have not seen is approved: %v", err)
	}
	if err := save(typed, approved); err != nil || pendingOf(t, h, work.Canonical) != "!"+rel {
		t.Errorf("a save that is not what lies on disk approves it: %v", err)
	}
	write(t, file, typed)
	if err := save(typed, typed); err != nil || pendingOf(t, h, work.Canonical) != "" || h.checkReviewed(find("one")) != nil {
		t.Errorf("control: what was saved waits for a review: %v", err)
	}
}

// TestSEC09AnUnsavedTextOnTopOfOneThatNobodySaw: another program's text that is open
// in the editor does not run when the person changes a word of it, though the disk
// has what was approved once more. Of an empty file all is theirs.
func TestSEC09AnUnsavedTextOnTopOfOneThatNobodySaw(t *testing.T) {
	for below, runs := range map[string]bool{"---\nkind: agent\nname: one\ntitle: T\n---\nEvil.\n": false, "\n": true} {
		work := folder(t, "", "one")
		h, _ := reviewing(t, false, work)
		if err := h.setTrust(work.Canonical, true); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(work.Canonical, ".gemini", "agents", "one.md")
		changed := "---\nkind: agent\nname: one\ntitle: U\n---\nEvil.\n"
		for _, change := range []workspace.Change{
			workspace.Opened{URI: named(workspace.Opened{}.URI, file), Version: 1, Text: below},
			workspace.Edited{URI: named(workspace.Edited{}.URI, file), Version: 2, Edits: []workspace.Edit{{Text: changed}}},
		} {
			if _, err := h.site.Workspace.Apply(change); err != nil {
				t.Fatal(err)
			}
		}
		err := h.checkReviewed(definition.Parse(definition.Source{Path: file, Folder: work.Canonical, Scope: definition.Project, Data: []byte(changed)}))
		if (err == nil) != runs {
			t.Errorf("on top of %q: %v", below, err)
		}
	}
}

// TestSEC09AMovedFile: a file that is moved stays approved; a copy is not, nor is a file
// that takes the place of another approved one.
func TestSEC09AMovedFile(t *testing.T) {
	work := folder(t, "", "one", "two")
	h, _ := reviewing(t, false, work)
	if err := h.setTrust(work.Canonical, true); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(work.Canonical, ".gemini", "agents")
	data, err := os.ReadFile(filepath.Join(agents, "one.md"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(agents, "copy.md"), string(data))
	if got := pendingOf(t, h, work.Canonical); got != ".gemini/agents/copy.md" {
		t.Errorf("a copy: %q", got)
	}
	if err := os.Remove(filepath.Join(agents, "one.md")); err != nil {
		t.Fatal(err)
	}
	moved := definition.Parse(definition.Source{Path: filepath.Join(agents, "copy.md"), Folder: work.Canonical, Scope: definition.Project, Data: data})
	if got := pendingOf(t, h, work.Canonical); got != "" || h.checkReviewed(moved) != nil {
		t.Errorf("moved: %q", got)
	}
	write(t, filepath.Join(agents, "two.md"), string(data))
	if got := pendingOf(t, h, work.Canonical); got != "!.gemini/agents/two.md" {
		t.Errorf("in the place of another: %q", got)
	}
}

// TestHooksOfAnExtensionWaitForNoReviewOfTheFolder: an extension that lies in the folder is
// approved whole, so its hooks run, and their explanation says so.
func TestHooksOfAnExtensionWaitForNoReviewOfTheFolder(t *testing.T) {
	work := folder(t, "")
	dir := filepath.Join(work.Path, ".gemini", "extensions", "theirs")
	write(t, filepath.Join(dir, "gemini-extension.json"), `{"name": "theirs"}`)
	write(t, filepath.Join(dir, "hooks", "hooks.json"), `{"hooks": {"BeforeTool": [{"hooks": [{"name": "look", "command": "true"}]}]}}`)
	h, _ := reviewing(t, false, work)
	if err := h.setTrust(work.Canonical, true); err != nil {
		t.Fatal(err)
	}
	l, err := h.Bundles().Find(t.Context(), work.Canonical, "theirs")
	if err == nil {
		err = h.Bundles().Approve(t.Context(), l.Bundle)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.settings.forget()
	runs := h.hooksOf(t.Context(), work.Canonical, "BeforeTool")
	told := h.explainHooks(work.Canonical)
	if len(runs) != 1 || runs[0].Problem != "" || len(told) != 1 || !told[0].Known {
		t.Errorf("runs %+v, told %+v", runs, told)
	}
}
