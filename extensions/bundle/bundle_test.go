package bundle_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/extensions/hook"
	"github.com/agentls/agentls/workspace"
)

const manifest = `{"name": "tools", "version": "1.0.0", "contextFileName": "GEMINI.md",
	"mcpServers": {"srv": {"command": "node", "args": ["${extensionPath}${/}srv.js", "${workspacePath}"], "trust": true, "safeTools": ["x"]}}}`

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func whole() map[string]string {
	return map[string]string{
		bundle.ManifestName: manifest, "GEMINI.md": "Be kind.", "srv.js": "serve()", "other.txt": "x",
		"commands/go.toml": `prompt = "Go"`, "agents/helper.md": "---\nname: helper\n---\nYou help.",
		"hooks/hooks.json":   `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "bash ${extensionPath}/hooks/check.sh"}]}]}}`,
		"hooks/check.sh":     "exit 0",
		"skills/s/SKILL.md":  "---\nname: s\ndescription: d\n---\nDo.",
		"skills/s/extra.txt": "e",
	}
}

func store(t *testing.T) *bundle.Store {
	home := t.TempDir()
	return &bundle.Store{Home: home, State: filepath.Join(home, "agentls"), Named: workspace.ReadNamed}
}

func install(t *testing.T, s *bundle.Store, source string) *bundle.Bundle {
	t.Helper()
	staged, err := s.Stage(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	b, err := staged.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func names(items []bundle.Item) (all []string) {
	for _, i := range items {
		all = append(all, i.Kind+" "+i.Name)
	}
	return all
}

// TestSEC08ConsentCoversAll: everything that a bundle brings is listed before it is
// installed, nothing takes effect before it is approved, and staging starts nothing and
// leaves nothing.
func TestSEC08ConsentCoversAll(t *testing.T) {
	s := store(t)
	staged, err := s.Stage(t.Context(), write(t, t.TempDir(), whole()))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"MCP server srv", "hook BeforeTool", "command /go", "agent helper", "skill s", "context file GEMINI.md"}
	if got := names(staged.Items); !slices.Equal(got, want) {
		t.Errorf("it brings %q", got)
	}
	if all, err := s.List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("before consent: %v, %v", all, err)
	}
	if err := staged.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	// What lies there without having been approved by us takes no effect either.
	write(t, filepath.Join(s.Dir(), "tools"), whole())
	l, err := s.Find(t.Context(), "", "tools")
	if err != nil || l.State != bundle.Unapproved || len(l.News) != len(want) {
		t.Errorf("%v %v, %v", l.State, names(l.News), err)
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

// TestServers: variables are filled in, and a bundle does not say how far its server is
// trusted; one of a project stays behind a wall.
func TestServers(t *testing.T) {
	s := store(t)
	b := install(t, s, write(t, t.TempDir(), whole()))
	none := func(string) (string, bool) { return "", false }
	var d map[string]any
	if err := json.Unmarshal(b.Servers("/w", none)["srv"], &d); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(d["args"]); got != fmt.Sprintf("[%s /w]", filepath.Join(b.Folder, "srv.js")) {
		t.Error(got)
	}
	if len(d) != 2 {
		t.Errorf("%v", d)
	}
	project := t.TempDir()
	write(t, filepath.Join(project, ".gemini", "extensions", "mine"), map[string]string{bundle.ManifestName: strings.Replace(manifest, "tools", "mine", 1)})
	l, err := s.Find(t.Context(), project, "mine")
	if err != nil || l.State != bundle.Unapproved || l.Project != project {
		t.Fatalf("%+v, %v", l, err)
	}
	if got := string(l.Servers(project, none)["srv"]); !strings.Contains(got, `"sandbox":"write"`) {
		t.Error(got)
	}
	if !strings.Contains(string(b.Hooks("/w")), "bash ${extensionPath}/hooks/check.sh") {
		t.Errorf("%s", b.Hooks("/w"))
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

// entry is one entry of an archive that is made for a test.
type entry struct {
	name, text string
	kind       byte // of tar; 0 = a file
	link       string
}

func tarball(t *testing.T, entries []entry) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text)), Typeflag: e.kind, Linkname: e.link}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), map[string]string{"a.tar.gz": b.String()}) + "/a.tar.gz"
}

func zipped(t *testing.T, entries []entry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644)
		if e.kind == tar.TypeSymlink {
			h.SetMode(os.ModeSymlink | 0o777)
			e.text = e.link
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), map[string]string{"a.zip": b.String()}) + "/a.zip"
}

