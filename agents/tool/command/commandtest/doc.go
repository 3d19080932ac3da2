// Package commandtest holds package command against a real bash: what the
// analysis lets run by itself must change nothing (SEC-46).
//
// [Corpus] has the commands of part C of spec 11.2 with the tier of each,
// [Maker] makes others of the same words, and [Lab] runs those that are auto in
// a tree of canaries and tells which of them changed it.
package commandtest

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

//go:embed cases.txt
var cases string

// Case is a command with the tier that it has.
type Case struct {
	ID   string // what demands it: SEC-27, 4.2, or auto and medium for what people do all day
	Risk tool.Risk
	Text string
}

var risks = map[string]tool.Risk{"auto": tool.Safe, "medium": tool.Medium, "high": tool.High, "protected": tool.Protected, "catastrophic": tool.Catastrophic}

// Corpus returns the commands of cases.txt: a line each, the id, the tier and
// the quoted text. It panics on a line that is none.
func Corpus() []Case {
	var all []Case
	for line := range strings.Lines(cases) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(fields) != 3 {
			panic(fmt.Sprintf("cases.txt: %q", line))
		}
		text, err := strconv.Unquote(fields[2])
		if err != nil || risks[fields[1]] == tool.Unclassified {
			panic(fmt.Sprintf("cases.txt: %q", line))
		}
		all = append(all, Case{fields[0], risks[fields[1]], text})
	}
	return all
}

// Texts returns the commands of the corpus alone.
func Texts() []string {
	all := Corpus()
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = c.Text
	}
	return texts
}

// The pieces of commands: programs, their arguments, and what joins them.
var (
	programs = []string{
		"ls", "cat", "echo", "grep", "find", "sort", "git status", "git diff", "git log", "git show", "git branch", "git ls-files", "git blame", "git rev-parse", "head", "tail", "wc", "sed", "rg", "uniq", "date", "tr", "cut", "diff", "tee", "touch", "env", "xargs", "sh -c", "test", "printf", "which", "stat", "file", "tree", "pwd", "true", "awk", "find .", "du", "nl", "tac", "comm", "paste", "cmp", "realpath", "readlink", "basename", "rg --files", "sed -n", "git", "command", "time", "nice", "exec",
	}
	arguments = []string{
		"P", "a.txt", "src", "src/main.go", ".", "-n", "-l", "-la", "-o", "-oP", "-i", "-e", "-f", "-c", "-r", "-s", "-x", "-d", "-z", "-w", "-R", "-T", "-S", "--", "--output=P", "--output", "--outp=P", "-exec", "-delete", "-fprint", "-fls", "-name", "-k1", "-t", "--pre=touch", "--pre", "-M", "--files", "--files0-from=P", "--compress-program=touch", "--checkpoint-action=exec=touch", "1p", "'w P'", "'1,2p'", "'e touch P'", "-1", "+1", "+%s", "{}", "';'", `\;`, "touch P", "'touch P'", `"touch P"`, "HEAD", "--ext-diff", "--no-index", "--cached", "-p", "*.txt", "\\( -name a.txt \\)", "--set=x", "-ok", "-newer a.txt", "-printf", "--help",
	}
	joints = []string{
		"|", "|", ";", "&&", "||", "&", "|&", "\n", ">", ">>", "<", "2>&1", ">/dev/null", "2>/dev/null", ">P", "2>P", "&>P", "<<<", "$(touch P)", "`touch P`", "$P", "${P}", "$CMD", "\"$(touch P)\"", "\"`touch P`\"", "\"\\$(touch P)\"", "'$(touch P)'", "\\$(touch P)", "$'\\x74ouch P'", "\\", "\\\n", "#", "# x", "(", ")", "{", "}", "!", "*", "?", "[a]", "~", "=", "P=1", "a=$(touch P)", "<(touch P)", ">(touch P)", "[[", "]]", "((", "))", "if", "then", "fi", "{touch,P}", "@(a|b)", "\"", "'", "\t", "\u00a0", "é", "a\\ b", "a''b", "<<E\nx\nE\n", "${x@P}", "$((a[$(touch P)]))", ">&2", "<&-", "{fd}>P", "coproc", "time", "!!", "^a^b", "\\x", "$\"x\"",
	}
	links = []string{" | ", " && ", "; ", " || ", "\n", " 2>&1 | ", " 2>/dev/null | ", " | cat | "}
)

// Maker makes commands by chance: the same seed, the same commands. It is for
// one goroutine.
type Maker struct {
	r      *rand.Rand
	corpus []string
}

// NewMaker returns a maker.
func NewMaker(seed uint64) *Maker {
	return &Maker{r: rand.New(rand.NewPCG(seed, 46)), corpus: Texts()}
}

func (m *Maker) one(of []string) string { return of[m.r.IntN(len(of))] }

// Next returns a command: of any pieces, of pieces in their places, or one of
// the corpus with a piece put in, taken out, or another behind it.
func (m *Maker) Next() string {
	switch m.r.IntN(8) {
	case 0, 1:
		return m.loose()
	case 2, 3:
		return m.corrupt(m.one(m.corpus))
	case 4:
		return m.one(m.corpus) + m.one(links) + m.likely()
	case 5:
		return m.corrupt(m.likely())
	}
	return m.likely()
}

func (m *Maker) loose() string {
	var b strings.Builder
	for n := 1 + m.r.IntN(7); n > 0; n-- {
		b.WriteString(m.one([][]string{programs, arguments, joints}[m.r.IntN(3)]))
		if m.r.IntN(6) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// likely makes what is near the border: a program, words that look like its
// arguments, and links.
func (m *Maker) likely() string {
	var b strings.Builder
	for n := 1 + m.r.IntN(3); n > 0; n-- {
		b.WriteString(m.one(programs))
		for k := m.r.IntN(4); k > 0; k-- {
			b.WriteString(" " + m.one(arguments))
		}
		if n > 1 {
			b.WriteString(m.one(links))
		}
	}
	return b.String()
}

// corrupt changes one place of a command.
func (m *Maker) corrupt(text string) string {
	words := strings.SplitAfter(text, " ")
	at := m.r.IntN(len(words))
	piece := m.one([][]string{programs, arguments, joints}[m.r.IntN(3)])
	switch m.r.IntN(4) {
	case 0:
		words[at] = piece + " "
	case 1:
		words[at] += piece + " "
	case 2:
		words[at] = ""
	default:
		cut := m.r.IntN(len(text) + 1)
		return text[:cut] + piece + text[cut:]
	}
	return strings.Join(words, "")
}
