package command

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/agentls/agentls/agents/tool"
)

// visit judges one node; syntax.Walk brings every node of the tree here.
func (j *judge) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Comment:
		j.unkept = true
		j.raise(tool.High, "it holds a comment")
	case *syntax.Stmt:
		j.stmt(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			j.raise(tool.Medium, "|& joins both outputs")
		}
		if n.Op == syntax.Pipe {
			j.piped(n.Y)
		}
	case *syntax.Subshell, *syntax.Block:
		j.raise(tool.Medium, "commands in a group")
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		j.raise(tool.High, "a script with control flow")
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		j.raise(tool.High, "a test or arithmetic, which a shell evaluates")
	case *syntax.DeclClause:
		j.raise(tool.High, "sets variables")
		j.tell(print(n))
	case *syntax.TimeClause:
		j.raise(tool.High, "a command behind another (time)")
	case *syntax.FuncDecl:
		j.raise(tool.Protected, "cannot be analysed: it declares a function")
	case *syntax.CoprocClause:
		j.raise(tool.Protected, "cannot be analysed: it starts a coprocess")
	case *syntax.ArrayExpr:
		j.raise(tool.Protected, "cannot be analysed: it uses arrays")
	case *syntax.ExtGlob:
		j.raise(tool.Protected, "cannot be analysed: it uses extended patterns")
	case *syntax.CmdSubst, *syntax.ProcSubst:
		j.raise(tool.High, "the output of a command becomes part of another")
	case *syntax.ParamExp:
		j.raise(tool.High, "it expands variables")
	case *syntax.ArithmExp:
		j.raise(tool.High, "it computes, which a shell evaluates")
	case *syntax.Redirect:
		j.redirect(n)
	}
	return true
}

// tell adds a line to what a person is shown as parsed.
func (j *judge) tell(line string) {
	if j.depth == 0 {
		j.parsed = append(j.parsed, tool.Escape(line))
	}
}

// stmt judges what stands around a command, and a simple command.
func (j *judge) stmt(s *syntax.Stmt) {
	switch {
	case s.Background || s.Disown:
		j.raise(tool.High, "it goes on in the background")
	case s.Coprocess:
		j.raise(tool.Protected, "cannot be analysed: it starts a coprocess")
	case s.Negated:
		j.raise(tool.Medium, "its exit code is turned around")
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		if s.Cmd != nil && len(s.Redirs) > 0 {
			j.raise(tool.High, "redirections of a group of commands")
		}
		if s.Cmd == nil && len(s.Redirs) > 0 {
			j.raise(tool.High, "redirections without a command")
			j.tell(show(nil, s.Redirs))
		}
		return
	}
	j.call(call, s.Redirs)
}

// maxSeen is how many words of a text are judged.
const maxSeen = 4096

// call judges a simple command.
func (j *judge) call(call *syntax.CallExpr, redirects []*syntax.Redirect) {
	var words []word
	for _, w := range call.Args {
		if j.seen > maxSeen {
			j.raise(tool.Protected, "cannot be analysed: more than %d words", maxSeen)
			start, _ := tool.CutTo(print(call), 400)
			j.tell(start)
			return
		}
		one := j.eval(w)
		j.seen += len(one)
		words = append(words, one...)
	}
	line := show(words, redirects)
	for i := len(call.Assigns) - 1; i >= 0; i-- {
		line = print(call.Assigns[i]) + " " + line
	}
	j.tell(line)
	if len(call.Assigns) > 0 {
		j.raise(tool.High, "sets variables")
	}
	if len(words) == 0 {
		return
	}
	switch name := words[0]; {
	case name.computed || name.glob:
		j.raise(tool.Protected, "cannot be analysed: the command's name is known only when it runs")
	case name.quoted:
		j.raise(tool.High, "the command's name is written with quotes or escapes")
	}
	for _, w := range words {
		if !w.literal() {
			j.raise(tool.High, "a shell expands %s", tool.Escape(w.source))
		}
	}
	risk, why := j.risk, j.why
	j.risk, j.why = tool.Safe, ""
	j.classify(words)
	if j.depth == 0 && j.risk > tool.Safe {
		j.keep = append(j.keep, texts(words))
	}
	if risk >= j.risk {
		j.risk, j.why = risk, why
	}
}

