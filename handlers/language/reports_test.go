package language

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// TestLostTextsAreNotJudged: a file of which the client has a newer text than we know
// is not found valid or invalid by the old one, however it is asked for. The control:
// the same questions before a change was lost.
func TestLostTextsAreNotJudged(t *testing.T) {
	const known, unsaved, elsewhere = ".gemini/agents/fix.md", ".gemini/agents/new.md", "notes/fix.md"
	for _, open := range []string{known, unsaved, elsewhere} {
		h, named := authored(t, map[string]string{known: fixAgent})
		h.now(t, workspace.Opened{URI: named(open), LanguageID: "markdown", Version: 1, Text: fixAgent})
		ask := func(name, file string) (int, error) {
			got, err := h.validate(t.Context(), h.Workspace.Snapshot(), &wire.ValidateParams{Name: name, URI: file})
			if err != nil {
				return 0, err
			}
			return len(got.Results), nil
		}
		for _, after := range []bool{false, true} {
			if after {
				h.lose(t, named(open))
			}
			for what, c := range map[string]struct {
				name, file string
				lost       bool
			}{
				"the file": {"", string(named(open)), true},
				"the name": {"fix", "", open == known},
				"all":      {"", "", open != elsewhere},
			} {
				n, err := ask(c.name, c.file)
				if after && c.lost {
					if fault.KindOf(err) != fault.Stale || !strings.Contains(fault.Message(err), "open it again") {
						t.Errorf("%s lost, %s: %v", open, what, err)
					}
				} else if n == 0 || err != nil {
					t.Errorf("%s, %s: %d results, %v", open, what, n, err)
				}
			}
		}
		if _, err := h.explain(t.Context(), h.Workspace.Snapshot(), &wire.ExplainParams{URI: string(named(open))}); fault.KindOf(err) != fault.Stale {
			t.Errorf("%s is explained: %v", open, err)
		}
	}
}

// TestLinkedFilesAreJudgedAsTheyAreOpen: an agent's file that is a link is what the
// editor shows of the file that it leads to.
func TestLinkedFilesAreJudgedAsTheyAreOpen(t *testing.T) {
	const link, target = ".gemini/agents/fix.md", "shared/fix.md"
	h, named := authored(t, map[string]string{target: fixAgent, ".gemini/agents/boss.md": bossAgent})
	if err := os.Symlink(filepath.Join("..", "..", "shared", "fix.md"), named(link).FsPath()); err != nil {
		t.Fatal(err)
	}
	folder := workspace.CanonicalPath(named("").FsPath())
	catalog, err := registry.New(registry.Config{Places: []registry.Place{{Scope: definition.Project, Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder}}}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Catalog = func(context.Context) (*registry.Snapshot, error) { return catalog, nil }
	valid := func() (bool, error) {
		got, err := h.validate(t.Context(), h.Workspace.Snapshot(), &wire.ValidateParams{Name: "fix"})
		return err == nil && len(got.Results) == 1 && got.Results[0].Passed == got.Results[0].Total, err
	}
	if ok, err := valid(); !ok {
		t.Fatalf("on the disk: %v", err)
	}
	h.now(t, workspace.Opened{URI: named(target), Version: 1, Text: strings.Replace(fixAgent, "title: T", "temperature: hot", 1)})
	if ok, err := valid(); ok || err != nil {
		t.Errorf("what is not saved is not looked at: %v", err)
	}
	h.lose(t, named(target))
	if _, err := valid(); fault.KindOf(err) != fault.Stale {
		t.Errorf("lost: %v", err)
	}
}

// TestAValidatorThatHasComeIsSeen: what was read of an open file before does not say
// that it is still missing.
func TestAValidatorThatHasComeIsSeen(t *testing.T) {
	const guarded = ".gemini/agents/g.md"
	h, named := authored(t, nil)
	there := false
	h.daemon.Knowledge.Installed.Validator = func(string, string) bool { return there }
	h.now(t, workspace.Opened{URI: named(guarded), Version: 1, Text: "---\nkind: agent\nname: g\ntitle: G\nguardrails: {custom_validator: v}\n---\nx\n"})
	for _, there = range []bool{false, true, false} {
		got, err := h.validate(t.Context(), h.Workspace.Snapshot(), &wire.ValidateParams{URI: string(named(guarded))})
		if err != nil || (got.Results[0].Passed == got.Results[0].Total) != there {
			t.Errorf("with the validator %v: %+v, %v", there, got, err)
		}
	}
}

// TestAValidatorThatHasComeIsSeenBesideAReading: nor does what somebody reads of it
// meanwhile, who began before.
func TestAValidatorThatHasComeIsSeenBesideAReading(t *testing.T) {
	const guarded, text = ".gemini/agents/g.md", "---\nkind: agent\nname: g\ntitle: G\nguardrails: {custom_validator: v}\n---\nx\n"
	for what, c := range map[string]struct{ name, disk string }{
		"the name": {"g", text}, "all": {"", text}, "all, not on the disk": {"", ""},
	} {
		files := map[string]string{}
		if c.disk != "" {
			files[guarded] = c.disk
		}
		h, named := authored(t, files)
		s := h.now(t, workspace.Opened{URI: named(guarded), Version: 1, Text: text})
		d, _ := s.Document(named(guarded))
		h.daemon.Knowledge.Installed.Validator = func(string, string) bool { return false }
		if _, ok := (&Query{h: h, Snapshot: s}).file(d.URI); !ok {
			t.Fatal("it is no agent file")
		}
		before := h.written.open.get(d)
		h.daemon.Knowledge.Installed.Validator = func(string, string) bool { return true }
		// It is asked for before each look at what is kept.
		h.daemon.Knowledge.Generation = func() uint64 { h.written.open.put(h.Workspace, d, before); return 0 }
		got, err := h.validate(t.Context(), s, &wire.ValidateParams{Name: c.name})
		if err != nil || len(got.Results) != 1 || got.Results[0].Passed != got.Results[0].Total {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestReportsLine: what is told of a validation where no document can be shown is
// one line.
func TestReportsLine(t *testing.T) {
	good := validated{Report: language.Report{Agent: "good", Passed: 1, Total: 1, Checks: []language.Check{{OK: true}}}}
	bad := validated{Report: language.Report{Agent: "bad", Total: 1, Checks: []language.Check{{Message: "The front-matter is missing."}}}}
	for want, reports := range map[string]Validations{
		"There are no agent files to check.": nil,
		"good: ✓ Valid":                      {good},
		"2 agents, all valid":                {good, good},
		"3 agents, 1 invalid: bad; see why with agentls validate NAME":      {good, bad, good},
		"2 agents, 2 invalid: bad, bad; see why with agentls validate NAME": {bad, bad},
	} {
		if got := reports.Line(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
