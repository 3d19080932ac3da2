package command_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
	"github.com/agentls/agentls/agents/tool/command/commandtest"
)

// world is a workspace folder with a few files, beside a home and a folder that
// is not the workspace's.
type world struct {
	env                   *tool.Env
	folder, home, outside string
}

func newWorld(t testing.TB) world {
	t.Helper()
	w, err := commandtest.NewWorld(base(t))
	if err != nil {
		t.Fatal(err)
	}
	return world{env: w.Env, folder: w.Folder, home: w.Home, outside: w.Outside}
}

// base returns a folder of the test's, links followed.
func base(t testing.TB) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func (w world) analyze(t testing.TB, text string) command.Analysis {
	t.Helper()
	a, err := command.Analyze(text, command.Config{Env: w.env, Dir: w.folder})
	if err != nil {
		t.Fatalf("Analyze(%q): %v", text, err)
	}
	return a
}

const (
	auto         = tool.Safe
	medium       = tool.Medium
	high         = tool.High
	protected    = tool.Protected
	catastrophic = tool.Catastrophic
)

func TestTiersOfSEC25ToSEC52(t *testing.T) {
	w := newWorld(t)
	for _, c := range commandtest.Corpus() {
		a := w.analyze(t, c.Text)
		if a.Risk != c.Risk {
			t.Errorf("%s: %q is %v (%s), want %v", c.ID, c.Text, a.Risk, a.Why, c.Risk)
		}
		if (a.Risk == tool.Safe) != (a.Steps != nil) {
			t.Errorf("%s: %q: steps %v with risk %v", c.ID, c.Text, a.Steps, a.Risk)
		}
		if a.Why == "" || len(a.Parsed) == 0 && c.Text != "# only" && a.Risk < tool.High {
			t.Errorf("%s: %q: a person is told %q and shown %q", c.ID, c.Text, a.Why, a.Parsed)
		}
	}
}

func TestSEC26ControlCharactersAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, r := range []string{"\r", "\r\n", "\v", "\f", "\x00", "\u0085", "\u2028", "\u2029", "\x1b", "\x7f", "\b"} {
		_, err := command.Analyze("ls"+r+"touch P", command.Config{Env: w.env, Dir: w.folder})
		if e, ok := err.(*tool.Error); !ok || e.Code != tool.CodeArgs {
			t.Errorf("%q: %v", r, err)
		}
	}
	// A blank that bash takes for a letter is not refused, and never auto.
	if a := w.analyze(t, "ls\u00a0touch P"); a.Risk < tool.High {
		t.Errorf("no-break space: %v", a.Risk)
	}
	for _, empty := range []string{"", " \n\t"} {
		if _, err := command.Analyze(empty, command.Config{Env: w.env, Dir: w.folder}); err == nil {
			t.Errorf("%q was taken", empty)
		}
	}
}

func TestSEC33WrappersHideNothing(t *testing.T) {
	w := newWorld(t)
	wrappers := []string{"env", "env -u X A=b", "nohup", "nice -n 5", "ionice -c 3", "timeout 5", "timeout -k 1 5", "stdbuf -o0", "setsid", "xargs", "xargs -n 1",
		"sudo", "sudo -u x", "doas", "watch", "time", "command", "builtin", "exec", "exec -a x", "busybox", "env env nice", "find . -exec"}
	for _, wrapper := range wrappers {
		for inner, risk := range map[string]tool.Risk{"rm -rf /": catastrophic, "git reset --hard": protected, "ls": high} {
			a := w.analyze(t, wrapper+" "+inner)
			if a.Risk < risk {
				t.Errorf("%s %s is %v, want at least %v", wrapper, inner, a.Risk, risk)
			}
			if name := strings.Fields(inner)[0]; !slices.Contains(a.Names, name) {
				t.Errorf("%s %s: names %q lack %s", wrapper, inner, a.Names, name)
			}
		}
	}
	for _, shell := range []string{"sh -c", "bash -lc", "bash --norc -e -c", "sudo sh -c", "env sh -ec", "busybox sh -c", "eval"} {
		a := w.analyze(t, shell+" 'rm -rf /'")
		if a.Risk != catastrophic || !slices.Contains(a.Names, "rm") {
			t.Errorf("%s: %v, names %q", shell, a.Risk, a.Names)
		}
	}
	for _, nested := range []string{`bash -c "sh -c 'rm -rf /'"`, "echo $(rm -rf /)", "( rm -rf / )", "if true; then rm -rf /; fi", "ls | xargs rm -rf /", "cat <<EOF\n$(rm -rf /)\nEOF", "f() { rm -rf /; }; f"} {
		if a := w.analyze(t, nested); a.Risk != catastrophic {
			t.Errorf("%s: %v (%s)", nested, a.Risk, a.Why)
		}
	}
}