// piped judges what reads the output of another command: what it does with it
// its own words do not say, so that an answer for them is none.
func (j *judge) piped(s *syntax.Stmt) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		name := call.Args[0].Lit()
		if _, ok := table[name]; ok {
			return
		}
		if shells[name] || languages[name] {
			j.note("%s runs what the command before it prints", name)
		}
	}
	j.unkept = true
}

// inert returns the redirection that r is, if it is one that changes nothing.
func inert(r *syntax.Redirect) (Redirect, bool) {
	if r.Word == nil || len(r.Word.Parts) != 1 {
		return 0, false
	}
	target, ok := r.Word.Parts[0].(*syntax.Lit)
	if !ok {
		return 0, false
	}
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	switch {
	case r.Op == syntax.RdrOut && target.Value == "/dev/null" && (fd == "" || fd == "1"):
		return OutToNull, true
	case r.Op == syntax.RdrOut && target.Value == "/dev/null" && fd == "2":
		return ErrToNull, true
	case r.Op == syntax.DplOut && target.Value == "1" && fd == "2":
		return ErrToOut, true
	}
	return 0, false
}

// redirect judges a redirection: all but the inert ones ask (SEC-31), and
// writing over a file is a mass change (SEC-41).
func (j *judge) redirect(r *syntax.Redirect) {
	if _, ok := inert(r); ok {
		return
	}
	j.unkept = true
	j.raise(tool.High, "a redirection (%s)", tool.Escape(printRedirect(r)))
	if r.Word == nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc || r.Op == syntax.DplIn {
		return
	}
	reads := r.Op == syntax.RdrIn
	for _, w := range j.eval(r.Word) {
		if r.Op == syntax.DplOut && (w.text == "-" || isDigits(w.text)) {
			continue // to another descriptor
		}
		switch {
		case reads:
			j.path(w, forReading)
		case r.Op == syntax.AppOut || r.Op == syntax.AppAll:
			j.path(w, forWriting)
		default:
			j.truncate(w)
		}
	}
}

// truncate judges a redirection that empties what was in the file.
func (j *judge) truncate(w word) {
	if w.text == "/dev/null" {
		return
	}
	j.path(w, forWriting)
	if w.computed || w.glob {
		j.raise(tool.Protected, "writes over a file that is known only when it runs")
		return
	}
	if place, err := j.resolve(j.abs(w.text)); err != nil || place.Exists() {
		if err == nil {
			j.note("writes over %s, which has %d bytes", j.shown(place.Real), place.Info.Size())
		}
		j.raise(tool.Protected, "writes over %s", tool.Name(w.text))
	}
}

func isDigits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

var joins = map[syntax.BinCmdOperator]Op{syntax.Pipe: Pipe, syntax.AndStmt: And, syntax.OrStmt: Or}

// steps returns how statements are run without a shell, nil if they cannot be.
func steps(text string, stmts []*syntax.Stmt) *Step {
	var all *Step
	j := &judge{Config: Config{Env: &tool.Env{}}, text: text} // literal words need nothing of the world
	for _, s := range stmts {
		one := j.step(s)
		if one == nil {
			return nil
		}
		if all == nil {
			all = one
		} else {
			all = &Step{Op: Then, X: all, Y: one}
		}
	}
	return all
}

func (j *judge) step(s *syntax.Stmt) *Step {
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Comments) > 0 {
		return nil
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		op, ok := joins[cmd.Op]
		x, y := j.step(cmd.X), j.step(cmd.Y)
		if !ok || x == nil || y == nil || len(s.Redirs) > 0 {
			return nil
		}
		return &Step{Op: op, X: x, Y: y}
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return nil
		}
		one := &Step{Op: Run, Argv: make([]string, 0, len(cmd.Args))}
		for _, w := range cmd.Args {
			words := j.eval(w)
			if len(words) != 1 || !words[0].literal() {
				return nil
			}
			one.Argv = append(one.Argv, words[0].text)
		}
		for _, r := range s.Redirs {
			what, ok := inert(r)
			if !ok {
				return nil
			}
			one.Redirects = append(one.Redirects, what)
		}
		return one
	}
	return nil
}
