package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentls/agentls/agents/tool"
)

// The limits of a command's text in bytes: more is not run, and what is longer
// than maxShown cannot be shown to a person so that it is understood (SEC-71).
const (
	maxText  = 64 << 10
	maxShown = 16 << 10
)

// Config says where a command would run. Both are required.
type Config struct {
	Env *tool.Env // of the call: the workspace's folders and the person's home
	Dir string    // the folder that it runs in: absolute, links followed, inside the workspace
}

// Analysis is what a command would do. The zero Analysis is of nothing and is
// [tool.Unclassified].
type Analysis struct {
	Risk     tool.Risk
	Why      string     // why that risk, for people
	Parsed   []string   // each simple command, quoted and escaped, in the order of the text
	Commands [][]string // their words as far as they are known, also behind wrappers
	Names    []string   // what a rule can deny by: base names of all that may be run; sorted
	Steps    *Step      // how to run it without a shell; set if and only if Risk is Safe
	Keep     [][]string // argv of each command that is not Safe, where answers for these would permit the whole (SEC-79); else nil
	Taint    tool.Taint // of what it reads by the paths that it names
	Notes    []string   // what a person should know besides: where links lead, what is fetched from where; escaped
}

// Op says how a [Step] joins its parts.
type Op uint8

// The ways of joining.
const (
	Run  Op = iota // Argv
	Pipe           // X | Y
	And            // X && Y
	Or             // X || Y
	Then           // X ; Y
)

// Step is a command of the auto table, or two joined.
type Step struct {
	Op        Op
	X, Y      *Step
	Argv      []string   // of Run: literal words, the first a name of the table
	Redirects []Redirect // of Run, in the order in which they apply
}

// Redirect is one of the redirections that change nothing.
type Redirect uint8

// The redirections.
const (
	OutToNull Redirect = iota // >/dev/null
	ErrToNull                 // 2>/dev/null
	ErrToOut                  // 2>&1
)

// judge collects what is found of one command.
type judge struct {
	Config
	risk     tool.Risk
	why      string
	text     string // that is judged
	plain    bool   // nothing but its name can make a path below Dir more than an ordinary one
	parsed   []string
	commands [][]string
	names    map[string]bool
	depth    int // of scripts within scripts
	scanned  map[string]string
	judged   map[string]bool // paths, with their purpose
	seen     int             // words so far
	keep     [][]string      // argv of the commands that are not safe
	unkept   bool            // a reason to ask is none that argv could answer
	notes    []string
	taint    tool.Taint
	moved    moves
	effort   int               // spent so far
	spared   int               // and of what there is besides
	secrets  map[string]string // by file
	listed   map[string]listing
	walked   map[string]bool // trees that were looked through for credentials
	unpacked map[string]contents
	depends  map[string]dependencies // by registry
	split    struct{ known, is bool }
}

// raise makes the risk at least r; the reason of the first that is as strict is
// told.
func (j *judge) raise(r tool.Risk, format string, args ...any) {
	if r > j.risk {
		j.risk, j.why = r, fmt.Sprintf(format, args...)
	}
}

// Analyze says what text would do. A text that no shell should see (empty, too
// long, control characters) is a *tool.Error CodeArgs.
func Analyze(text string, c Config) (Analysis, error) {
	if err := refuse(text); err != nil {
		return Analysis{}, err
	}
	j := &judge{Config: c, risk: tool.Safe, moved: moves{removed: make(map[string]int)}, names: make(map[string]bool), scanned: make(map[string]string), judged: make(map[string]bool), secrets: make(map[string]string),
		listed: make(map[string]listing), walked: make(map[string]bool), unpacked: make(map[string]contents), depends: make(map[string]dependencies)}
	j.plain = c.Env.HomeFolder() != c.Dir && tool.ProtectedBy(c.Dir) == "" && !tool.IsCredential(c.Dir) && tool.SealedBy(c.Env, c.Dir) == "" && ordinary(c)
	file := j.script(text)
	a := Analysis{}
	if j.risk == tool.Safe {
		a.Steps = steps(text, file.Stmts)
		if a.Steps == nil {
			j.raise(tool.Medium, "a form of command that is not run by itself")
		}
	}
	if len(text) > maxShown {
		j.raise(tool.Protected, "a command of %d bytes cannot be shown whole", len(text))
		a.Steps = nil
	}
	if tool.Suspicious(text) {
		j.risk = j.risk.Raise()
		j.why = strings.TrimPrefix(j.why+"; it holds characters that are not seen", "; ")
		a.Steps = nil
	}
	if file != nil && j.risk > tool.Safe && j.risk <= tool.High && !j.unkept && !tool.Suspicious(text) && steps(text, file.Stmts) != nil {
		a.Keep = j.keep
	}
	a.Risk, a.Why, a.Parsed, a.Commands, a.Notes, a.Taint = j.risk, j.why, j.parsed, j.commands, j.notes, j.taint
	if a.Risk == tool.Safe {
		a.Why = "reads inside the workspace"
	}
	for name := range j.names {
		a.Names = append(a.Names, name)
	}
	slices.Sort(a.Names)
	return a, nil
}