func TestSEC35WhatCannotBeParsedKeepsItsNames(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"touch \xffP", "touch P\necho 'open", "touch P\n)"} {
		if a := w.analyze(t, text); a.Risk != protected || !slices.Contains(a.Names, "touch") || a.Steps != nil || a.Keep != nil {
			t.Errorf("%q: %v, names %q", text, a.Risk, a.Names)
		}
	}
	a := w.analyze(t, "if rm -rf / 'open")
	if a.Risk != catastrophic || !slices.Contains(a.Names, "rm") {
		t.Errorf("%v, names %q", a.Risk, a.Names)
	}
}

func TestSEC38RecursiveReadersSkipNoCredentials(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.folder, "src", ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, risk := range map[string]tool.Risk{
		"grep -rn x .": medium, "grep -n -r x src": medium, "grep --recursive x": medium, "rg x": auto, "rg --hidden x": medium, "rg -uu x": medium, "rg -g '*' x": medium,
		"grep -rn x docs": auto, "diff src docs": medium,
	} {
		if a := w.analyze(t, text); a.Risk != risk {
			t.Errorf("%q is %v (%s), want %v", text, a.Risk, a.Why, risk)
		}
	}
	if err := os.WriteFile(filepath.Join(w.folder, "docs", "id_rsa"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a := w.analyze(t, "rg x"); a.Risk != medium {
		t.Errorf("rg with a key in the tree is %v", a.Risk)
	}
}

func TestSEC54And67LinksAreFollowed(t *testing.T) {
	w := newWorld(t)
	for name, target := range map[string]string{"key": filepath.Join(w.home, ".ssh/id_rsa"), "up": "..", "docs/a": "../.gemini/settings.json", "gitlink": ".git"} {
		if err := os.Symlink(target, filepath.Join(w.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for text, least := range map[string]tool.Risk{
		"cat key": high, "cat up/proj-evil/secret": high, "cp a.txt docs/": medium, "cp a docs/": protected, "mv a docs": protected, "touch docs/a": protected,
		"touch gitlink/x": protected, "echo x >> docs/a": protected, "cp docs/a x": medium,
	} {
		if a := w.analyze(t, text); a.Risk < least {
			t.Errorf("%q is %v (%s), want at least %v", text, a.Risk, a.Why, least)
		}
	}
}

func TestSEC17PlacesThatBeginAboveTheFolder(t *testing.T) {
	w := newWorld(t)
	for dir, text := range map[string]string{".github": "touch workflows/ci.yml", ".config": "cat gcloud/x", ".git": "touch config", "src": "touch ../.github/workflows/ci.yml"} {
		if err := os.MkdirAll(filepath.Join(w.folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if a, err := command.Analyze(text, command.Config{Env: w.env, Dir: filepath.Join(w.folder, dir)}); err != nil || a.Risk < protected {
			t.Errorf("%q in %s is %v (%s), %v", text, dir, a.Risk, a.Why, err)
		}
	}
}

func TestSEC41TheHomeFolderIsKnownFromTheEnvironment(t *testing.T) {
	w := newWorld(t)
	w.env.Home, w.env.Environ = "", []string{"HOME=" + w.home}
	for _, text := range []string{"rm -rf ~", "rm -rf $HOME/", "echo x >> ~/.bashrc"} {
		if a := w.analyze(t, text); a.Risk != catastrophic {
			t.Errorf("%q is %v (%s)", text, a.Risk, a.Why)
		}
	}
	w.env.Environ = nil
	if a := w.analyze(t, "rm -rf ~"); a.Risk < protected {
		t.Errorf("with no home known it is %v", a.Risk)
	}
}

func TestSEC48GitOnlyAtTheRepositoryOfTheFolder(t *testing.T) {
	w := newWorld(t)
	a, err := command.Analyze("git status", command.Config{Env: w.env, Dir: filepath.Join(w.folder, "src")})
	if err != nil || a.Risk != medium {
		t.Errorf("in a sub-folder: %v, %v", a.Risk, err)
	}
	if err := os.RemoveAll(filepath.Join(w.folder, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.folder, ".git"), []byte("gitdir: /elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a := w.analyze(t, "git status"); a.Risk != medium {
		t.Errorf("with a .git file (SEC-14): %v", a.Risk)
	}
}

func TestSEC51GitRunsHardened(t *testing.T) {
	args, environ := command.Harden([]string{"git", "diff", "--cached"}, "/w/x")
	if got, want := strings.Join(args, " "), "git --no-pager diff --no-ext-diff --no-textconv --ignore-submodules=all --cached"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	all := strings.Join(environ, "\n")
	for _, want := range []string{"GIT_CONFIG_NOSYSTEM=1", "=core.fsmonitor", "=core.hooksPath", "=diff.external", "=protocol.ext.allow"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in the environment", want)
		}
	}
	if args, environ := command.Harden([]string{"ls"}, "/w"); len(args) != 1 || environ != nil {
		t.Error("ls was changed")
	}
}

func TestSEC61And74CommandsAreShownEscaped(t *testing.T) {
	w := newWorld(t)
	a := w.analyze(t, "touch 'a\u202eb'; ls 'x y'")
	if a.Parsed[0] == "" || strings.Contains(a.Parsed[0], "\u202e") || a.Parsed[1] != "ls 'x y'" {
		t.Errorf("shown as %q", a.Parsed)
	}
	if a := w.analyze(t, "ls 'a\u200bb'"); a.Risk == tool.Safe || a.Steps != nil {
		t.Errorf("an invisible character is %v", a.Risk)
	}
}

func TestSEC71WhatCannotBeShownIsProtected(t *testing.T) {
	w := newWorld(t)
	if a := w.analyze(t, "echo "+strings.Repeat("x", 20_000)); a.Risk != protected {
		t.Errorf("20 kB: %v", a.Risk)
	}
	if a := w.analyze(t, "echo "+strings.Repeat("é", 31_000)); a.Risk != protected || a.Steps != nil {
		t.Errorf("62 kB that are more than ASCII: %v with steps %v", a.Risk, a.Steps != nil)
	}
	if _, err := command.Analyze("echo "+strings.Repeat("x", 1<<20), command.Config{Env: w.env, Dir: w.folder}); err == nil {
		t.Error("1 MB was taken")
	}
}

func TestTangledTextsAreNotParsed(t *testing.T) {
	w := newWorld(t)
	// Each of these takes the parser or the judge minutes, or all memory, if it
	// is taken at its word.
	for _, piece := range []string{"(", "$(", "`", "if ", "! ", "{ ", "\"$(", "${a:-", "[[ ( ", "{1..99} ", "{a,b}", "a/b ", "env ", "sh -c ", "rm ", "a;", "a|", "<<a ", "time ", "f() ", "- "} {
		a, err := command.Analyze("xargs "+strings.Repeat(piece, 60_000/len(piece)), command.Config{Env: w.env, Dir: w.folder})
		if err != nil || a.Risk < protected {
			t.Errorf("%q repeated is %v, %v", piece, a.Risk, err)
		}
		if n := len(strings.Join(a.Parsed, "")); n == 0 {
			t.Errorf("%q repeated: nothing is shown", piece)
		}
	}
	if a := w.analyze(t, strings.Repeat("( ", 20)+"ls"+strings.Repeat(" )", 20)); a.Risk != medium {
		t.Errorf("20 subshells are %v", a.Risk)
	}
}

func TestWhatACommandHasLookedAtIsBounded(t *testing.T) {
	w := newWorld(t)
	many := filepath.Join(w.folder, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		if err := os.WriteFile(filepath.Join(many, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// list returns n words that differ.
	list := func(n int, word func(i int) string) string {
		words := make([]string, n)
		for i := range words {
			words[i] = word(i)
		}
		return strings.Join(words, " ")
	}
	long := func(int) string { return strings.Repeat("a/", 7900) }
	dots := func(i int) string { return strings.Repeat("./", i%40) + "many" }
	for name, text := range map[string]string{
		"a long path":             "cat " + long(0),
		"long paths":              "cat " + list(3, func(i int) string { return long(i)[:4000] + strconv.Itoa(i) }),
		"a longer one":            "rm -r " + long(0) + long(0) + long(0),
		"a long pattern":          "rm " + strings.Repeat("*/*", 20_000),
		"a large class":           "rm many/[a" + strings.Repeat("e", 60_000) + "]",
		"one folder many times":   "rm -rf " + list(380, dots),
		"one pattern many times":  "rm " + list(500, func(i int) string { return dots(i) + "/*" }),
		"copies of many":          "cp " + list(500, func(i int) string { return dots(i) + "/*" }) + " src",
		"a wrapper of many":       "xargs " + strings.Repeat("rm -r ", 120) + strings.Repeat("many ", 120),
		"many removals elsewhere": strings.Repeat("cd a;", 600) + strings.Repeat("rm -r x;", 600),
	} {
		want := protected
		if name == "many removals elsewhere" {
			want = catastrophic // one of so many places may be above the workspace
		}
		began := time.Now()
		a := w.analyze(t, text)
		if took := time.Since(began); a.Risk != want || a.Steps != nil || a.Keep != nil || took > 10*time.Second {
			t.Errorf("%s: %v (%.80s) after %v", name, a.Risk, a.Why, took)
		}
		if a := w.analyze(t, text+"\nrm -rf /"); a.Risk != catastrophic {
			t.Errorf("%s hides what follows it: %v (%.80s)", name, a.Risk, a.Why)
		}
	}
	for name, text := range map[string]string{
		"the files of a change": "cat " + list(300, func(i int) string { return "src/a/package/of/some/depth/file_" + strconv.Itoa(i) + ".go" }),
		"searches": list(10, func(i int) string {
			return "grep -rn x" + strconv.Itoa(i) + " ." + strings.Repeat(" many src", i) + ";"
		}) + " ls",
	} {
		if a := w.analyze(t, text); a.Risk != auto {
			t.Errorf("%s: %v (%.80s)", name, a.Risk, a.Why)
		}
	}
}

// TestWhatStandsBeforeHidesNothing: what is catastrophic is found behind a text
// that has more looked at than can be, as long as the whole can be shown.
func TestWhatStandsBeforeHidesNothing(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{".env": "K=v\n", ".mcp.json": `{"mcpServers":{"x":{"env":{"GITHUB_TOKEN":"ghp_` + strings.Repeat("a1B2", 9) + `"}}}}`}
	for i := range 1500 {
		files["many/"+strconv.Itoa(i)] = ""
	}
	for name, text := range files {
		path := filepath.Join(w.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../home/.ssh/id_rsa", filepath.Join(w.folder, "leak.txt")); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mkfifo", filepath.Join(w.folder, "pipe")).Run(); err != nil {
		t.Fatal(err)
	}
	var evil, many bytes.Buffer
	for buf, names := range map[*bytes.Buffer][]string{&evil: {"../home/.ssh/authorized_keys"}, &many: nil} {
		if buf == &many {
			for i := range 4900 {
				names = append(names, strings.Repeat("n", 80)+strconv.Itoa(i))
			}
		}
		a := tar.NewWriter(buf)
		for _, name := range names {
			if err := a.WriteHeader(&tar.Header{Name: name, Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	patch := strings.Repeat(" context\n", 8000) + "--- a/../home/.ssh/authorized_keys\n+++ b/../home/.ssh/authorized_keys\n@@ -0,0 +1 @@\n+x\n"
	for name, data := range map[string][]byte{"evil.tar": evil.Bytes(), "many.tar": many.Bytes(), "evil.patch": []byte(patch)} {
		if err := os.WriteFile(filepath.Join(w.folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var unpacks strings.Builder
	for i := range 300 {
		unpacks.WriteString("tar xf many.tar -C " + strconv.Itoa(i) + "\n")
	}
	var long, patterns, names, copies, folders strings.Builder
	for i := range 6 {
		long.WriteString("cat " + strings.Repeat("a/", 750) + strconv.Itoa(i) + "\n")
	}
	for i := range 800 {
		patterns.WriteString("cat many/*x" + strconv.Itoa(i) + "\n")
	}
	for i := range 2200 {
		names.WriteString(" b/" + strconv.Itoa(i))
	}
	for i := range 200 {
		copies.WriteString("cp -r many x" + strconv.Itoa(i) + "\n")
	}
	for i := range 40 {
		folders.WriteString("cd /some/folder/" + strconv.Itoa(i) + "\n")
	}
	for name, padding := range map[string]string{
		"one long path": "cat " + strings.Repeat("a/", 2100) + "\n", "long paths": long.String(), "patterns": patterns.String(),
		"names": "cat" + names.String() + "\n", "copies": copies.String(), "folders": long.String() + folders.String(),
		"removals": strings.Repeat("rm -rf many\n", 900), "archives": unpacks.String(), "a pipe": strings.Repeat("cat p*/x*; rm -f pipe/*\n", 20),
	} {
		for _, text := range []string{
			"cd /; rm -rf *", "cd ..; rm -rf *", "cd " + filepath.Dir(w.home) + "\nrm -rf home", "cd /; rm -rf " + strings.TrimPrefix(w.home, "/"),
			"cat leak.txt", "cat .en*", "cat ../home/.ss*/id_r*", "cat .mcp.json", "cp -r ../home x", "rm -rf ..", "cat leak.t*",
			"tar xf evil.tar", "git apply evil.patch",
		} {
			alone, behind := w.analyze(t, text), w.analyze(t, padding+text)
			if len(padding+text) > 16<<10 {
				t.Fatalf("%s: %d bytes cannot be shown", name, len(padding+text))
			}
			if alone.Risk != catastrophic || behind.Risk != catastrophic {
				t.Errorf("%q is %v (%s) alone, and %v (%s) behind %s", text, alone.Risk, alone.Why, behind.Risk, behind.Why, name)
			}
		}
	}
}

// TestWhatIsReadIsReadOnce: no folder, archive or list of packages costs its
// size each time that it is named.
func TestWhatIsReadIsReadOnce(t *testing.T) {
	w := newWorld(t)
	big := filepath.Join(w.folder, "big")
	if err := os.Mkdir(big, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 12_000 {
		if err := os.WriteFile(filepath.Join(big, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	archive := tar.NewWriter(z)
	if err := archive.WriteHeader(&tar.Header{Name: "zeros", Mode: 0o644, Size: 40 << 20}); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		if _, err := archive.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i := range 300_000 {
		list.WriteString("package-number-" + strconv.Itoa(i) + "\n")
	}
	for name, data := range map[string]string{"a.tgz": packed.String(), "b.tgz": packed.String(), "c.tgz": packed.String(), "requirements.txt": list.String()} {
		if err := os.WriteFile(filepath.Join(w.folder, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, many := range map[string]string{
		"rm big/*":      "rm " + strings.Repeat("big/* ", 1000),
		"tar xf a.tgz":  strings.Repeat("tar xf a.tgz\n", 200),
		"tar xf b.tgz":  strings.Repeat("tar xf a.tgz\ntar xf b.tgz\ntar xf c.tgz\n", 100),
		"pip install x": strings.Repeat("pip install x\n", 200),
	} {
		began := time.Now()
		w.analyze(t, text)
		once := time.Since(began)
		began = time.Now()
		w.analyze(t, many)
		if all := time.Since(began); all > 6*once+2*time.Second {
			t.Errorf("%.60q takes %v, one of it %v", many, all, once)
		}
	}
}
