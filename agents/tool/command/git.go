package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// gitTable is the part of the auto table for git: subcommands that read, with
// the options that neither write nor execute. Global options are not in it
// (SEC-52), and what would run other programs (external diffs, text
// conversion, signatures, pagers) is switched off when the command runs
// (SEC-51), as is what would write the index anew. What a filter does cannot be:
// that is why git runs by itself in trusted folders only, and never looks into
// the repositories within.
var gitTable = map[string]row{
	"status": {short: "sbuz", long: "--short --branch --porcelain --long --show-stash --ignored --no-renames --null", equals: "--porcelain --untracked-files --ignored", operands: paths},
	"diff":   gitDiff,
	"log": gitRow("--oneline --graph --all --branches --tags --decorate --no-decorate --follow --no-merges --merges --first-parent --reverse --abbrev-commit --date-order --topo-order --relative-date --left-right --cherry-pick --boundary",
		"--max-count --skip --since --until --after --before --author --committer --grep --format --pretty --date --decorate --abbrev"),
	"show":       gitRow("--oneline --abbrev-commit", "--format --pretty --date --abbrev"),
	"branch":     {short: "avr", long: "--all --list --remotes --show-current --verbose --no-color", equals: "--sort --format --contains --merged --no-merged --points-at --color", operands: none},
	"rev-parse":  {short: "q", long: "--abbrev-ref --short --verify --show-toplevel --show-prefix --is-inside-work-tree --git-dir --show-cdup --quiet --all --symbolic-full-name", equals: "--short --abbrev-ref", operands: paths},
	"ls-files":   {short: "cdmoistuz", long: "--cached --deleted --modified --others --ignored --stage --unmerged --exclude-standard --full-name --error-unmatch --eol", operands: paths},
	"ls-tree":    {short: "drtlz", long: "--name-only --name-status --full-name --full-tree --long", operands: paths},
	"blame":      {short: "bclstfnewM", value: "L", long: "--show-name --show-number --show-email --porcelain --line-porcelain", equals: "--date --abbrev", operands: paths},
	"describe":   {long: "--tags --always --all --long --contains", equals: "--abbrev --match --candidates", operands: paths},
	"tag":        {short: "ln", long: "--list", equals: "--sort --format --contains --points-at --merged", operands: none},
	"remote":     {short: "v", long: "--verbose", operands: none},
	"shortlog":   {short: "sne", long: "--summary --numbered --email --no-merges", equals: "--since --until --group", operands: paths},
	"rev-list":   {value: "n", long: "--count --all --no-merges --merges --first-parent --reverse --left-right", equals: "--max-count --since --until --author", number: true, operands: paths},
	"merge-base": {short: "a", long: "--all --is-ancestor --fork-point", operands: paths},
}

// gitDiff is what diff takes; log and show take it as well.
var gitDiff = row{
	short: "bpuswzRMC", value: "UnSG", number: true,
	long:   "--cached --staged --stat --numstat --shortstat --name-only --name-status --summary --check --patch --no-patch --raw --color --no-color --word-diff --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol --minimal --patience --histogram --no-renames --find-renames --merge-base --exit-code --quiet --full-index --compact-summary --no-prefix --function-context --no-ext-diff --no-textconv",
	equals: "--color --unified --word-diff --diff-filter --stat --diff-algorithm --find-renames --relative", operands: paths,
}

func gitRow(long, equals string) row {
	r := gitDiff
	r.long += " " + long
	r.equals += " " + equals
	return r
}

// git judges a git command.
func (j *judge) git(words []word) {
	j.gitMass(words)
	sub := 1
	for sub < len(words) && (words[sub].text == "--no-pager" || words[sub].text == "-P") {
		sub++
	}
	if sub >= len(words) {
		j.raise(tool.High, "git without a command")
		return
	}
	name := words[sub].text
	if strings.HasPrefix(name, "-") {
		j.raise(tool.High, "git %s changes what git is", tool.Escape(name))
		return
	}
	row, ok := gitTable[name]
	if !ok {
		j.gitOther(name, words[sub:])
		return
	}
	operands, err := row.read(texts(words[sub:]))
	if err == nil {
		err = gitFormats(texts(words[sub:]))
	}
	if err == nil && name == "diff" {
		err = gitExits(texts(words[sub:]))
	}
	if err != nil {
		j.raise(tool.High, "git %s %s", name, tool.Escape(err.Error()))
		return
	}
	if !j.gitHere() {
		j.raise(tool.Medium, "git is asked for outside of the repository at the workspace folder")
	} else if j.gitSplit() {
		j.raise(tool.Medium, "git marks the parts of a split index as used when it reads them")
	}
	for _, o := range operands {
		// A revision is no path, but HEAD:.env reads one.
		j.path(word{text: o, source: o}, forReading)
		if _, path, ok := strings.Cut(o, ":"); ok && path != "" {
			j.path(word{text: strings.TrimPrefix(path, "/"), source: o}, forReading)
		}
	}
}

// gitFormats refuses formats that check signatures: git runs another program
// for them.
func gitFormats(argv []string) error {
	for _, a := range argv {
		if strings.Contains(a, "%G") {
			return errors.New("with a format that checks signatures")
		}
	}
	return nil
}

// gitExits refuses a diff that tells by its exit code whether there is one,
// unless of what is in the index: as the index is not written anew, files that
// were only touched count as different. What --name-only, --name-status and --raw
// list may have such files too; a patch and the forms of --stat have none.
func gitExits(argv []string) error {
	if i := slices.Index(argv, "--"); i >= 0 {
		argv = argv[:i]
	}
	if slices.Contains(argv, "--cached") || slices.Contains(argv, "--staged") {
		return nil
	}
	for _, a := range argv {
		if a == "--quiet" || a == "--exit-code" {
			return fmt.Errorf("with %s: also tells of files that were only touched", a)
		}
	}
	return nil
}

