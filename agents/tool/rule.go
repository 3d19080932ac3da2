package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Rule is an entry of a list of tools in settings or in an agent's file: a
// tool, or those calls of it that its argument names (spec 4.2).
//
//	bash                 each call of the tool
//	bash(git push)       commands whose words begin so; a last * says nothing more
//	write_file(docs/**)  calls that touch these paths: absolute, or relative to
//	                     the workspace folder; ** is everything below, and
//	                     {md,txt} is either; to deny a folder denies what is in it
//	mcp.github.*         a glob over names
type Rule struct {
	Tool  string   // canonical, or a glob over canonical names
	Words []string // bash: of a command
	Path  string   // of other tools, with slashes; "" = any
	Also  []string // other spellings of Path, as with its links resolved; only what denies goes by them
	Above bool     // only of calls that are riskier than [Safe]
	Text  string   // as it is written
}

// ParseRule reads an entry. canonical is as in [SetConfig]. The error is an
// *Error CodeArgs that says what is wrong.
func ParseRule(text string, canonical func(name string) (string, bool)) (Rule, error) {
	r := Rule{Text: text}
	name, rest, limited := strings.Cut(strings.TrimSpace(text), "(")
	r.Tool = strings.TrimSpace(name)
	if canonical != nil {
		if known, ok := canonical(r.Tool); ok {
			r.Tool = known
		}
	}
	if _, err := path.Match(r.Tool, ""); err != nil || r.Tool == "" {
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
		argument = strings.TrimSuffix(strings.TrimSuffix(argument, "*"), ":")
		r.Words = strings.Fields(argument)
		if len(r.Words) == 0 {
			return r, Errorf(CodeArgs, "%q names no command; write bash for all of them", text)
		}
		return r, nil
	}
	r.Path = filepath.ToSlash(argument)
	if !doublestar.ValidatePattern(r.Path) || len(alternatives(r.Path)) > maxAlternatives {
		return r, Errorf(CodeArgs, "%q holds a pattern that is none, or one of too many alternatives", text)
	}
	return r, nil
}

// Limited reports whether the rule is of some calls of its tool only.
func (r Rule) Limited() bool { return r.Path != "" || len(r.Words) > 0 }

// Denies reports whether a rule of a deny-list is about a plan. It takes the
// strict side: one such command among many, whatever wraps it and whatever
// options stand between its words, or one such path is enough; a path is denied
// with all that is below it, and a search with every place that it may come to,
// unless it leaves out what is denied itself ([Plan.Skips]). Of bash a rule for
// paths knows the words of its commands only. folder is what relative paths
// start at.
func (r Rule) Denies(p *Plan, folder string) bool {
	switch {
	case !r.names(p.Tool), r.Above && p.Risk <= Safe:
		return false
	case len(r.Words) > 0:
		if len(r.Words) == 1 && slices.Contains(p.Names, path.Base(r.Words[0])) {
			return true
		}
		return slices.ContainsFunc(p.Commands, func(words []string) bool {
			return len(words) > 0 && path.Base(words[0]) == path.Base(r.Words[0]) && inOrder(r.Words[1:], words[1:])
		})
	case r.Path != "":
		searches := slices.Contains(searching, p.Tool) && !p.Skips
		return slices.ContainsFunc(p.touched(), func(at string) bool {
			return r.matches(at, folder, true) || searches && r.reaches(at, folder)
		}) || slices.ContainsFunc(p.spoken(), func(at string) bool { return r.matches(at, folder, true) })
	}
	return true
}

// Covers reports whether a rule of a deny-list takes a path, absolute and with
// its links resolved, from a tool: it or a folder above it is one of the rule's.
// A rule for the whole tool covers each path. It is for searches, which leave
// such paths out. folder is as in [Rule.Denies].
func (r Rule) Covers(tool, path, folder string) bool {
	return r.names(tool) && !r.Above && len(r.Words) == 0 && (r.Path == "" || r.matches(path, folder, true))
}

// Allows reports whether a rule of an allow-list is about one command of bash,
// given by its words, or, where words is nil, about a plan of another tool as a
// whole. It takes the strict side: words are compared one by one from the
// first, and each path of the plan has to be one of the rule's.
func (r Rule) Allows(p *Plan, words []string, folder string) bool {
	switch {
	case !r.names(p.Tool):
		return false
	case words != nil:
		return len(words) >= len(r.Words) && slices.Equal(words[:len(r.Words)], r.Words)
	case len(r.Words) > 0:
		return false
	case r.Path != "":
		all := p.touched()
		return len(all) > 0 && !slices.ContainsFunc(all, func(at string) bool { return !r.matches(at, folder, false) })
	}
	return true
}

func (r Rule) names(tool string) bool {
	ok, err := path.Match(r.Tool, tool)
	return r.Tool == "*" || err == nil && ok
}

// touched returns the paths that a plan reads and writes.
func (p *Plan) touched() []string {
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

// Limits reports whether the rule is about some paths of a tool.
func (r Rule) Limits(tool string) bool { return r.Path != "" && r.names(tool) }
