package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// here is where commands of these tests would run.
var here = command.Config{Dir: "/w/project/src", Home: "/home/x", Folders: []string{"/w/project"}}

func analyze(t testing.TB, text string) command.Analysis {
	t.Helper()
	a, err := command.Analyze(text, here)
	if err != nil {
		t.Fatalf("Analyze(%.80q): %v", text, err)
	}
	return a
}

// argvs returns the words of what answers are kept for.
func argvs(a command.Analysis) (all []string) {
	for _, one := range a.Keep {
		all = append(all, strings.Join(one.Argv, " "))
	}
	return all
}

func TestSEC26ControlCharactersAreRefused(t *testing.T) {
	for _, r := range []string{"\r", "\r\n", "\v", "\f", "\x00", "\u0085", "\u2028", "\u2029", "\x1b", "\x7f", "\b"} {
		_, err := command.Analyze("ls"+r+"touch P", here)
		if e, ok := err.(*tool.Error); !ok || e.Code != tool.CodeArgs {
			t.Errorf("%q: %v", r, err)
		}
	}
	for _, empty := range []string{"", " \n\t"} {
		if _, err := command.Analyze(empty, here); err == nil {
			t.Errorf("%q was taken", empty)
		}
	}
	if a := analyze(t, "ls\u00a0touch P"); a.Keep != nil {
		t.Errorf("a blank that is none to bash: answers are kept for %q", argvs(a))
	}
}

// TestSEC33NamesAreFound: a rule that denies curl finds it, however it is put, or
// learns that it cannot rule it out.
func TestSEC33NamesAreFound(t *testing.T) {
	for _, text := range []string{
		"curl x", "/usr/bin/curl x", `\curl x`, "'c'url x", `c""url x`, "ls; curl x", "ls && curl x", "ls | curl x", "( curl x )", "{ curl x; }",
		"! curl x", "curl x &", "A=b curl x", "echo $(curl x)", "echo `curl x`", "cat <(curl x)", "x=$(curl x)", "export x=$(curl x)",
		"if curl x; then ls; fi", "for i in 1; do curl x; done", "f() { curl x; }; f", "cat <<EOF\n$(curl x)\nEOF", "time curl x", "coproc curl x",
		"{curl,x}", "[[ -n $(curl x) ]]", "echo ${x:-$(curl x)}", "echo $((1 + $(curl x)))",
		"env curl x", "env A=b -i curl x", "env -S 'curl x'", "env --split-string='curl x'", "nohup curl x", "nice -n 5 curl x", "timeout -k 1 5 curl x",
		"sudo -u root curl x", "xargs curl", "xargs -n 1 -I {} curl {}", "find . -exec curl {} ;", "find . -execdir curl {} +", "watch 'curl x'",
		"command curl x", "builtin command curl x", "exec -a x curl x", "busybox curl x", "trap 'curl x' EXIT", "trap curl EXIT", "alias x=curl", "alias x='curl y'",
		"sh -c 'curl x'", "bash -lc 'curl x'", "bash --norc -e -c 'curl x'", "sudo sh -c 'curl x'", "env sh -ec 'curl x'", "eval 'curl x'", "eval curl x",
		`bash -c "sh -c 'curl x'"`, "bash <<EOF\ncurl x\nEOF", "bash <<< 'curl x'", "su -c 'curl x'",
		"sh -c '" + strings.Repeat("true;", 4200) + "curl x'",
		strings.Repeat("A=b ", 300) + "curl x", "env " + strings.Repeat("A=b ", 300) + "curl x", "true;" + strings.Repeat("true;", 300) + "curl x",
		strings.Repeat("(", 60) + "curl x" + strings.Repeat(")", 60), "echo '" + strings.Repeat("x", 12_000) + "'; curl x",
		"curl x\necho 'open", "curl x\n)", "\xffcurl; curl x",
		// Not found, but known not to be ruled out.
		"X=curl; $X x", "$(echo curl) x", "cur? x", "$'\\x63url' x", "for c in curl; do $c x; done", "echo curl x | sh", "echo curl x | bash -s", "echo curl | xargs -I{} {} x",
		"eval \"$X\"", "sh -c \"$X\"", "echo curl x | xargs env", "sudo $X y",
	} {
		if a := analyze(t, text); !slices.Contains(a.Names, "curl") && a.Unclear == "" {
			t.Errorf("%.80q: names %q, and nothing is unclear", text, a.Names)
		}
	}
	for _, text := range []string{
		"go test ./...", "git commit -m 'a $5 curl'", "echo \"$HOME/x\" | grep -v \"$X\" > out", "for f in *.go; do gofmt -l \"$f\"; done",
		"cat <<'EOF' > a.sh\n$X y\nEOF", "find . -name '*.go' -exec grep -l x {} +", "ls | xargs grep x", "bash build.sh", "npm run build 2>&1 | tail -5",
	} {
		if a := analyze(t, text); a.Unclear != "" || slices.Contains(a.Names, "curl") {
			t.Errorf("%q: names %q, unclear: %s", text, a.Names, a.Unclear)
		}
	}
}

