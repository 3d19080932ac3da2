package command

import (
	"path/filepath"
	"regexp"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentls/agentls/agents/tool"
)

var (
	// shifting changes what the shell makes of what follows, so that an answer for
	// the words of what follows would not be about what runs.
	shifting = set(`eval source . trap alias unalias enable shopt bind hash coproc export unset declare typeset local
		readonly set read mapfile readarray getopts umask ulimit exec let pushd popd command builtin`)
	// interpreters run what they are given as input.
	interpreters = set(`python python2 python3 perl ruby node nodejs php lua`)
	// staged are programs whose first word says what they do, so that their first
	// two words are a prefix that a person understands: npm run *.
	staged = set(`git go cargo npm pnpm yarn bun deno npx pip pip3 uv poetry pdm conda bundle rake gem composer dotnet
		gradle mvn mix swift docker podman kubectl helm terraform just task nx turbo rustup`)
	stage = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// keeper collects the simple commands of a text.
//
// It is made by keep for one text. dir follows cd.
type keeper struct {
	*reader
	dir string // where the next one runs
	all []tool.Words
}

// keep sets what answers that hold for longer are about.
// All statements must be understood, or nothing is kept: an answer for a part would also
// be one for what was not seen. A prefix is offered for one command alone, and only for
// programs of which the first word says what they do. TestSEC79WhatAnswersAreKeptFor holds
// it.
func (r *reader) keep(text string, file *syntax.File) {
	outer := r.text
	r.text = text
	defer func() { r.text = outer }()
	k := &keeper{reader: r, dir: r.Dir}
	for _, s := range file.Stmts {
		if len(file.Last) > 0 || !k.statement(s, len(file.Stmts) == 1) {
			return
		}
	}
	r.Keep = k.all
	if len(k.all) != 1 {
		return
	}
	argv := k.all[0].Argv
	if len(argv) > 1 && staged[argv[0]] && stage.MatchString(argv[1]) {
		r.Prefix = slices.Clone(argv[:2])
	}
}

// statement adds the simple commands of a statement, and reports whether it has
// nothing else. moves says that cd in it is followed only where it succeeded.
//
// Refused are negation, background, comments (bash and the parser may end them
// differently), redirections that change files, and a pipe into what may run its input.
func (k *keeper) statement(s *syntax.Stmt, moves bool) bool {
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Comments) > 0 {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		moves = moves && cmd.Op == syntax.AndStmt
		joined := cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt || cmd.Op == syntax.Pipe
		if !joined || len(s.Redirs) > 0 || (cmd.Op == syntax.Pipe && runsInput(cmd.Y)) {
			return false
		}
		return k.statement(cmd.X, moves) && k.statement(cmd.Y, moves)
	case *syntax.CallExpr:
		return !slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return !inert(r) }) && k.call(cmd, moves)
	}
	return false
}

// call adds one simple command, with the assignments before it. cd is followed, since
// the words behind it run in another folder, which is a part of what an answer is
// about; it is not where it may fail unnoticed or leads to a place that is not written
// (cd -, cd alone).
func (k *keeper) call(call *syntax.CallExpr, moves bool) bool {
	if len(call.Args) == 0 {
		return false
	}
	one := tool.Words{Folder: k.dir}
	for _, a := range call.Assigns {
		if a.Append || a.Name == nil || a.Index != nil || a.Array != nil {
			return false
		}
		value := word{}
		if a.Value != nil {
			value = k.parts(a.Value.Parts, "")
		}
		if !value.literal() {
			return false
		}
		one.Argv = append(one.Argv, a.Name.Value+"="+value.text)
	}
	for _, w := range call.Args {
		words := k.eval(w)
		if len(words) != 1 || !words[0].literal() {
			return false
		}
		one.Argv = append(one.Argv, words[0].text)
	}
	name := one.Argv[len(call.Assigns)]
	if shifting[name] || (name == "cd" && (!moves || len(one.Argv) != 2 ||
		one.Argv[1][:min(1, len(one.Argv[1]))] == "-")) {
		return false
	}
	if k.all = append(k.all, one); name != "cd" {
		return true
	}
	if k.dir = one.Argv[1]; !filepath.IsAbs(k.dir) {
		k.dir = filepath.Join(one.Folder, k.dir)
	}
	return true
}

// runsInput reports whether a statement may run what it reads.
//
// What is no simple command counts as one that does.
func runsInput(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return true
	}
	name := filepath.Base(call.Args[0].Lit())
	return name == "." || wrappers[name] || interpreters[name]
}

// inert reports whether a redirection changes no file.
//
// These are output to /dev/null and joining one of the two outputs to the other.
func inert(r *syntax.Redirect) bool {
	if r.Word == nil || len(r.Word.Parts) != 1 {
		return false
	}
	target, ok := r.Word.Parts[0].(*syntax.Lit)
	if !ok {
		return false
	}
	toNull := (r.Op == syntax.RdrOut || r.Op == syntax.RdrAll) && target.Value == "/dev/null"
	joins := r.Op == syntax.DplOut && (target.Value == "1" || target.Value == "2")
	return toNull || joins
}
