package command

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentls/agentls/agents/tool"
)

// set returns the words of a string as a set.
func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	// wrappers run the command that follows them.
	wrappers = set(`env nohup nice ionice timeout stdbuf setsid xargs sudo doas watch time command builtin exec busybox
		sh bash dash zsh ksh ash fish csh tcsh su runuser pkexec flock chroot unshare nsenter strace ltrace script parallel
		unbuffer chronic caffeinate taskset chrt prlimit systemd-run entr fd fdfind nsexec toybox ssh proxychains
		sg newgrp fakeroot faketime eatmydata valgrind perf hyperfine gosu su-exec dumb-init tini run-parts
		start-stop-daemon daemonize dotenv direnv watchexec nodemon concurrently numactl cgexec proot pexec heaptrack rr
		uftrace setarch setpriv capsh firejail bwrap at batch crontab expect rlwrap dbus-run-session xvfb-run coproc hash
		trap alias`)
	shells = set(`sh bash dash zsh ksh ash fish csh tcsh`)
	// takers run a command that stands in a single word of their arguments.
	takers = set(`env watch parallel script flock runuser su sg hyperfine expect entr nodemon watchexec concurrently crontab
		trap alias`)
	// feeders run what they read.
	feeders = set("xargs parallel entr at batch expect")
	// findRuns are the words of find after which a command stands.
	findRuns = set("-exec -execdir -ok -okdir")
)

// visit reads one node; syntax.Walk brings every node of the tree here.
func (r *reader) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		if r.statements++; r.statements > maxStatements {
			r.unclear("it has more than 200 statements")
		}
		r.statement(n)
	case *syntax.DeclClause:
		r.tell(printNode(n))
	}
	return true
}

// tell adds a line to what a person is shown as taken apart.
func (r *reader) tell(line string) {
	if r.depth == 0 {
		r.Parsed = append(r.Parsed, tool.Escape(line))
	}
}

// statement reads a simple command with its redirections.
//
// Compound statements have no words of their own: the walk brings what is in them.
func (r *reader) statement(s *syntax.Stmt) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		if s.Cmd == nil && len(s.Redirs) > 0 {
			r.tell(show(nil, s.Redirs))
		}
		return
	}
	var words []word
	for _, w := range call.Args {
		words = append(words, r.eval(w)...)
	}
	var line strings.Builder
	for _, assign := range call.Assigns {
		line.WriteString(printNode(assign) + " ")
	}
	line.WriteString(show(words, s.Redirs))
	r.tell(strings.TrimSpace(line.String()))
	if len(words) == 0 {
		return
	}
	r.command(words, s.Redirs)
}

// command reads the words of a simple command; the first is its name.
// What comes of it is Commands, for rules; Names, for rules that deny programs; and
// Disaster.
func (r *reader) command(words []word, redirects []*syntax.Redirect) {
	if first := words[0]; first.computed || first.glob {
		r.unclear("the name of a program is known only when it runs")
	}
	r.Commands = append(r.Commands, texts(words))
	r.name(words[0].text)
	r.disasters(words, false)
	switch name := filepath.Base(words[0].text); {
	case name == "eval":
		r.inner(strings.Join(texts(words[1:]), " "), words[1:])
	case shells[name] || wrappers[name]:
		r.readWrapper(words, redirects)
	case name == "find":
		for i, w := range words {
			if findRuns[w.text] && i+1 < len(words) {
				r.readWrapper(words[i:], nil)
				break
			}
		}
	}
}

// name records a program that may run, also by the name of what a link of that
// path leads to.
// A link is followed as it is now: it may lead elsewhere when the command runs.
func (r *reader) name(text string) {
	r.names[filepath.Base(text)] = true
	if !strings.Contains(text, "/") || strings.Contains(text, Unknown) {
		return
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(r.Dir, text)
	}
	if real, err := filepath.EvalSymlinks(text); err == nil {
		r.names[filepath.Base(real)] = true
	}
}

