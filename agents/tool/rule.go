package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/sandbox"
)

// Rule is an entry of a list of tools in settings or in an agent's file: a
// tool, or those calls of it that its argument names (spec 4.2).
//
//	bash                 each call of the tool
//	bash(npm test)       commands of these words: to allow, exactly these; to deny,
//	                     all that begin so
//	bash(npm run *)      to allow, commands that begin with these words
//	write_file(docs/**)  calls that touch these paths: absolute, or relative to
//	                     the workspace folder; ** is everything below, and
//	                     {md,txt} is either; to deny a folder denies what is in it;
//	                     what read_file is denied, no tool reads or moves, and what
//	                     write_file is denied, no patch, move or deletion changes
//	web_fetch(a.com)     fetches from a host, as [dial.ParseHostRule] reads it; to
//	                     deny a host denies the hosts below it, at each port
//	mcp.github.*         a glob over names
//
// A Rule is a value and immutable. The same text means different things in the two
// directions, always the stricter: [Rule.Denies] stretches it to all that could be meant,
// [Rule.Allows] to what is surely meant.
type Rule struct {
	Tool  string     // canonical, or a glob over canonical names
	Words []string   // bash: of a command
	Open  bool       // bash: of what begins with Words, also where it allows
	Path  string     // of other tools, with slashes; "" = any
	Host  *dial.Host // web_fetch: of hosts
	Also  []string   // other spellings of Path, as with its links resolved; only what denies goes by them
	Above bool       // only of calls that are riskier than [Safe]
	Text  string     // as it is written

	Origin explanation.Origin // where it is written; zero where that is not known
}

// ParseRule reads an entry. canonical is as in [SetConfig]. The error is an
// *Error CodeArgs that says what is wrong.
// The Rule that comes with an error has its Text, for a message, and permits or denies
// nothing that may be relied on: who gets an error treats the entry as the strict side of
// its list.
func ParseRule(text string, canonical func(name string) (string, bool)) (Rule, error) {
	r := Rule{Text: text}
	name, rest, limited := strings.Cut(strings.TrimSpace(text), "(")
	r.Tool = strings.TrimSpace(name)
	if canonical != nil {
		if known, ok := canonical(r.Tool); ok {
			r.Tool = known
		}
	}
	if !Pattern(r.Tool).Valid() || r.Tool == "" {
		return r, Errorf(CodeArgs, "%q names no tool; write a tool, or a tool and what of it, as bash(git push)", text)
	}
	if !limited {
		return r, nil
	}
	argument, ok := strings.CutSuffix(strings.TrimSpace(rest), ")")
	argument = strings.TrimSpace(argument)
	if !ok || argument == "" {
		return r, Errorf(CodeArgs, "%q has no closing parenthesis, or nothing before it; write bash(git push)", text)
	}
	if r.Tool == "bash" {
		var begins string
		begins, r.Open = strings.CutSuffix(argument, "*")
		r.Words = strings.Fields(strings.TrimSuffix(begins, ":"))
		if len(r.Words) == 0 {
			return r, Errorf(CodeArgs, "%q names no command; write bash for all of them", text)
		}
		return r, nil
	}
	if r.Tool == "web_fetch" {
		return r.ofHosts(argument)
	}
	r.Path = filepath.ToSlash(argument)
	if !ValidGlob(r.Path) {
		return r, Errorf(CodeArgs, "%q holds a pattern that is none, or one of too many alternatives", text)
	}
	return r, nil
}

// Limited reports whether the rule is of some calls of its tool only.
// One that is not covers its whole tool.
func (r Rule) Limited() bool { return r.Path != "" || len(r.Words) > 0 || r.Host != nil }

// Denies reports whether a rule of a deny-list is about a plan. It takes the
// strict side: one such command among many, whatever wraps it and whatever
// options stand between its words, or one such path is enough; a path is denied
// with all that is below it, and a search with every place that it may come to,
// unless it leaves out what is denied itself ([Plan.Skips]). Of bash a rule for
// paths knows the words of its commands only. A rule for commands denies what it
// cannot rule out ([Plan.Unclear]). folder is what relative paths start at.
func (r Rule) Denies(p *Plan, folder string) bool {
	switch {
	case !r.concerns(p.Tool), r.Above && p.Risk <= Safe:
		return false
	case len(r.Words) > 0 && p.Unclear != "":
		return true
	case len(r.Words) > 0:
		if len(r.Words) == 1 && slices.Contains(p.Names, path.Base(r.Words[0])) {
			return true
		}
		return slices.ContainsFunc(p.Commands, func(words []string) bool {
			return len(words) > 0 && path.Base(words[0]) == path.Base(r.Words[0]) && inOrder(r.Words[1:], words[1:])
		})
	case r.Host != nil:
		return r.bars(p.Host)
	case r.Path != "":
		searches := slices.Contains(searching, p.Tool) && !p.Skips
		return slices.ContainsFunc(p.paths(), func(at string) bool {
			return r.matches(at, folder, true) || (searches && r.reaches(at, folder))
		}) || slices.ContainsFunc(p.words(), func(at string) bool { return r.matches(at, folder, true) })
	}
	return true
}

