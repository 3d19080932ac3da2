//go:build unix

package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// brings returns the items of a folder by name.
func brings(t testing.TB, folder string) map[string]TrustItem {
	t.Helper()
	a, err := ReadActive(t.Context(), folder)
	must(t, err)
	all := make(map[string]TrustItem)
	for _, item := range a.Items {
		if DigestOf(item.Text) != item.Digest {
			t.Errorf("%s: the digest is another text's", item.Name)
		}
		all[item.Name] = item
	}
	return all
}

func writeFile(t testing.TB, text string, elements ...string) {
	t.Helper()
	path := filepath.Join(elements...)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// What an approved hook or server is: command, arguments, folder, environment,
// and what lies in each file of the folder that these name.
func TestSEC10And11WhatACommandNamesBelongsToIt(t *testing.T) {
	const settings = `{
  // as people write it
  "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "sh -c './h.sh --now'"}]}], "AfterTool": []},
  "mcpServers": {"db": {"command": "node", "args": ["server.js"], "cwd": "srv", "env": {"A": "x"}}, "far": {"url": "https://example.com"}},
  "model": {"name": "flash"},
}`
	dir := t.TempDir()
	writeFile(t, settings, dir, ProjectSettings)
	writeFile(t, "true", dir, "h.sh")
	writeFile(t, "1", dir, "srv", "server.js")
	const hook, server = ProjectSettings + "#hooks.BeforeTool", ProjectSettings + "#mcpServers.db"
	before := brings(t, dir)
	if before[hook].Label != "BeforeTool: sh -c './h.sh --now' (sandbox: write)" || before[server].Label != "db: node server.js (sandbox: write)" || len(before) != 4 {
		t.Fatalf("%+v", before)
	}
	if a, err := ReadActive(t.Context(), dir); err != nil || strings.Join(a.Settings, " ") != "model.name" {
		t.Errorf("%v, %v", a.Settings, err)
	}
	for name, c := range map[string]struct {
		change func()
		what   string
	}{
		"the script of a hook":   {func() { writeFile(t, "evil", dir, "h.sh") }, hook},
		"its arguments":          {func() { writeFile(t, strings.Replace(settings, "--now", "--all", 1), dir, ProjectSettings) }, hook},
		"the script of a server": {func() { writeFile(t, "2", dir, "srv", "server.js") }, server},
		"its cwd":                {func() { writeFile(t, strings.Replace(settings, `"srv"`, `"."`, 1), dir, ProjectSettings) }, server},
		"its env":                {func() { writeFile(t, strings.Replace(settings, `"A": "x"`, `"B": "x"`, 1), dir, ProjectSettings) }, server},
		"its args": {func() {
			writeFile(t, strings.Replace(settings, `"server.js"`, `"server.js", "-x"`, 1), dir, ProjectSettings)
		}, server},
	} {
		c.change()
		for what, item := range brings(t, dir) {
			if changed := item.Digest != before[what].Digest; changed != (what == c.what) {
				t.Errorf("%s: %s changed: %v", name, what, changed)
			}
		}
		writeFile(t, settings, dir, ProjectSettings)
		writeFile(t, "true", dir, "h.sh")
		writeFile(t, "1", dir, "srv", "server.js")
	}
	// The same in other words is the same.
	writeFile(t, strings.Replace(settings, "// as people write it", "", 1), dir, ProjectSettings)
	if brings(t, dir)[hook].Digest != before[hook].Digest {
		t.Error("a comment changed the hook")
	}
}

// What a program finds by less than its name belongs to a hook or a server too.
func TestSEC11WhatACommandFindsBelongsToIt(t *testing.T) {
	for command, files := range map[string][]string{
		`"python3", "args": ["-m", "tools.srv"]`:           {"tools/srv.py", "tools/__init__.py"},
		`"python3", "args": ["-m", "pkg"]`:                 {"pkg/__main__.py", "pkg/__init__.py"},
		`"python3 -m tools.srv --port 1"`:                  {"tools/srv.py"},
		`"node", "args": ["srv"]`:                          {"srv/index.js"},
		`"node", "args": ["srv/server"]`:                   {"srv/server.js"},
		`"node", "args": ["lib"]`:                          {"lib/package.json", "lib/deep/start.js"},
		`"node", "args": ["server"], "cwd": "srv"`:         {"srv/server.js"},
		`"node", "args": ["."]`:                            {"package.json", "scripts/go.js"},
		`"node", "args": ["./"]`:                           {"index.js"},
		`"npm", "args": ["run", "serve"]`:                  {"package.json", "scripts/go.js"},
		`"sh -c 'cd srv && npm start'"`:                    {"srv/package.json", "srv/x.js"},
		`"make", "args": ["serve"]`:                        {"Makefile"},
		`"/usr/bin/make serve"`:                            {"Makefile"},
		`"go", "args": ["run", "./cmd/srv"]`:               {"cmd/srv/main.go", "cmd/srv/other.go"},
		`"bash", "args": ["run"]`:                          {"run.sh"},
		`"sh -c ./link.sh"`:                                {"real/link.sh"},
		`"bash", "args": ["../run.sh", "x"], "cwd": "srv"`: {"run.sh", "srv/x"},
		`"bash", "args": ["${UNSET:-run.sh}"]`:             {"run.sh"},
		`"bash", "args": ["${X:-srv}/${Y:-run.sh}"]`:       {"srv/run.sh"},
		`"bash ~/projects/mine/run.sh"`:                    {"run.sh"},
		`"bash", "args": ["${HOME}/mine/srv/run.sh"]`:      {"srv/run.sh"},
		`"sh -c '. \"$HOME/mine/srv/run.sh\"'"`:            {"srv/run.sh"},
		`"bash", "args": ["x.sh"], "cwd": "~/mine/srv"`:    {"srv/x.sh"},
		`"docker", "args": ["compose", "run", "serve"]`:    {"compose.yaml"},
	} {
		dir := t.TempDir()
		writeFile(t, `{"mcpServers": {"m": {"command": `+command+`}}}`, dir, ProjectSettings)
		for _, file := range files {
			writeFile(t, "1", dir, file)
		}
		packages := map[string]string{"package.json": `{"scripts": {"serve": "node scripts/go"}}`, "lib/package.json": `{"main": "./deep/start"}`, "srv/package.json": `{"scripts": {"start": "node ./x"}}`}
		for _, file := range files {
			if text, ok := packages[file]; ok {
				writeFile(t, text, dir, file)
			}
		}
		if files[0] == "real/link.sh" {
			must(t, os.Symlink("real/link.sh", filepath.Join(dir, "link.sh")))
		}
		if files[0] == "package.json" && strings.Contains(command, `"."`) {
			writeFile(t, `{"main": "scripts/go.js"}`, dir, "package.json")
		}
		const server = ProjectSettings + "#mcpServers.m"
		writeFile(t, "1", dir, "unrelated.js")
		before := brings(t, dir)[server].Digest
		writeFile(t, "evil", dir, "unrelated.js")
		if brings(t, dir)[server].Digest != before {
			t.Errorf("%s: a file that it does not name belongs to it", command)
		}
		for _, file := range files {
			was, err := os.ReadFile(filepath.Join(dir, file))
			must(t, err)
			writeFile(t, string(was)+" ", dir, file)
			if brings(t, dir)[server].Digest == before {
				t.Errorf("%s: %s changed, and nobody is asked", command, file)
			}
			writeFile(t, string(was), dir, file)
		}
	}
}

// TestSEC11WordsInAnyOrder: which files belong to a command does not depend on the order in
// which its words come, which is none where they are keys and values.
func TestSEC11WordsInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, `{"scripts": {"x": "go run ./cmd"}}`, dir, "package.json")
	writeFile(t, "package tools", dir, "tools/a.go")
	one, err := ReadNamed(t.Context(), dir, []string{"tools", "npm", "x"})
	must(t, err)
	other, err := ReadNamed(t.Context(), dir, []string{"npm", "x", "tools"})
	must(t, err)
	if string(one) != string(other) || !strings.Contains(string(one), "tools/a.go") {
		t.Errorf("%s\nother:\n%s", one, other)
	}
}