// maxWrapped is how many words behind a wrapper are read as the beginning of a
// command.
const maxWrapped = 256

// readWrapper reads what stands behind a wrapper, which is words[0]. Where the
// wrapped command begins is not known without the wrapper's grammar, so each word
// is read as if it began there (SEC-33).
// This finds commands that are none, such as a file name behind a wrapper. For a rule that denies that is the safe side.
func (r *reader) readWrapper(words []word, redirects []*syntax.Redirect) {
	name := filepath.Base(words[0].text)
	takes, feeds := takers[name], feeders[name]
	if shells[name] {
		r.shell(words, redirects)
	}
	rest := words[1:]
	if len(rest) > maxWrapped {
		r.unclear("more than 256 words stand behind " + tool.Name(name))
		rest = rest[:maxWrapped]
	}
	all := texts(rest)
	for i, w := range rest {
		if blank := strings.IndexByte(w.text, ' '); takes && blank >= 0 {
			r.inner(strings.TrimLeft(w.text, "-S"), rest[i:i+1])
			if _, script, ok := strings.Cut(w.text[:blank], "="); ok { // --split-string=rm -rf /, alias x='rm -rf /'
				r.inner(script+w.text[blank:], rest[i:i+1])
			}
		} else if _, value, ok := strings.Cut(w.text, "="); ok && takes {
			r.name(value) // alias x=curl
		}
		if w.text == "" || strings.HasPrefix(w.text, "-") {
			continue
		}
		inner := filepath.Base(w.text)
		takes = takes || takers[inner]
		feeds = feeds || feeders[inner]
		runsInput := strings.Contains(w.text, "{}") || wrappers[inner]
		if w.computed || w.glob || (feeds && runsInput) {
			r.unclear("what stands behind " + tool.Name(name) + " is known only when it runs")
		}
		r.name(w.text)
		r.Commands = append(r.Commands, all[i:])
		if shells[inner] {
			r.shell(rest[i:], redirects)
		}
	}
}

// shell reads the script of a shell: behind -c, or from its input where the text
// has it.
// A shell without a script, a file and an input reads what is piped into it, which is not
// known.
func (r *reader) shell(words []word, redirects []*syntax.Redirect) {
	script := false
	for i, w := range words[1:] {
		option := strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+")
		if !option {
			script = true // a file
			continue
		}
		if strings.HasPrefix(w.text, "--") || !strings.Contains(w.text, "c") {
			continue
		}
		for k, next := range words[i+2:] {
			if !strings.HasPrefix(next.text, "-") && !strings.HasPrefix(next.text, "+") {
				r.inner(next.text, words[i+2+k:i+3+k])
				return
			}
		}
	}
	for _, redirect := range redirects {
		switch {
		case redirect.Hdoc != nil:
			r.input(redirect.Hdoc)
			return
		case redirect.Op == syntax.WordHdoc && redirect.Word != nil:
			r.input(redirect.Word)
			return
		}
	}
	if !script {
		r.unclear("a shell runs what it reads")
	}
}

// input reads a here-document or here-string of a shell.
func (r *reader) input(w *syntax.Word) {
	one := r.parts(w.Parts, "")
	r.inner(one.text, []word{one})
}

// maxDepth is how deep scripts within scripts are read.
const maxDepth = 4

// inner reads a script within the script, once; from are the words that it
// stands in.
// A script that was read already is not read again. Beyond maxDepth its words are read
// without the parser (raw).
func (r *reader) inner(text string, from []word) {
	if slices.ContainsFunc(from, func(w word) bool { return w.computed }) {
		r.unclear("a script is known only when it runs")
	}
	if r.scripts[text] || strings.TrimSpace(text) == "" {
		return
	}
	if r.scripts == nil {
		r.scripts = make(map[string]bool)
	}
	r.scripts[text] = true
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		r.raw(text, "it holds scripts within scripts")
		return
	}
	r.script(text)
}