// TestSEC33NamesOfLinks: a program that is run by a link of another name.
func TestSEC33NamesOfLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "curl"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	tooltest.Symlink(t, "curl", filepath.Join(dir, "fine"))
	for _, text := range []string{"./fine x", filepath.ToSlash(dir) + "/fine x", "env ./fine x"} {
		a, err := command.Analyze(text, command.Config{Dir: dir})
		if err != nil || !slices.Contains(a.Names, "curl") {
			t.Errorf("%q: names %q, %v", text, a.Names, err)
		}
	}
}

// TestSEC41TheShortList is found with wrappers and in scripts, at any length, and
// nothing that only looks like it is on it.
func TestSEC41TheShortList(t *testing.T) {
	long := strings.Repeat("true;", 4200)
	for _, text := range []string{
		"rm -rf /", "rm -r -f /", "rm --recursive --force /", "rm -fR /", "rm -Rf -- /", "rm --rec /", "rm -rf //", "rm -rf /.", "rm -rf ~", "rm -rf ~/", "rm -rf $HOME", `rm -rf "$HOME"/`,
		"rm -rf .", "rm -rf ./", "rm -rf ..", "rm -rf ../..", "rm -rf /*", "rm -rf ~/*", "rm -rf /home", "rm -rf $PWD/..", "rm -rf /w", "rm -rf a b ..", "rm .. -rf", "rm -rf x /",
		"find / -delete", "find ~ -name x -delete", "find / -exec rm {} +", "find -L / -delete", "mkfs /dev/sda", "mkfs.ext4 /dev/sda", "dd if=x of=/dev/sda", "dd of=/dev/nvme0n1",
		"shutdown now", "reboot", "halt", "poweroff", "systemctl reboot", "sudo shutdown -h now", "sudo -u root reboot", "timeout 5s poweroff",
		"sudo rm -rf /", "env A=b rm -rf /", "xargs rm -rf /", "find . -exec rm -rf / ;", "sh -c 'rm -rf /'", "eval rm -rf /", "echo $(rm -rf /)", "( rm -rf / )",
		"if true; then rm -rf /; fi", "f() { rm -rf /; }; f", "cat <<EOF\n$(rm -rf /)\nEOF", "bash <<EOF\nrm -rf /\nEOF", "trap 'rm -rf /' EXIT",
		long + "rm -rf /", "sh -c '" + long + "rm -rf /'", "env " + strings.Repeat("A=b ", 300) + "rm -rf /", strings.Repeat("A=b ", 300) + "rm -rf /",
		strings.Repeat("(", 60) + "rm -rf /" + strings.Repeat(")", 60), "rm -rf /\necho 'open", "if rm -rf / 'open", "\xff\nrm -rf ~",
		"echo " + strings.Repeat("x ", 20_000) + "; rm -rf /",
	} {
		if a := analyze(t, text); a.Disaster == "" {
			t.Errorf("%.80q is not on the list", text)
		}
	}
	for _, text := range []string{
		"rm -rf build", "rm -rf ./node_modules", "rm -rf ../build", "rm -rf *", "rm -rf dist/*", "rm -rf /tmp/x", "rm .", "rm -f x", "rmdir ..", "rm -rf \"$X\"", "rm -rf ~/x",
		"find . -delete", "find . -name '*.o' -delete", "find / -name x", "dd if=/dev/zero of=x", "dd of=/dev/null", "grep -r shutdown .", "git rm -rf .",
		"echo rm -rf /", "git commit -m 'rm -rf /'", "xargs grep shutdown", "find . -name shutdown", "cat <<'EOF' > x\nrm -rf /\nEOF", "go run ./cmd/reboot", "man mkfs", "systemctl status x",
		"sudo grep reboot /var/log/syslog",
	} {
		if a := analyze(t, text); a.Disaster != "" {
			t.Errorf("%q is on the list: %s", text, a.Disaster)
		}
	}
}

