package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
)

// place makes a workspace /…/proj with a home beside it, and returns an Env of
// it.
func place(t testing.TB) *tool.Env {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"proj/sub/.git", "proj-evil", "home/.ssh", "home/.gemini/agentls", "extra", "blobs"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"proj/a", "proj-evil/x", "home/.ssh/id_rsa", "extra/e", "blobs/b"} {
		if err := os.WriteFile(filepath.Join(base, file), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &tool.Env{
		Folder: filepath.Join(base, "proj"), Folders: []string{filepath.Join(base, "proj"), filepath.Join(base, "extra")},
		Home: filepath.Join(base, "home"), Blobs: filepath.Join(base, "blobs"),
	}
}

func code(err error) string {
	if e, ok := err.(*tool.Error); ok {
		return e.Code
	}
	return ""
}

func TestSEC53PathsAreComparedByElement(t *testing.T) {
	env := place(t)
	base := filepath.Dir(env.Folder)
	for path, want := range map[string]string{
		"a": "a", "./a": "a", "sub/../a": "a", "new/deep/file": "new/deep/file", env.Folder: ".", filepath.Join(base, "extra", "e"): filepath.Join(base, "extra", "e"),
		env.Folder + "/../proj/a": "a",
	} {
		p, err := tool.Resolve(env, path)
		if err != nil || p.Rel != want {
			t.Errorf("%q: %q, %v; want %q", path, p.Rel, err, want)
		}
	}
	for _, path := range []string{
		filepath.Join(base, "proj-evil", "x"), env.Folder + "/../proj-evil/x", "../proj-evil/x", "..", "/", "/etc/passwd", "sub/../../proj-evil", filepath.Join(base, "blobs", "b"),
		"/proc/self/environ", "/dev/fd/0",
	} {
		if p, err := tool.Resolve(env, path); code(err) != tool.CodeOutside {
			t.Errorf("%q: %+v, %v", path, p, err)
		}
	}
	if p, err := tool.ResolveReadable(env, filepath.Join(base, "blobs", "b")); err != nil || !p.Blob {
		t.Errorf("a blob: %+v, %v", p, err)
	}
	for _, path := range []string{"", "a\x00b"} {
		if _, err := tool.Resolve(env, path); code(err) != tool.CodeArgs {
			t.Errorf("%q: %v", path, err)
		}
	}
	// A workspace that is the root has no kernel in it.
	root := &tool.Env{Folder: "/", Folders: []string{"/"}}
	for _, path := range []string{"/proc/self/environ", "dev/fd/0", "/sys/kernel"} {
		if _, err := tool.Resolve(root, path); code(err) != tool.CodeOutside {
			t.Errorf("%q below the root: %v", path, err)
		}
	}
}

// TestFolderThatIsGone: where the working folder was removed, that is said, and
// not that each file in it does not exist.
func TestFolderThatIsGone(t *testing.T) {
	env := place(t)
	if err := os.RemoveAll(env.Folder); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "new/deep/file", ".", env.Folder} {
		_, err := tool.Resolve(env, path)
		if code(err) != tool.CodeNotFound || !strings.Contains(err.Error(), "the folder "+env.Folder+" is not there any more") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := tool.Resolve(env, filepath.Join(filepath.Dir(env.Folder), "extra", "e")); err != nil {
		t.Error(err)
	}
	env.Blobs = filepath.Join(env.Blobs, "none") // is made when it is needed
	if _, err := tool.ResolveReadable(env, filepath.Join(env.Blobs, "b")); err != nil {
		t.Error(err)
	}
}

func TestSEC54LinksThatLeadOutAreNamed(t *testing.T) {
	env := place(t)
	link := func(name, target string) {
		if err := os.Symlink(target, filepath.Join(env.Folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(env.Home, ".ssh/id_rsa")
	link("key", key)
	link("up", "..")
	link("dangling", filepath.Join(env.Home, "not-there"))
	link("loop", "loop")
	link("chain", "key")
	link("inside", "a")
	link("git", "sub/.git")
	for path, target := range map[string]string{
		"key": key, "chain": key, "up/proj-evil/x": "proj-evil/x", "up": filepath.Dir(env.Folder), "dangling": "not-there", "dangling/x": "not-there/x",
	} {
		_, err := tool.Resolve(env, path)
		if code(err) != tool.CodeOutside || !strings.Contains(err.Error(), "leaves the workspace") || !strings.Contains(err.Error(), target) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := tool.Resolve(env, "loop"); err == nil {
		t.Error("a loop was followed")
	}
	if p, err := tool.Resolve(env, "inside"); err != nil || p.Rel != "a" || !p.Exists() {
		t.Errorf("inside: %+v, %v", p, err)
	}
	if p, err := tool.Resolve(env, "git/config"); err != nil || !p.Protected {
		t.Errorf("a link into .git: %+v, %v", p, err)
	}
	// What a link leads to counts, and where it stands counts too.
	if err := os.Symlink("../../a", filepath.Join(env.Folder, "sub/.git/hook")); err != nil {
		t.Fatal(err)
	}
	if p, err := tool.Resolve(env, "sub/.git/hook"); err != nil || !p.Protected {
		t.Errorf("a link in .git: %+v, %v", p, err)
	}
}

func TestSEC17And18ProtectedNames(t *testing.T) {
	env := place(t)
	for _, path := range []string{
		".git/config", ".git", "sub/.git/hooks/x", ".gemini/settings.json", ".gemini/agents/a.md", ".vscode/tasks.json", ".idea/x", "x.code-workspace", ".mcp.json",
		".cursor/x", ".claude/settings.json", ".codex/x", ".envrc", ".husky/pre-commit", ".github/workflows/ci.yml", ".devcontainer/devcontainer.json", "lefthook.yml",
		"GEMINI.md", "docs/GEMINI.md", ".gitlab-ci.yml", "Jenkinsfile", ".gitmodules",
		// SEC-18: the same by other spellings.
		".GIT/config", ".Git", ".git.", ".git ", ".git. .", ".git::$DATA", ".git:x", "./x/../.git/config", ".g\u200cit/config", "\uff0egit/config", "\uff0e\uff47\uff49\uff54/x",
		".gi\u0307t/x", "GIT~1/config", "git~1", ".\u0130dea/x", ".v\u017fcode/x", "gemini.MD", ".husKy/x", ".hus\u212ay/x",
	} {
		p, err := tool.Resolve(env, path)
		if err != nil || !p.Protected || p.ProtectedBy == "" {
			t.Errorf("%q: protected %v by %q, %v", path, p.Protected, p.ProtectedBy, err)
		}
	}
	for _, path := range []string{"a", "git/x", ".github/ISSUE_TEMPLATE.md", "src/main.go", "package.json", ".gitignore", "agit/.x", "README.md"} {
		if p, err := tool.Resolve(env, path); err != nil || p.Protected {
			t.Errorf("%q: %+v, %v", path, p, err)
		}
	}
}

func TestSEC20CredentialsAndHome(t *testing.T) {
	env := place(t)
	for _, path := range []string{".env", "sub/.env.local", ".ssh/config", "id_rsa", "x/.aws/credentials", ".netrc", ".npmrc", ".ENV", ".git-credentials"} {
		if p, err := tool.Resolve(env, path); err != nil || !p.Credential || p.Sealed == "" || p.Revealed {
			t.Errorf("%q: %+v, %v", path, p, err)
		}
	}
	for _, path := range []string{".env.example", "env", "id_rsa.pub", "a"} {
		if p, err := tool.Resolve(env, path); err != nil || p.Credential || p.Sealed != "" {
			t.Errorf("%q: %+v, %v", path, p, err)
		}
	}
	env.Reveal = []string{filepath.Join(env.Folder, ".env")}
	if p, err := tool.Resolve(env, ".env"); err != nil || !p.Revealed || p.Sealed == "" {
		t.Errorf("a file that the user's rule names: %+v, %v", p, err)
	}
	// The home folder as the workspace.
	home := &tool.Env{Folder: env.Home, Folders: []string{env.Home}, Home: env.Home}
	for _, path := range []string{".bashrc", ".profile", ".zshenv", ".ssh/authorized_keys", ".gitconfig", ".config/git/config", ".npmrc", ".netrc", ".config/systemd/user/x.service", ".config/autostart/x", ".gemini/agentls/trust.json", ".gemini/settings.json"} {
		if p, err := tool.Resolve(home, path); err != nil || p.Sealed == "" {
			t.Errorf("~/%s may be written: %+v, %v", path, p, err)
		}
	}
	if p, err := tool.Resolve(home, "code/x"); err != nil || p.Sealed != "" {
		t.Errorf("~/code/x: %+v, %v", p, err)
	}
	// A workspace below a dot-folder of home is the workspace's.
	below := filepath.Join(env.Home, ".config/nvim")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if p, err := tool.Resolve(&tool.Env{Folder: below, Home: env.Home}, "init.lua"); err != nil || p.Sealed != "" {
		t.Errorf("a workspace in ~/.config/nvim: %+v, %v", p, err)
	}
}

func FuzzSEC53Resolve(f *testing.F) {
	env := place(f)
	if err := os.Symlink("..", filepath.Join(env.Folder, "up")); err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"a", "../x", "/etc", "up/x", ".git::$DATA", "sub/../..//a", "~", "a/b/../../..", "up/proj/a", "\\..\\x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := tool.Resolve(env, path)
		if err != nil {
			if code(err) == "" {
				t.Errorf("%q: %v is nothing that a model can mend", path, err)
			}
			return
		}
		in := false
		for _, folder := range env.Folders {
			in = in || p.Real == folder || strings.HasPrefix(p.Real, folder+"/")
		}
		if !in {
			t.Errorf("%q leads to %q", path, p.Real)
		}
	})
}

func FuzzSEC18ProtectedSpellings(f *testing.F) {
	for _, s := range []string{".git/x", "x/.GIT", "a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if tool.WhyProtected(path) == "" {
			return
		}
		if tool.WhyProtected(strings.ToUpper(path)) == "" && strings.ToLower(strings.ToUpper(path)) == path {
			t.Errorf("%q is protected, in capitals it is not", path)
		}
	})
}

// deep makes a file six folders down in a workspace of four folders, of which one
// lies in another.
func deep(t testing.TB) (env *tool.Env, path string) {
	t.Helper()
	env = place(t)
	path = "one/two/three/four/five/six/file.go"
	for _, dir := range []string{filepath.Dir(path), "inner"} {
		if err := os.MkdirAll(filepath.Join(env.Folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(env.Folder, path), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	env.Folders = append(env.Folders, filepath.Join(env.Folder, "inner"), filepath.Join(filepath.Dir(env.Folder), "proj-evil"))
	return env, path
}

func BenchmarkResolve(b *testing.B) {
	env, path := deep(b)
	b.Run("relative", func(b *testing.B) {
		for b.Loop() {
			if _, err := tool.Resolve(env, path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("absolute", func(b *testing.B) {
		abs := filepath.Join(env.Folder, path)
		for b.Loop() {
			if _, err := tool.Resolve(env, abs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hard-link", func(b *testing.B) {
		if err := os.Link(filepath.Join(env.Folder, path), filepath.Join(env.Folder, "other")); err != nil {
			b.Skip(err)
		}
		for b.Loop() {
			if _, err := tool.Resolve(env, path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestWithinIsThatOfFilepath: comparing letters says what filepath.Rel says.
func TestWithinIsThatOfFilepath(t *testing.T) {
	parts := []string{"", ".", "..", "a", "ab", "b", "..a"}
	var paths []string
	for _, x := range parts {
		for _, y := range parts {
			for _, z := range parts {
				paths = append(paths, "/"+x+"/"+y+"/"+z, "/"+x+"/"+y, "/"+x)
			}
		}
	}
	for _, folder := range paths {
		for _, path := range paths {
			rel, err := filepath.Rel(folder, path)
			want := err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
			if got := tool.Within(folder, path); got != want {
				t.Fatalf("%q within %q: %v, want %v", path, folder, got, want)
			}
		}
	}
}

// TestPlaceSaysWhereItIsOpened: through the outermost of the folders that hold it,
// since the inner one may have become a link.
func TestPlaceSaysWhereItIsOpened(t *testing.T) {
	env, _ := deep(t)
	inner := filepath.Join(env.Folder, "inner")
	p, err := tool.Resolve(env, "inner/new")
	if err != nil || p.Folder != inner || p.Root != env.Folder {
		t.Errorf("%+v, %v", p, err)
	}
	if err := os.Remove(inner); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(env.Home, ".ssh"), inner); err != nil {
		t.Fatal(err)
	}
	if p, err := tool.Resolve(env, "inner/id_rsa"); code(err) != tool.CodeOutside {
		t.Errorf("a workspace folder that became a link: %+v, %v", p, err)
	}
	if data, err := os.ReadFile(filepath.Join(inner, "id_rsa")); err != nil || string(data) != "x" {
		t.Errorf("positive control: %q, %v", data, err)
	}
	// The workspace folder itself.
	if err := os.Rename(env.Folder, env.Folder+"-was"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(env.Home, env.Folder); err != nil {
		t.Fatal(err)
	}
	if p, err := tool.Resolve(env, ".ssh/id_rsa"); code(err) != tool.CodeOutside {
		t.Errorf("a workspace that became a link: %+v, %v", p, err)
	}
}
