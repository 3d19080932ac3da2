package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// behind gives a call's Env a wall and what it needs to know of the workspace, or
// skips the test where that wall does not stand.
func behind(t testing.TB, env *tool.Env, wall sandbox.Wall) {
	t.Helper()
	env.Sandbox = sandbox.New(sandbox.Config{Home: env.Home, State: filepath.Join(t.TempDir(), "state"), Environ: env.Environ, Walls: []sandbox.Wall{wall}})
	survey := tool.NewSurvey(time.Now)
	env.Survey = func(ctx context.Context, folder string) (tool.Places, error) { return survey.Look(ctx, folder, nil) }
	if got, why := env.Sandbox.Wall(); got != wall {
		if runtime.GOOS == "linux" && os.Getenv("CI") != "" {
			t.Fatalf("%s does not work here: %s", wall, why)
		}
		t.Skipf("%s does not work here: %s", wall, why)
	}
}

// TestWhatStandsInTheWayOfGit is told with what to do: a credential file that git
// tracks is hidden, and a repository that a command makes does not stay.
func TestWhatStandsInTheWayOfGit(t *testing.T) {
	y := newYard(t, true)
	y.Put(t, ".kube/config", "hidden\n")
	y.git(t, "add", "-f", ".env", ".kube")
	y.git(t, "commit", "-qm", "with .env")
	y.git(t, "checkout", "-qb", "other")
	y.Put(t, ".env", "KEY=another\n")
	y.git(t, "commit", "-qam", "another")
	y.git(t, "checkout", "-q", "main")
	env := y.Env()
	env.Home, env.Environ = y.home, append(os.Environ(), "HOME="+y.home)
	behind(t, env, sandbox.Bubblewrap)
	const hidden, folder = "the sandbox hides .env from commands", "the sandbox hides .kube from commands"
	for text, want := range map[string]string{
		"git reset --hard": hidden, "git checkout -q other": hidden, "git stash": hidden, "git add -A": hidden, "git checkout .": hidden,
		"git merge other": hidden, "git rm .env": hidden, "rm .env": hidden, "git update-index .kube/config": folder, "git restore b.txt": "", "git checkout nothing": "",
		"git init -q new": "(git init, git clone) can ask with access: full", "git clone -q . new": "(git init, git clone) can ask with access: full",
	} {
		r := call(t, env, "bash", "command", text, "access", "write")
		_, note, _ := strings.Cut(r.Content, "Note: ")
		if note, _, _ = strings.Cut(note, "\n"); !strings.Contains(note, want) || (want == "" && note != "") {
			t.Errorf("%s: %s", text, r.Content)
		}
	}
}

// TestSEC19ManyFilesHideNoProtectedPlace: however many places a command makes, those
// at the top of the folder are moved away, and who could be fooled by others is told.
func TestSEC19ManyFilesHideNoProtectedPlace(t *testing.T) {
	const evil = "; touch .envrc; mkdir -p .vscode .github/workflows; echo '{}' | tee .vscode/tasks.json .github/workflows/x.yml"
	for name, text := range map[string]string{
		"credential files":      "touch .env.{0000..2100}" + evil,
		"protected files":       "touch .{0000..2100}.code-workspace" + evil,
		"a folder that is shut": "mkdir -p a/.vscode; chmod 0 a" + evil,
		"the folder is shut":    "chmod a-r ." + evil,
	} {
		for _, wall := range []sandbox.Wall{sandbox.Bubblewrap, sandbox.Landlock} {
			t.Run(name+"/"+string(wall), func(t *testing.T) {
				if os.Geteuid() == 0 && strings.Contains(text, "chmod") {
					t.Skip("root reads every folder")
				}
				y := newYard(t, true)
				env := y.Env()
				env.Home, env.Environ = y.home, append(os.Environ(), "HOME="+y.home)
				behind(t, env, wall)
				r := call(t, env, "bash", "command", text, "access", "write")
				_ = os.Chmod(y.Folder, 0o755)    // for the look at it
				_ = os.Chmod(y.Path("a"), 0o755) // and to remove it
				for _, place := range []string{".envrc", ".vscode", ".github/workflows"} {
					if _, err := os.Lstat(y.Path(place)); err == nil && name != "the folder is shut" {
						t.Errorf("%s is there", place)
					}
				}
				if !strings.Contains(r.Content, "could not be looked through after the command") || len(r.Content) > 20_000 {
					t.Errorf("%d characters: %.2000s", len(r.Content), r.Content)
				}
			})
		}
	}
}

// TestBackgroundCommandsTellWhatTheWallDid when they have ended, as others do.
func TestBackgroundCommandsTellWhatTheWallDid(t *testing.T) {
	y := newYard(t, true)
	env := y.Env()
	env.Home, env.Environ = y.home, append(os.Environ(), "HOME="+y.home)
	behind(t, env, sandbox.Bubblewrap)
	told := make(chan []string, 1)
	env.Background = func(task func(context.Context) []string) { go func() { told <- task(t.Context()) }() }
	call(t, env, "bash", "command", "touch .envrc", "access", "write", "background", true)
	if notes := strings.Join(<-told, "; "); !strings.Contains(notes, ".envrc is a protected place that the command made") {
		t.Errorf("told %q", notes)
	}
}