// TestSEC11NamesAreLookedForInBounds: a server that names more than can be looked for has no
// digest that anybody could approve, and says so; one before it is as it was.
func TestSEC11NamesAreLookedForInBounds(t *testing.T) {
	dir := t.TempDir()
	disk, err := OpenDisk(dir)
	must(t, err)
	defer disk.Close()
	var words strings.Builder
	for i := range 40 {
		writeFile(t, "1", dir, fmt.Sprintf("d%d/x", i))
		fmt.Fprintf(&words, "d%d ", i)
	}
	var a Active
	left := 1000 // each of the folders is looked for in each
	a.addSection(t.Context(), disk, MCPItem, "mcpServers",
		fmt.Appendf(nil, `{"a": {"command": "make"}, "b": {"command": %q}}`, words.String()), &left)
	for _, item := range a.Items {
		if bounded := item.Name == ServerItem("b"); bounded != (item.Digest == "") || bounded != strings.Contains(item.Label, "name fewer") {
			t.Errorf("%s: %q, %.80s", item.Name, item.Digest, item.Label)
		}
	}
	if len(a.Items) != 2 {
		t.Errorf("%d items", len(a.Items))
	}
	// What stands behind the limit is not read.
	left = 100
	if _, ok := filesNamedBy(disk, []string{strings.Repeat("~/a", 1000) + words.String()}, &left); ok || left < -2000 {
		t.Errorf("%t, %d looks left", ok, left)
	}
}