// TestSEC95Archives: what climbs out of an archive, is no plain file, is there twice or
// is a bomb is refused, and nothing of the archive is left.
func TestSEC95Archives(t *testing.T) {
	many := []entry{{name: bundle.ManifestName, text: manifest}}
	for i := range 10_001 {
		many = append(many, entry{name: fmt.Sprintf("f%d", i)})
	}
	ok := entry{name: bundle.ManifestName, text: manifest}
	for name, tt := range map[string]struct {
		entries []entry
		want    string // "" = it is installed
	}{
		"plain":          {[]entry{ok, {name: "srv.js", text: "x"}}, ""},
		"one folder":     {[]entry{{name: "tools-1.0/" + bundle.ManifestName, text: manifest}, {name: "tools-1.0/a/b.txt", text: "x"}}, ""},
		"up":             {[]entry{ok, {name: "../x", text: "x"}}, "leads out"},
		"up inside":      {[]entry{ok, {name: "a/../../x", text: "x"}}, "leads out"},
		"up and back":    {[]entry{ok, {name: "a/../b", text: "x"}}, "leads out"},
		"absolute":       {[]entry{ok, {name: "/tmp/x", text: "x"}}, "leads out"},
		"backslash":      {[]entry{ok, {name: `a\..\..\x`, text: "x"}}, "leads out"},
		"drive":          {[]entry{ok, {name: "C:/x", text: "x"}}, "leads out"},
		"link":           {[]entry{ok, {name: "l", kind: tar.TypeSymlink, link: "/etc"}, {name: "l/passwd", text: "x"}}, "neither a file nor a folder"},
		"twice":          {[]entry{ok, {name: "x", text: "1"}, {name: "x", text: "2"}}, "two entries"},
		"capitals":       {[]entry{ok, {name: "x", text: "1"}, {name: "X", text: "2"}}, "two entries"},
		"folder, file":   {[]entry{ok, {name: "x/y", text: "1"}, {name: "x", text: "2"}}, "two entries"},
		"folders":        {[]entry{ok, {name: "x/y", text: "1"}, {name: "X/z", text: "2"}}, "two entries"},
		"bomb":           {[]entry{ok, {name: "x", text: strings.Repeat("0", 8<<20)}}, "bomb"},
		"large":          {[]entry{ok, {name: "x", text: noise(65 << 20)}}, "more than"},
		"entries":        {many, "more than 10000 entries"},
		"not a manifest": {[]entry{{name: "x", text: "x"}}, "there is no gemini-extension.json"},
	} {
		for format, pack := range map[string]func(*testing.T, []entry) string{"tar.gz": tarball, "zip": zipped} {
			t.Run(name+" "+format, func(t *testing.T) {
				if testing.Short() && name == "large" {
					t.Skip("it writes 65 MiB")
				}
				s := store(t)
				staged, err := s.Stage(t.Context(), pack(t, tt.entries))
				if tt.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					if _, err := staged.Commit(t.Context()); err != nil {
						t.Error(err)
					}
					if l, err := s.Find(t.Context(), "", "tools"); err != nil || l.State != bundle.Active {
						t.Errorf("%v %v", l.State, err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q in it", err, tt.want)
				}
				if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
					t.Errorf("left behind: %v", entries)
				}
			})
		}
	}
	for name, kind := range map[string]byte{"hard link": tar.TypeLink, "device": tar.TypeChar, "pipe": tar.TypeFifo} {
		if _, err := store(t).Stage(t.Context(), tarball(t, []entry{ok, {name: "d", kind: kind, link: bundle.ManifestName}})); err == nil || !strings.Contains(err.Error(), "neither a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// noise is text that does not pack.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return string(b)
}

// TestGit: a repository is cloned without its history and its hooks.
func TestGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
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

// hooksOf reads what the hooks of a bundle run, as the daemon does.
func hooksOf(t *testing.T, b *bundle.Bundle, workspace string) []hook.Described {
	t.Helper()
	list, _ := hook.Parse(b.Hooks(workspace), b.Project != "", func(string) (string, bool) { return "", true })
	return list
}

// TestSEC92BundleVariables: a folder's name is never part of a line for the shell; the
// hook has it in its environment. Words of a program without a shell are filled in.
func TestSEC92BundleVariables(t *testing.T) {
	files := whole()
	files["hooks/hooks.json"] = `{"hooks": {"BeforeTool": [{"hooks": [
		{"command": "cd \"${workspacePath}\" && bash ${extensionPath}${/}hooks${/}check.sh"},
		{"command": "${extensionPath}/hooks/check.sh", "args": ["${workspacePath}"]}]}]}}`
	b := install(t, store(t), write(t, t.TempDir(), files))
	const evil = "/w/x`touch canary`"
	list := hooksOf(t, b, evil)
	if len(list) != 2 || list[0].Command != `cd "${workspacePath}" && bash ${extensionPath}/hooks/check.sh` {
		t.Fatalf("%+v", list)
	}
	if list[1].Command != b.Dir+"/hooks/check.sh" || !slices.Equal(list[1].Args, []string{evil}) {
		t.Errorf("%+v", list[1])
	}
	if got := b.Variables(evil); !slices.Equal(got, []string{"extensionPath=" + b.Dir, "pathSeparator=/", "workspacePath=" + evil}) {
		t.Errorf("%q", got)
	}
}

// TestSEC10And11And96FilesThatRun: the files that a server or a hook runs are part of what
// is approved, however they are named: below its cwd, with path characters in the bundle's
// own path, by an interpreter's rules, and in the project of a project's bundle.
func TestSEC10And11And96FilesThatRun(t *testing.T) {
	server := func(description string) string {
		return `{"name": "tools", "mcpServers": {"srv": ` + description + `}}`
	}
	for name, tt := range map[string]struct{ manifest, hook, file string }{
		"cwd":         {server(`{"command": "node", "args": ["main.js"], "cwd": "${extensionPath}/server"}`), "", "server/main.js"},
		"no ending":   {server(`{"command": "node", "args": ["${extensionPath}/dist/index"]}`), "", "dist/index.js"},
		"npm":         {server(`{"command": "npm", "args": ["start"], "cwd": "${extensionPath}"}`), "", "package.json"},
		"module":      {server(`{"command": "python3", "args": ["-m", "tools.srv"], "cwd": "${extensionPath}"}`), "", "tools/srv.py"},
		"quoted":      {server(`{"command": "x"}`), `bash \"${extensionPath}\"/run.sh`, "run.sh"},
		"no brackets": {server(`{"command": "x"}`), `bash $extensionPath/run.sh`, "run.sh"},
		"workspace":   {server(`{"command": "x"}`), `bash ${workspacePath}/run.sh`, "../../../run.sh"},
		"relative":    {server(`{"command": "x"}`), `./run.sh`, "../../../run.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			project := filepath.Join(t.TempDir(), "a b;c=d")
			dir := filepath.Join(project, ".gemini", "extensions", "tools")
			write(t, dir, map[string]string{bundle.ManifestName: tt.manifest, tt.file: `{"a": 1}`})
			if tt.hook != "" {
				write(t, dir, map[string]string{"hooks/hooks.json": `{"hooks": {"BeforeTool": [{"hooks": [{"command": "` + tt.hook + `"}]}]}}`})
			}
			l, err := s.Find(t.Context(), project, "tools")
			if err != nil || l.Problem != "" {
				t.Fatal(err, l.Problem)
			}
			if err := s.Approve(t.Context(), l.Bundle); err != nil {
				t.Fatal(err)
			}
			if l, _ := s.Find(t.Context(), project, "tools"); l.State != bundle.Active {
				t.Fatalf("approved: %v", l.State)
			}
			write(t, dir, map[string]string{tt.file: `{"a": 2}`})
			if l, _ := s.Find(t.Context(), project, "tools"); l.State != bundle.Unapproved {
				t.Errorf("changed: %v", l.State)
			}
		})
	}
}

// TestSEC08ConsentShowsWhatRuns: words, matchers, walls, names of variables and headers,
// and the person's variables that a bundle is given, as they are read when they are run.
func TestSEC08ConsentShowsWhatRuns(t *testing.T) {
	files := whole()
	files[bundle.ManifestName] = `{"name": "tools", "mcpServers": {
		"far": {"httpUrl": "https://x.example", "headers": {"X-Key": "${MY_KEY}"}},
		"near": {"command": "nothing-there", "sandbox": "full", "env": {"TOKEN": "$MY_TOKEN"}}}}`
	files["hooks/hooks.json"] = `{"hooks": {"BeforeTool": [{"matcher": "bash", "hooks": [
		{"command": "./check", "args": ["--all"], "sandbox": "read", "Sandbox": "full", "env": {"LEVEL": "${MY_LEVEL}"}}]}]}}`
	b := install(t, store(t), write(t, t.TempDir(), files))
	got := map[string]string{}
	for _, item := range b.Items {
		got[item.Name] = item.Detail
	}
	for name, want := range map[string]string{
		"far":        "https://x.example  with headers X-Key  reads MY_KEY",
		"near":       "nothing-there  (sandbox: full)  with TOKEN  reads MY_TOKEN",
		"BeforeTool": "bash: ./check --all (sandbox: read) with LEVEL  reads MY_LEVEL",
	} {
		if got[name] != want {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	files["hooks/hooks.json"] = `{"hooks": {"BeforeTool": [{"hooks": [{"command": "good", "command": "bad"}]}]}}`
	if _, err := store(t).Stage(t.Context(), write(t, t.TempDir(), files)); err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Errorf("a member that is there twice: %v", err)
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

// TestSEC95DirectoryOfAZip: the directory of an archive is not read without a bound,
// whatever count its end gives.
func TestSEC95DirectoryOfAZip(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 200_000 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := write(t, t.TempDir(), map[string]string{"a.zip": b.String()}) + "/a.zip"
	if _, err := store(t).Stage(t.Context(), path); err == nil || !strings.Contains(err.Error(), "or their names are too long") {
		t.Error(err)
	}
}