// Covers reports whether a rule of a deny-list takes a path, absolute and with
// its links resolved, or a host from a tool: it or a folder above it is one of the rule's.
// A rule for the whole tool covers each path. It is for searches, which leave
// such paths out. folder is as in [Rule.Denies].
func (r Rule) Covers(tool, path, folder string) bool {
	if r.Host != nil {
		return r.names(tool) && r.bars(path)
	}
	return r.concerns(tool) && !r.Above && len(r.Words) == 0 && (r.Path == "" || r.matches(path, folder, true))
}

// Allows reports whether a rule of an allow-list is about one command of bash,
// given by its words, or, where words is nil, about a plan of another tool as a
// whole. It takes the strict side: words are compared one by one, and each path of
// the plan has to be one of the rule's. What reaches the network or has no wall it
// allows by exact words only.
func (r Rule) Allows(p *Plan, words []string, folder string) bool {
	switch {
	case !r.names(p.Tool):
		return false
	case words != nil:
		if r.Open && !p.Access.Connects() && p.Access != sandbox.Full {
			return len(words) >= len(r.Words) && slices.Equal(words[:len(r.Words)], r.Words)
		}
		return len(r.Words) == 0 || slices.Equal(words, r.Words)
	case len(r.Words) > 0:
		return false
	case r.Host != nil:
		host, port, err := dial.ParseHostPort(p.Host, 443)
		return err == nil && dial.Hosts{*r.Host}.Allow(host, port)
	case r.Path != "":
		all := p.paths()
		return len(all) > 0 && !slices.ContainsFunc(all, func(at string) bool { return !r.matches(at, folder, false) })
	}
	return true
}

// names reports whether the rule's own pattern is about a tool; see concerns for what it
// means besides.
func (r Rule) names(tool string) bool { return r.Tool == "*" || Pattern(r.Tool).Gives(tool) }

// paths returns the paths that a plan reads and writes.
func (p *Plan) paths() []string {
	all := slices.Concat(p.Reads, p.Writes)
	if p.Path != "" {
		all = append(all, p.Path)
	}
	return all
}

// inOrder reports whether the wanted words are among words in their order.
func inOrder(wanted, words []string) bool {
	for _, w := range words {
		if len(wanted) == 0 {
			break
		}
		if w == wanted[0] {
			wanted = wanted[1:]
		}
	}
	return len(wanted) == 0
}

// Limits reports whether the rule is about some paths or hosts of a tool.
func (r Rule) Limits(tool string) bool { return r.Limited() && len(r.Words) == 0 && r.concerns(tool) }

// concerns reports whether the rule is about a tool: by its name, or because it
// keeps files from being read or written and the tool is another way to do that.
func (r Rule) concerns(tool string) bool {
	reveals := r.hides() && slices.Contains(revealing, tool)
	changes := r.Path != "" && slices.Contains(changing, tool) && (r.names("write_file") || r.names("edit_file"))
	return r.names(tool) || reveals || changes
}

// hides reports whether the rule keeps files from being read.
func (r Rule) hides() bool { return r.Path != "" && !r.Above && r.names("read_file") }

// fixes reports whether the rule keeps files from being changed.
func (r Rule) fixes() bool {
	return r.Path != "" && (r.names("write_file") || r.names("edit_file") || slices.ContainsFunc(changing, r.names))
}

// revealing are the tools, beside read_file, by which the content of a file can be
// read, or the file be brought to where it can. changing are those that change
// files, beside write_file and edit_file.
var (
	revealing = []string{"read_many_files", "grep", Diagnostics, Symbols, Definition, References, "move_file", "bash"}
	changing  = []string{"apply_patch", "delete_file", "move_file"}
)
