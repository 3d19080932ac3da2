package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// set returns the words of a string as a set.
func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// The kinds of program that are not in the auto table and are more than medium.
var (
	// wrappers run the command that follows them.
	wrappers = set(`env nohup nice ionice timeout stdbuf setsid xargs sudo doas watch time command builtin exec busybox
		sh bash dash zsh ksh ash fish csh tcsh su runuser pkexec flock chroot unshare nsenter strace ltrace script parallel
		unbuffer chronic caffeinate taskset chrt prlimit systemd-run entr fd fdfind find nsexec toybox ssh proxychains
		sg newgrp fakeroot faketime eatmydata valgrind perf hyperfine gosu su-exec dumb-init tini run-parts start-stop-daemon
		daemonize dotenv direnv watchexec nodemon concurrently numactl cgexec proot pexec heaptrack rr uftrace
		setarch setpriv capsh firejail bwrap at batch crontab expect rlwrap dbus-run-session xvfb-run coproc eval`)
	shells = set(`sh bash dash zsh ksh ash fish csh tcsh su`)
	// opaque changes what the shell means by what follows, or runs what is not
	// there to be read.
	opaque = set(`compgen compopt eval source . trap alias unalias enable shopt bind complete hash fc history coproc`)
	// stateful changes the shell that the rest runs in.
	stateful = set(`cd pushd popd export unset declare typeset local readonly set read mapfile readarray getopts
		umask ulimit exec printf test [ let shift wait kill jobs disown suspend logout exit return break continue`)
	// evaluating are those of stateful that leave it as it was.
	evaluating = set("printf test [")
	// takers run the commands in a single word of their arguments.
	takers = set("env watch parallel script flock runuser su sg hyperfine expect entr nodemon watchexec concurrently crontab tmux screen git")
	// languages run what they read where they are given nothing else.
	languages = set("python python2 python3 perl ruby node nodejs php lua")
	// fed run what they read.
	fed = set("xargs parallel entr at batch expect")
	// network speaks to other machines, or makes another program do so.
	network = set(`curl wget nc ncat netcat socat ssh scp sftp rsync ftp tftp telnet dig nslookup host ping traceroute
		gh glab hub docker podman nerdctl kubectl helm aws gcloud az doctl flyctl vercel netlify heroku terraform ansible
		ansible-playbook mail sendmail mutt openssl svn hg http https httpie xh aria2c lynx w3m links rclone gpg psql mysql
		redis-cli mongo mongosh sqlplus`)
	// packages fetches and runs what others wrote.
	packages = set(`npx npm pnpm pnpx yarn bun bunx deno pip pip3 pipx uv uvx poetry pdm conda mamba gem bundle bundler
		composer brew port apt apt-get dpkg dnf yum zypper pacman apk snap flatpak nix nix-env nix-shell cpan cabal stack
		corepack volta nvm asdf mise rustup sdk mvn gradle`)
	// projectRuns are the subcommands of package managers that run what the
	// project itself has.
	projectRuns = set(`test t run run-script start build lint check fmt format vet typecheck`)
	// interpreters run code that nobody has read as a file of the project, or
	// files whatever they do.
	interpreters = set(`python python2 python3 perl ruby node nodejs php lua luajit awk gawk mawk nawk sed ed ex vi vim
		nvim emacs nano less more man tclsh wish osascript pwsh powershell R Rscript julia ghci scala groovy jshell bc dc
		gdb lldb m4 ocaml racket guile elixir erl iex tee split csplit xxd tar unzip zip gunzip gzip bzip2 xz zstd cpio ar
		7z patch ln install mount umount systemctl service launchctl pkill killall nsenter make-kpkg visudo useradd userdel
		usermod passwd chsh screen tmux dd truncate hostname date tree file sort shuf fold man fallocate`)
)

// classify judges the words of a simple command; the first is its name.
func (j *judge) classify(words []word) {
	j.commands = append(j.commands, texts(words))
	name := filepath.Base(words[0].text)
	j.names[name] = true
	if strings.Contains(words[0].text, "/") {
		j.path(words[0], forRunning)
		j.raise(tool.Medium, "runs %s", tool.Name(words[0].text))
	}
	j.disaster(name, words)
	j.fetches(name, words)
	switch {
	case wrappers[name] && name != "find":
		j.wrapper(name, words)
	case opaque[name]:
		j.raise(tool.Protected, "cannot be analysed: %s changes what follows", name)
		if name == "trap" || name == "alias" {
			j.later(words[1:])
		}
	case stateful[name]:
		j.unkept = j.unkept || !evaluating[name] // what follows means something else then
		if name == "cd" || name == "pushd" {
			j.moves(words[1:])
		}
		j.raise(tool.High, "%s is evaluated by the shell itself", name)
	case name == "git":
		j.git(words)
	case name == "go":
		j.golang(words)
	case name == "cargo":
		j.cargo(words)
	case network[name]:
		j.speaks(name, words)
		j.raise(tool.High, "%s speaks to other machines", name)
	case packages[name]:
		j.packages(name, words)
	case name == "rm", name == "rmdir", name == "unlink", name == "shred":
		j.raise(tool.High, "deletes files")
	case name == "cp", name == "mv", name == "ln", name == "install":
		j.copies(name, words)
	case archivers[name]:
		j.raise(tool.High, "%s writes what an archive says", name)
		j.unpack(name, words)
	case name == "patch":
		j.raise(tool.High, "patch writes what a patch says")
		j.patched(words[1:])
	case name == "chmod", name == "chown", name == "chgrp", name == "setfacl", name == "chattr":
		j.raise(tool.High, "changes who may do what with files")
	default:
		j.tabled(name, words)
		return
	}
	j.paths(words[1:])
}