// refuse returns an error for a text with characters that a person cannot be
// shown as what a shell makes of them (SEC-26).
func refuse(text string) error {
	if strings.TrimSpace(text) == "" {
		return tool.Errorf(tool.CodeArgs, "The command is empty.")
	}
	if len(text) > maxText {
		return tool.Errorf(tool.CodeArgs, "The command has %d bytes; at most %d are taken. Write a script to a file and run that.", len(text), maxText)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || r == 0x2028 || r == 0x2029 {
			return tool.Errorf(tool.CodeArgs, "The command holds the control character U+%04X. Write it without: lines end with a newline, and other characters are written as escapes of the program that takes them.", r)
		}
	}
	return nil
}

// script judges a text and returns its tree; nil if it has none.
func (j *judge) script(text string) *syntax.File {
	if !utf8.ValidString(text) {
		j.unreadable(text, "it is not UTF-8")
		return nil
	}
	if tangled(text) {
		j.unreadable(text, "it is nested too deep")
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		j.unreadable(text, err.Error())
		return nil
	}
	if strings.Contains(text, "\\\n") {
		j.unkept = true
		j.raise(tool.High, "a line goes on in the next")
	}
	for _, r := range text {
		if r > unicode.MaxASCII && unicode.IsSpace(r) {
			j.unkept = true
			j.raise(tool.High, "it holds a blank that is none to a shell (U+%04X)", r)
		}
	}
	if len(file.Stmts) == 0 {
		j.raise(tool.High, "it has no command")
	}
	outer := j.text
	j.text = text
	syntax.Walk(file, j.visit)
	j.text = outer
	return file
}

// maxNesting is how deep brackets may stand in each other, and maxClauses how
// many words there may be that can begin a nested command: the parser recurses
// and, on some input, tries again and again.
const (
	maxNesting = 50
	maxClauses = 400
)

// tangled reports whether a text is nested deeper than anybody writes. It does
// not know quotes; what it counts too much is asked, not refused.
func tangled(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ')', '}':
			depth = max(0, depth-1)
		}
	}
	clauses := strings.Count(text, "`") + strings.Count(text, "<<")
	for w := range strings.FieldsSeq(text) {
		switch w {
		case "if", "while", "until", "for", "case", "select", "!", "time", "function", "coproc", "-":
			clauses++
		}
	}
	return clauses > maxClauses
}

// unreadable judges a text that cannot be parsed: by its words alone, so that
// what is catastrophic and what is denied is still found (SEC-35).
func (j *judge) unreadable(text, why string) {
	j.raise(tool.Protected, "cannot be analysed: %s", tool.Escape(why))
	if j.depth == 0 {
		j.parsed = append(j.parsed, tool.Escape(text))
	}
	tokens := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(";|&(){}<>`\"'$\\", r)
	})
	words := make([]word, 0, len(tokens))
	for _, t := range tokens[:min(len(tokens), maxWords)] {
		words = append(words, j.tilde(t))
	}
	j.suffixes(words, false)
}

// maxWords is how many words of a wrapper's command are looked at.
const maxWords = 256

// abs returns path as the command would see it.
func (j *judge) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(j.Dir, path)
}

// ordinary reports whether Dir lies in one of the workspace's folders, and none
// of the daemon's lies in it.
func ordinary(c Config) bool {
	for i := range len(c.Dir) { // a protected place may begin above the folder, as .github/workflows
		if c.Dir[i] >= 0x80 || c.Dir[i] == '.' && i > 0 && os.IsPathSeparator(c.Dir[i-1]) {
			return false
		}
	}
	in := slices.ContainsFunc(append([]string{c.Env.Folder}, c.Env.Folders...), func(f string) bool { return tool.Within(f, c.Dir) })
	for _, other := range []string{c.Env.HomeFolder(), c.Env.State, "/proc", "/sys", "/dev"} {
		if other != "" && (tool.Within(c.Dir, other) || other != c.Env.HomeFolder() && tool.Within(other, c.Dir)) {
			return false
		}
	}
	return in
}

// gitHere reports whether git may read by itself here: in the workspace folder
// itself, when it holds a repository of its own. Nested repositories, work
// trees and bare ones are not trusted with the folder (SEC-14, SEC-48).
func (j *judge) gitHere() bool {
	if j.Dir != j.Env.Folder {
		return false
	}
	info, err := os.Lstat(filepath.Join(j.Dir, ".git"))
	return err == nil && info.IsDir()
}

// gitSplit reports whether the repository here keeps its index in parts: git
// sets the times of one even to read it, and no setting keeps it from that.
func (j *judge) gitSplit() bool {
	if !j.split.known {
		j.split.known = true
		if folder, err := os.Open(filepath.Join(j.Dir, ".git")); err == nil {
			defer folder.Close()
			names, err := folder.Readdirnames(-1)
			j.split.is = err != nil || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "sharedindex.") })
		}
	}
	return j.split.is
}