// A link out of the folder is not read.
func TestWhatAFolderBringsIsReadInIt(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	writeFile(t, "secret", out, "x.md")
	mkdir(t, dir, ".gemini", "agents")
	must(t, os.Symlink(filepath.Join(out, "x.md"), filepath.Join(dir, ".gemini", "agents", "x.md")))
	writeFile(t, "fine", dir, ".gemini", "agents", "y.md")
	writeFile(t, "no agent", dir, ".gemini", "agents", ".z.md")
	if all := brings(t, dir); len(all) != 1 || string(all[".gemini/agents/y.md"].Text) != "fine" {
		t.Errorf("%v", all)
	}
	linked := t.TempDir()
	mkdir(t, linked, ".gemini")
	must(t, os.Symlink(out, filepath.Join(linked, ".gemini", "agents")))
	if all := brings(t, linked); len(all) != 0 {
		t.Errorf("a folder of agents that leads out: %v", all)
	}
}

// The texts that were approved are kept as long as a record names them.
func TestApprovedTextsAreKept(t *testing.T) {
	tr, dir := newTrust(t)
	proj := mkdir(t, dir, "proj")
	item := func(text string) TrustItem {
		return TrustItem{Name: "a", Kind: AgentItem, Digest: DigestOf(text), Text: []byte(text)}
	}
	first, second := item("one"), item("two")
	if err := tr.Approve(t.Context(), proj, first); err == nil {
		t.Error("something of a folder that is not trusted was approved")
	}
	must(t, tr.Set(t.Context(), proj, true, first))
	if text, ok := tr.Text(first.Digest); !ok || string(text) != "one" {
		t.Errorf("%q, %v", text, ok)
	}
	must(t, tr.Approve(t.Context(), proj, second))
	_, record, err := tr.Lookup(filepath.Join(proj, "sub"))
	if err != nil || len(record.Items) != 1 || record.Items[0].Digest != second.Digest {
		t.Errorf("%+v, %v", record, err)
	}
	if _, ok := tr.Text(first.Digest); ok {
		t.Error("a text that no record names is kept")
	}
	path := filepath.Join(tr.texts(), string(second.Digest))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	must(t, os.WriteFile(path, []byte("forged"), 0o600))
	if _, ok := tr.Text(second.Digest); ok {
		t.Error("another text than was approved is shown as it")
	}
	if _, ok := tr.Text("../trust.json"); ok {
		t.Error("a digest is a path")
	}
	must(t, tr.Set(t.Context(), proj, false, second))
	if _, record, _ := tr.Lookup(proj); record.Trusted || len(record.Items) != 0 {
		t.Errorf("%+v", record)
	}
	if found, err := tr.Forget(t.Context(), proj); !found || err != nil {
		t.Error(found, err)
	}
	if _, record, _ := tr.Lookup(proj); record.Folder != "" {
		t.Error("it is not forgotten")
	}
}

// With what git itself makes: a worktree, a submodule, a nested repository, and a
// .git file that points at the trusted one.
func TestSEC14RealRepositoriesAskForThemselves(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	tr, dir := newTrust(t)
	git := func(in string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	other, proj := mkdir(t, dir, "other"), mkdir(t, dir, "proj")
	for _, repo := range []string{other, proj} {
		git(repo, "init", "-q")
		writeFile(t, "x", repo, "src", "x")
		git(repo, "add", ".")
		git(repo, "commit", "-q", "-m", "x")
	}
	must(t, tr.Set(t.Context(), proj, true))
	git(proj, "submodule", "--quiet", "add", other, "module")
	git(proj, "worktree", "add", "-q", filepath.Join(proj, "tree"))
	git(proj, "worktree", "add", "-q", filepath.Join(dir, "outside"), "-b", "another")
	git(proj, "init", "-q", "nested")
	forged := mkdir(t, dir, "forged")
	writeFile(t, "gitdir: "+filepath.Join(proj, ".git")+"\n", forged, ".git")
	inside := mkdir(t, proj, "inside")
	writeFile(t, "gitdir: "+filepath.Join(proj, ".git")+"\n", inside, ".git")
	writeFile(t, filepath.Join(proj, ".git")+"\n", forged, "commondir")
	for _, folder := range []string{filepath.Join(proj, "module"), filepath.Join(proj, "module", "src"), filepath.Join(proj, "tree"), filepath.Join(dir, "outside"), filepath.Join(proj, "nested"), forged, inside} {
		if trusted(t, tr, folder) {
			t.Errorf("%s inherits trust", folder)
		}
		if _, record, _ := tr.Lookup(folder); record.Folder != "" {
			t.Errorf("%s is not asked about by itself: it counts as decided by %s", folder, record.Folder)
		}
	}
	if !trusted(t, tr, filepath.Join(proj, "src")) {
		t.Error("control: a plain sub-folder is not trusted")
	}
	t.Log("control: a plain sub-folder of the trusted repository is trusted")
}