// tabled judges a command that the auto table may have.
func (j *judge) tabled(name string, words []word) {
	row, ok := table[name]
	if !ok || strings.Contains(words[0].text, "/") {
		if name == "find" {
			j.wrapper(name, words)
		}
		if interpreters[name] || ok {
			j.raise(tool.High, "%s can write and run what its arguments say", name)
		} else {
			j.raise(tool.Medium, "runs %s", tool.Name(name))
		}
		j.paths(words[1:])
		return
	}
	operands, err := row.read(texts(words))
	if err != nil {
		if name == "find" {
			j.wrapper(name, words)
		}
		j.raise(tool.High, "%s %s", name, tool.Escape(err.Error()))
		j.paths(words[1:])
		return
	}
	j.operands(row, operands, words)
}

// operands judges the paths of a command of the table, which are known.
func (j *judge) operands(row row, operands []string, words []word) {
	for _, w := range words[1:] {
		if !w.literal() {
			j.paths(words[1:])
			return
		}
	}
	if row.secrets != nil && len(operands) == 0 {
		operands = []string{"."} // what these programs search without an operand
	}
	for _, o := range operands {
		if o == "-" {
			continue
		}
		j.path(word{text: o, source: o}, forReading)
		if row.secrets == nil || j.risk > tool.Safe {
			continue
		}
		hidden, recursive := row.secrets(texts(words))
		if !recursive {
			continue
		}
		if why := j.scan(j.abs(o), hidden); why != "" {
			j.raise(tool.Medium, "%s", why)
		}
	}
}

// wrapper judges a command that runs another one: the wrapped one is found
// wherever it begins, whatever options stand before it (SEC-33).
func (j *judge) wrapper(name string, words []word) {
	if name != "find" {
		j.raise(tool.High, "%s runs another command", name)
	}
	if opaque[name] {
		j.raise(tool.Protected, "cannot be analysed: %s changes what follows", name)
	}
	if fed[name] || stateful[name] || shells[name] && len(words) == 1 {
		j.unkept = true
	}
	if j.depth >= maxDepth {
		j.raise(tool.Protected, "cannot be analysed: scripts within scripts")
		return
	}
	switch {
	case name == "eval":
		j.inner(strings.Join(texts(words[1:]), " "), words[1:])
	case shells[name] || name == "busybox" || name == "toybox":
		j.shell(words)
	}
	j.suffixes(words[1:], takers[name])
}

// maxDepth is how deep scripts within scripts are read.
const maxDepth = 4

// shell judges the script that stands behind -c.
func (j *judge) shell(words []word) {
	for i := 1; i < len(words); i++ {
		t := words[i].text
		if len(t) < 2 || t[0] != '-' && t[0] != '+' || strings.HasPrefix(t, "--") {
			continue
		}
		if !strings.Contains(t, "c") {
			continue
		}
		for k := i + 1; k < len(words); k++ {
			if strings.HasPrefix(words[k].text, "-") || strings.HasPrefix(words[k].text, "+") {
				continue
			}
			j.inner(words[k].text, words[k:k+1])
			return
		}
	}
	if slices.ContainsFunc(words[1:], func(w word) bool { return w.computed }) {
		j.raise(tool.Protected, "cannot be analysed: a shell's arguments are known only when it runs")
	}
}

// inner judges a script within the script.
func (j *judge) inner(text string, from []word) {
	for _, w := range from {
		if w.computed {
			j.raise(tool.Protected, "cannot be analysed: a script is known only when it runs")
		}
	}
	j.depth++
	j.script(text)
	j.depth--
}

// within judges a script within the script, as deep as scripts are read.
func (j *judge) within(text string, from []word) {
	if j.depth >= maxDepth {
		j.raise(tool.Protected, "cannot be analysed: scripts within scripts")
		return
	}
	j.inner(text, from)
}

// later judges commands that are given to be run some time: as words, or as
// what names are set to.
func (j *judge) later(words []word) {
	for i, w := range words {
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "-") {
			j.within(text, words[i:i+1])
		}
	}
}

// suffixes judges each word of a list as if a command began there, and keeps
// what is critical: a wrapped command cannot hide behind options.
//
// takes says that a word with blanks may be a command of its own.
func (j *judge) suffixes(words []word, takes bool) {
	if len(words) > maxWords {
		words = words[:maxWords]
		j.raise(tool.Protected, "cannot be analysed: a wrapped command of more than %d words", maxWords)
	}
	all := texts(words)
	for i, w := range words {
		name := filepath.Base(w.text)
		if at := strings.IndexByte(w.text, ' '); takes && at >= 0 {
			if _, script, ok := strings.Cut(w.text[:at], "="); ok { // --split-string=rm -rf /
				j.within(script+w.text[at:], words[i:i+1])
			}
			j.within(strings.TrimLeft(w.text, "-S"), words[i:i+1])
		}
		if w.text == "" || strings.HasPrefix(w.text, "-") {
			continue
		}
		takes = takes || takers[name]
		j.names[name] = true
		j.commands = append(j.commands, all[i:])
		j.disaster(name, words[i:])
		j.fetches(name, words[i:])
		switch {
		case shells[name] && j.depth < maxDepth:
			j.shell(words[i:])
		case name == "git":
			j.gitMass(words[i:])
		case name == "cp", name == "mv":
			j.copies(name, words[i:])
		}
	}
	j.paths(words)
}
