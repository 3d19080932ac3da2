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
		setarch setpriv capsh firejail bwrap at batch crontab expect rlwrap dbus-run-session xvfb-run coproc eval`)
	shells = set(`sh bash dash zsh ksh ash fish csh tcsh su`)
	// opaque changes what the shell means by what follows, or runs what is not
	// there to be read.
	opaque = set(`eval source . trap alias unalias enable shopt bind complete hash fc history coproc`)
	// stateful changes the shell that the rest runs in.
	stateful = set(`cd pushd popd export unset declare typeset local readonly set read mapfile readarray getopts
		umask ulimit exec printf test [ let shift wait kill jobs disown suspend logout exit return break continue`)
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
	switch {
	case wrappers[name] && name != "find":
		j.wrapper(name, words)
	case opaque[name]:
		j.raise(tool.Protected, "cannot be analysed: %s changes what follows", name)
	case stateful[name]:
		j.raise(tool.High, "%s is evaluated by the shell itself", name)
	case name == "git":
		j.git(words)
	case name == "go":
		j.golang(words)
	case name == "cargo":
		j.cargo(words)
	case network[name]:
		j.raise(tool.High, "%s speaks to other machines", name)
	case packages[name]:
		j.packages(name, words)
	case name == "rm", name == "rmdir", name == "unlink", name == "shred":
		j.raise(tool.High, "deletes files")
	case name == "cp", name == "mv":
		j.copies(name, words)
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
	j.suffixes(words[1:])
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

// suffixes judges each word of a list as if a command began there, and keeps
// what is critical: a wrapped command cannot hide behind options.
func (j *judge) suffixes(words []word) {
	if len(words) > maxWords {
		words = words[:maxWords]
		j.raise(tool.Protected, "cannot be analysed: a wrapped command of more than %d words", maxWords)
	}
	for i, w := range words {
		name := filepath.Base(w.text)
		if w.text == "" || strings.HasPrefix(w.text, "-") {
			continue
		}
		j.names[name] = true
		j.disaster(name, words[i:])
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

// packages judges a package manager: what the project has is its own affair,
// what is fetched is not (SEC-44).
func (j *judge) packages(name string, words []word) {
	runner := set("npm pnpm yarn bun deno composer mvn gradle poetry")
	if runner[name] && len(words) > 1 && projectRuns[words[1].text] {
		j.raise(tool.Medium, "runs a script of the project (%s %s)", name, words[1].text)
		return
	}
	j.raise(tool.High, "%s fetches and runs what others wrote", name)
}

// golang judges the go command.
func (j *judge) golang(words []word) {
	sub := ""
	if len(words) > 1 {
		sub = words[1].text
	}
	for _, w := range words[1:] {
		flag, _, _ := strings.Cut(strings.TrimLeft(w.text, "-"), "=")
		if strings.HasPrefix(w.text, "-") && set("exec toolexec vettool overlay modfile C o ldflags gccgoflags gcflags asmflags pkgdir cpuprofile memprofile blockprofile mutexprofile trace outputdir coverprofile w u")[flag] {
			j.raise(tool.High, "go -%s writes or runs what it names", tool.Escape(flag))
		}
	}
	switch sub {
	case "build", "test", "vet", "list", "doc", "fmt", "version", "env":
		j.raise(tool.Medium, "runs go %s", sub)
	case "run":
		j.raise(tool.Medium, "runs a program of the project")
		for _, w := range words[2:] {
			if strings.Contains(w.text, "@") {
				j.raise(tool.High, "go run fetches and runs what others wrote")
			}
		}
	default:
		j.raise(tool.High, "go %s changes more than the build", tool.Escape(sub))
	}
}

// cargo judges Rust's package manager.
func (j *judge) cargo(words []word) {
	if len(words) > 1 && set("build test check clippy fmt run bench doc tree")[words[1].text] {
		j.raise(tool.Medium, "runs cargo %s", words[1].text)
		return
	}
	j.raise(tool.High, "cargo fetches and runs what others wrote")
}

// copies judges cp and mv: where they write, file by file (SEC-67), and many at
// once (SEC-41).
func (j *judge) copies(name string, words []word) {
	j.raise(tool.Medium, "runs %s", name)
	var operands []word
	for i := 1; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w.text, "-") && w.text != "-" && w.text != "--" {
			j.raise(tool.High, "%s with flags", name)
			if _, value, ok := strings.Cut(w.text, "="); ok {
				j.path(word{text: value, source: w.source}, forWriting)
			}
			continue
		}
		if w.text != "--" {
			operands = append(operands, w)
		}
		if w.glob && name == "mv" {
			j.raise(tool.Protected, "moves many files at once (%s)", tool.Escape(w.source))
		}
	}
	if len(operands) == 0 {
		return
	}
	target := operands[len(operands)-1]
	j.path(target, forWriting)
	for _, source := range operands[:len(operands)-1] {
		if name == "mv" {
			j.path(source, forWriting)
		} else {
			j.path(source, forReading)
		}
		inside := word{text: filepath.Join(target.text, filepath.Base(source.text)), source: target.source + "/…"}
		j.path(inside, forWriting)
	}
}