// TestSEC79WhatAnswersAreKeptFor: each simple command by itself, with its folder;
// nothing where a word is known only when it runs, where a file is written that no
// rule names, or where a part changes what the next means.
func TestSEC79WhatAnswersAreKeptFor(t *testing.T) {
	for text, want := range map[string]string{
		"go test ./...":                        "go test ./...",
		"go vet ./... && go test ./... | tail": "go vet ./..., go test ./..., tail",
		"npm ci; npm test 2>&1 >/dev/null":     "npm ci, npm test",
		"CI=1 npm test":                        "CI=1 npm test",
		"git commit -m 'a b'":                  "git commit -m a b",
		"make\nmake install":                   "make, make install",
	} {
		if got := strings.Join(argvs(analyze(t, text)), ", "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	a := analyze(t, "cd web && npm ci && cd ../api && make")
	var folders []string
	for _, one := range a.Keep {
		folders = append(folders, one.Folder)
	}
	if want := []string{"/w/project/src", "/w/project/src/web", "/w/project/src/web", "/w/project/src/api"}; !slices.Equal(folders, want) {
		t.Errorf("folders %q", folders)
	}
	for _, text := range []string{
		"npm test > out", "npm test >> out", "npm test < in", "cat <<EOF\nx\nEOF", "npm test $X", "npm $(x)", "npm test *", "~/x", "echo {a,b}", "$X", "X=$Y npm test", "X=1", "A+=b npm test",
		"(npm test)", "{ npm test; }", "! npm test", "npm test &", "if true; then npm test; fi", "f() { x; }", "npm test # why", "npm \\\ntest",
		"cd web; npm test", "cd && make", "cd - && make", "cd x || make", "cd $X && make", "echo x | cd y", "pushd x && make", "export A=b && make", "PATH=. && make", "alias x=y && x", "source x && make", "eval make", "command cd x && make", "exec make", "set -e; make",
		"echo x | sh", "curl x | sudo bash", "ls | xargs rm", "cat x | python3", "echo x | env sh", "npm te\u200bst", "npm test\necho 'open",
	} {
		if a := analyze(t, text); a.Keep != nil {
			t.Errorf("%q: an answer would be kept for %q", text, argvs(a))
		}
	}
	for text, want := range map[string]string{
		"npm run build": "npm run", "go test ./... -run X": "go test", "git commit -m x": "git commit", "cargo test": "cargo test",
		"npm test && npm run x": "", "rm src": "", "git -c a=b log": "", "./npm run x": "", "make build": "", "go ./x": "", "npm": "", "CI=1 npm test": "", "sudo npm ci": "",
	} {
		if got := strings.Join(analyze(t, text).Prefix, " "); got != want {
			t.Errorf("%q: the prefix %q is offered, want %q", text, got, want)
		}
	}
}

func TestSEC61And74CommandsAreShownTakenApart(t *testing.T) {
	for text, want := range map[string]string{
		"ls  -l&&X=1 cat 'a b' >out": "ls -l\nX=1 cat 'a b' >out",
		"echo $(date)":               "echo $(date)\ndate",
		"export A=b":                 "export A=b",
		"echo \u202eevil":            "echo $'\\u202eevil'",
		"echo 'open":                 "echo 'open",
	} {
		if got := strings.Join(analyze(t, text).Parsed, "\n"); got != want {
			t.Errorf("%q is shown as\n%s\nwant\n%s", text, got, want)
		}
	}
	if a := analyze(t, "echo a\u200bb"); !a.Hidden || a.Keep != nil {
		t.Errorf("%+v", a)
	}
}

func TestSEC71WhatCannotBeShownWhole(t *testing.T) {
	if a := analyze(t, "echo "+strings.Repeat("x", 16<<10)); !a.Long || a.Keep != nil {
		t.Error("a command of over 16 KiB can be shown whole")
	}
	if _, err := command.Analyze("echo "+strings.Repeat("x", 64<<10), here); err == nil {
		t.Error("a command of over 64 KiB is taken")
	}
}

// TestREL80AnalysisIsBounded: the largest texts of the worst forms are analysed
// in a fraction of a second, eight times slower where races are looked for.
func TestREL80AnalysisIsBounded(t *testing.T) {
	fill := func(part string) string { return strings.Repeat(part, (64<<10-100)/len(part)) }
	for name, text := range map[string]string{
		"words": "sudo " + fill("rm "), "shells": "sh " + fill("sh ") + "-c 'ls'", "scripts": "env " + fill("'sh -c ls' "), "statements": fill("a;"),
		"pipes": "a" + fill("|a"), "substitutions": "echo " + fill("$(a)"), "braces": "echo " + fill("{a,b}"), "wide": fill("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} "), "here": fill("cat <<E\nx\nE\n"),
		"assignments": fill("A=b "), "nested": strings.Repeat("sh -c '", 50) + "x", "raw": fill("rm -rf x ") + "'", "brackets": fill("("), "evals": fill("eval 'a' ; "),
		"traps": "trap " + fill("'a b' "),
	} {
		began := tooltest.Spent()
		if _, err := command.Analyze(text, here); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := tooltest.Spent() - began; took > 8*time.Second {
			t.Errorf("%s: %v for %d bytes", name, took, len(text))
		}
	}
}

// FuzzSEC33Names holds what must be true of any text: it ends, what it shows
// drives no screen, a command that follows it is found or cannot be ruled out,
// and no answer is kept for words that are not in it.
func FuzzSEC33Names(f *testing.F) {
	for _, text := range []string{
		"ls", "a && b | c; d", "sh -c 'x'", "env -S 'a b' c", "cat <<E\n$(x)\nE", "find . -exec a {} +", "f() { x; }", "x # y\\\nz", "$'\\x41' b", "{a,b}", "echo \u202ex", "a\\\nb",
		"case x in y) z;; esac", "trap 'a b' EXIT", "cd a && b", "A=b c", "echo " + strings.Repeat("é", 31_000), strings.Repeat("(", 60), "a 'open", "[[ -f x ]]", "((1))", "x <<<y",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := command.Analyze(text, here)
		if err != nil {
			return
		}
		for _, line := range append(a.Parsed, a.Disaster, a.Unclear) {
			if tool.Escape(line) != line {
				t.Errorf("%q is shown as %q", text, line)
			}
		}
		for _, one := range a.Keep {
			for _, word := range one.Argv {
				if strings.Contains(word, command.Unknown) && !strings.Contains(text, command.Unknown) {
					t.Errorf("%q: an answer would be kept for %q", text, one.Argv)
				}
			}
		}
		// Two line ends, since the text may end in a backslash, which takes the first one.
		for _, more := range []string{"%s\n\ncurl x", "env sh -c %q; curl x"} {
			after := fmt.Sprintf(more, text)
			b, err := command.Analyze(after, here)
			if err == nil && a.Unclear == "" && b.Unclear == "" && !slices.Contains(b.Names, "curl") {
				t.Errorf("%q hides what follows it: %q", after, b.Names)
			}
		}
	})
}
