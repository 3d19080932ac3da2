package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// makeFiles makes files, and folders of the names that end in a slash.
func makeFiles(t testing.TB, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if name[len(name)-1] == '/' {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// inside returns a temporary folder without links in its path.
func inside(t testing.TB) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// look returns the places of a folder, relative to it.
func look(t testing.TB, s *tool.Survey, folder string, deny ...tool.Rule) tool.Places {
	t.Helper()
	found, err := s.Look(context.Background(), folder, deny)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]string{found.Credentials, found.Denied, found.Protected} {
		for i, path := range list {
			rel, err := filepath.Rel(folder, path)
			if err != nil {
				t.Fatal(err)
			}
			list[i] = filepath.ToSlash(rel)
		}
	}
	return found
}

// ruleOf parses an entry of a list of tools.
func ruleOf(t testing.TB, text string) tool.Rule {
	t.Helper()
	r, err := tool.ParseRule(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSEC17And20And60SurveyFindsThePlaces(t *testing.T) {
	folder := inside(t)
	makeFiles(t, folder,
		"main.go", ".env", ".env.example", "a/b/.ENV.local", "a/id_rsa", "home/.ssh/config", "home/.ssh/id_rsa", ".gemini/oauth_creds.json",
		".git/config", ".git/objects/x/.env", ".vscode/settings.json", "a/.github/workflows/ci.yml", "a/.github/CODEOWNERS", "AGENTS.md",
		"node_modules/x/.vscode/a", "node_modules/x/AGENTS.md", "node_modules/x/.env", "vendor/x/.git/config",
		"secrets/a", "Secrets/b", "other/secrets/a", "locked/a.txt", "dev/settings.txt", "dev/hidden/a",
	)
	for name, target := range map[string]string{"b.env": "dev/settings.txt", ".idea": "dev/hidden", ".aws": "/etc", "up": "..", ".netrc": "nothing"} {
		tooltest.Symlink(t, target, filepath.Join(folder, name))
	}
	s := tool.NewSurvey(time.Now)
	want := tool.Places{
		Credentials: []string{".env", ".gemini/oauth_creds.json", "a/b/.ENV.local", "a/id_rsa", "dev/settings.txt", "home/.ssh", "node_modules/x/.env"},
		Protected:   []string{".gemini", ".git", ".idea", ".vscode", "AGENTS.md", "a/.github/workflows", "dev/hidden", "vendor/x/.git"},
		Complete:    true,
	}
	if diff := cmp.Diff(want, look(t, s, folder)); diff != "" {
		t.Error(diff)
	}
	want.Denied = []string{"Secrets", "secrets"}
	want.Protected = append(want.Protected[:6:6], "dev/hidden", "locked", "vendor/x/.git")
	rules := []tool.Rule{ruleOf(t, "read_file(secrets/)"), ruleOf(t, "write_file(locked)"), ruleOf(t, "bash(a)"), ruleOf(t, "read_file")}
	if diff := cmp.Diff(want, look(t, s, folder, rules...)); diff != "" {
		t.Error(diff)
	}
	want.Denied = []string{"Secrets/b", "secrets/a"}
	rules[0] = ruleOf(t, "read_file(secrets/*)")
	if diff := cmp.Diff(want, look(t, s, folder, rules...)); diff != "" {
		t.Error(diff)
	}
}

func TestSurveySaysWhenItIsNotComplete(t *testing.T) {
	s := tool.NewSurvey(time.Now)
	folder := inside(t)
	for i := range 2_001 {
		makeFiles(t, folder, fmt.Sprintf("%d.env", i))
	}
	if found := look(t, s, folder); found.Complete || len(found.Credentials) != 2_000 {
		t.Errorf("of 2,001 credential files %d are listed, complete: %v", len(found.Credentials), found.Complete)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Look(ctx, folder, nil); err == nil {
		t.Error("a look that was cancelled has no error")
	}
	if _, err := s.Look(context.Background(), filepath.Join(folder, "missing"), nil); err == nil {
		t.Error("a folder that is not there has no error")
	}
	if os.Geteuid() == 0 {
		t.Skip("root reads every folder")
	}
	shut := inside(t)
	makeFiles(t, shut, "a/.env")
	if err := os.Chmod(filepath.Join(shut, "a"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Join(shut, "a"), 0o700) }()
	if look(t, s, shut).Complete {
		t.Error("a folder that the user can open again counts as looked through")
	}
}

// TestSurveyLooksAgain: after any changes a survey that looked before sees what
// one sees that looks for the first time.
func TestSurveyLooksAgain(t *testing.T) {
	names := []string{"a", "b", ".env", ".git", "secrets", "node_modules", "AGENTS.md", "x.pem"}
	rules := []tool.Rule{ruleOf(t, "read_file(**/secrets)")}
	rapid.Check(t, func(r *rapid.T) {
		folder, err := os.MkdirTemp(inside(t), "")
		if err != nil {
			t.Fatal(err)
		}
		path := func() string {
			parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(r, "path")
			return filepath.Join(append([]string{folder}, parts...)...)
		}
		s := tool.NewSurvey(time.Now)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0, 1:
				_ = os.MkdirAll(path(), 0o755)
			case 2:
				_ = os.WriteFile(path(), nil, 0o600)
			case 3:
				_ = os.Rename(path(), path())
			case 4:
				_ = os.RemoveAll(path())
			}
			again, fresh := look(t, s, folder, rules...), look(t, tool.NewSurvey(time.Now), folder, rules...)
			if diff := cmp.Diff(fresh, again); diff != "" {
				r.Fatal(diff)
			}
		}
	})
}

// TestSurveyForgetsNothingOfOthers: what is remembered goes by folder and rules.
func TestSurveyForgetsNothingOfOthers(t *testing.T) {
	s := tool.NewSurvey(time.Now)
	folder := inside(t)
	makeFiles(t, folder, "0/k", "1/k", "2/k", "3/k", "4/k", "5/k", "6/k", "7/k", "8/k", "9/k")
	for range 2 {
		for i := range 10 {
			name := fmt.Sprint(i)
			if got := look(t, s, folder, ruleOf(t, "read_file("+name+")")).Denied; !slices.Equal(got, []string{name}) {
				t.Errorf("rule for %s: %v", name, got)
			}
		}
	}
}

// BenchmarkSurvey is a look at a folder that was looked at before. The clock is
// ahead, as if the files had been made long ago.
func BenchmarkSurvey(b *testing.B) {
	for _, folders := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(folders*10), func(b *testing.B) {
			root := inside(b)
			for i := range folders {
				dir := filepath.Join(root, fmt.Sprint(i%20), fmt.Sprint(i%400/20), fmt.Sprint(i))
				for n := range 10 {
					makeFiles(b, dir, fmt.Sprintf("file%d.go", n))
				}
			}
			makeFiles(b, root, ".env", ".git/config", ".vscode/settings.json")
			s := tool.NewSurvey(func() time.Time { return time.Now().Add(time.Hour) })
			look(b, s, root)
			for b.Loop() {
				look(b, s, root)
			}
		})
	}
}