// gitOther judges the subcommands that change something.
func (j *judge) gitOther(name string, words []word) {
	switch name {
	case "push", "pull", "fetch", "clone", "ls-remote", "send-email", "remote-http", "remote-https", "submodule", "lfs", "svn", "archive":
		j.raise(tool.High, "git %s speaks to other machines", name)
	case "config":
		j.raise(tool.Protected, "changes git's own configuration")
	case "rm", "mv", "rebase", "filter-branch", "filter-repo", "bisect", "am", "apply", "worktree", "hook", "gc", "prune", "reflog",
		"update-ref", "update-index", "symbolic-ref", "replace", "difftool", "mergetool", "instaweb", "daemon", "sparse-checkout", "maintenance",
		"credential", "for-each-repo", "fast-import", "checkout-index", "read-tree", "notes", "bundle":
		j.raise(tool.High, "git %s changes the repository or runs programs", name)
		if name == "apply" || name == "am" {
			j.patched(words[1:])
		}
	case "add", "commit", "checkout", "switch", "restore", "merge", "cherry-pick", "revert", "stash", "reset", "init", "clean":
		j.raise(tool.Medium, "git %s changes the repository", name)
		for _, w := range words[1:] {
			if strings.HasPrefix(w.text, "--exec") || strings.HasPrefix(w.text, "--template") || strings.HasPrefix(w.text, "--upload-pack") {
				j.raise(tool.High, "git %s %s runs or copies what it names", name, tool.Escape(w.text))
			}
		}
	default:
		j.raise(tool.High, "git %s is not known", tool.Escape(name))
	}
}

// gitMass raises the mass changes of SEC-41.
func (j *judge) gitMass(words []word) {
	// The subcommand may stand behind global options, some of which have a
	// value; whichever of the words it is, its flags decide.
	for i, w := range words[1:] {
		rest := words[i+2:]
		switch w.text {
		case "clean":
			for _, f := range rest {
				if flagged(f, "f", "--force", false) || f.computed {
					j.counted("git clean deletes what git does not know of", word{text: ".", source: "."}, true)
					j.raise(tool.Protected, "git clean deletes files that git does not know")
				}
			}
		case "reset":
			for _, f := range rest {
				if len(f.text) > 3 && strings.HasPrefix("--hard", f.text) || f.computed {
					j.counted("git reset --hard puts back what git knows of", word{text: ".", source: "."}, true)
					j.raise(tool.Protected, "git reset --hard throws changes away")
				}
			}
		case "checkout", "restore":
			for _, f := range rest {
				if f.text == "." || f.text == ":/" || f.text == "*" || w.text == "checkout" && flagged(f, "f", "--force", false) {
					j.raise(tool.Protected, "git %s throws changes away", w.text)
				}
			}
		case "push":
			for _, f := range rest {
				if flagged(f, "f", "--force", false) || strings.HasPrefix(f.text, "--force") || strings.HasPrefix(f.text, "+") || f.text == "--mirror" {
					j.raise(tool.Protected, "git push throws away what others have")
				}
			}
		}
	}
}

// gitConfig are settings that make git run other programs, or write what it
// found while it read, and what they are set to when git runs by itself (SEC-46,
// SEC-51). Settings of the environment stand above those of the repository.
var gitConfig = [][2]string{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"}, {"core.sshCommand", "false"},
	{"core.askPass", "false"}, {"core.editor", "false"}, {"core.untrackedCache", "false"}, {"diff.autoRefreshIndex", "false"}, {"diff.external", ""}, {"diff.submodule", "short"},
	{"diff.ignoreSubmodules", "all"}, {"status.submoduleSummary", "false"}, {"submodule.recurse", "false"}, {"log.showSignature", "false"},
	{"gpg.program", "false"}, {"gpg.openpgp.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.program", "false"},
	{"protocol.allow", "never"}, {"protocol.ext.allow", "never"}, {"credential.helper", ""}, {"safe.bareRepository", "explicit"}, {"gc.auto", "0"},
	{"maintenance.auto", "false"}, {"format.pretty", "medium"}, {"log.mailmap", "false"}, {"blame.ignoreRevsFile", ""},
}

// Harden returns how a command of a [Step] is run: argv as it is, or for git
// with options, and with settings in the environment, that keep it from running
// other programs. dir is where it runs: git looks for a repository there and not
// above, which is not what was looked at (SEC-48).
func Harden(argv []string, dir string) (args, environ []string) {
	if len(argv) == 0 || argv[0] != "git" {
		return argv, nil
	}
	environ = []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir),
		"GIT_CONFIG_COUNT=" + strconv.Itoa(len(gitConfig)),
	}
	for i, c := range gitConfig {
		n := strconv.Itoa(i)
		environ = append(environ, "GIT_CONFIG_KEY_"+n+"="+c[0], "GIT_CONFIG_VALUE_"+n+"="+c[1])
	}
	sub := 1
	for sub < len(argv) && strings.HasPrefix(argv[sub], "-") {
		sub++
	}
	args = append([]string{argv[0], "--no-pager"}, argv[1:min(sub+1, len(argv))]...)
	if sub < len(argv) {
		switch argv[sub] {
		case "diff", "log", "show":
			args = append(args, "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
		case "status":
			args = append(args, "--ignore-submodules=all")
		case "blame":
			args = append(args, "--no-textconv")
		}
		args = append(args, argv[sub+1:]...)
	}
	return args, environ
}
