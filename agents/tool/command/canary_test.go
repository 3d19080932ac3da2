package command_test

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
)

// bash returns the shell of the differential tests.
func bash(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here: what the analysis calls auto is not compared with what bash does")
	}
	return path
}

// tree returns what lies in a folder: names, sizes, modes and times.
func tree(t testing.TB, folder string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.Mode().String())
		if !info.IsDir() || !strings.HasSuffix(path, "/.git") {
			b.WriteString(" " + info.ModTime().Format(time.RFC3339Nano))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// holds runs what is called auto in a real bash, and reports what it changed.
func (w world) holds(t testing.TB, shell, text string) (ran bool) {
	t.Helper()
	a, err := command.Analyze(text, command.Config{Env: w.env, Dir: w.folder})
	if err != nil || a.Risk != tool.Safe {
		return false
	}
	base := filepath.Dir(w.folder)
	before := tree(t, base)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "--noprofile", "--norc", "-c", text)
	cmd.Dir = w.folder
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.home, "P=touch P", "CMD=touch P"}
	_ = cmd.Run() // its exit code does not matter
	if after := tree(t, base); after != before {
		t.Errorf("SEC-46: %q was called auto and changed files\nbefore:\n%s\nafter:\n%s", text, before, after)
	}
	return true
}

// pieces of commands: what is harmless, what is not, and what joins them.
var grammar = []string{
	"ls", "cat", "echo", "grep", "find", "sort", "git status", "git diff", "git log", "head", "tail", "wc", "sed", "rg", "uniq", "date", "tr", "cut", "diff", "tee", "touch", "env", "xargs", "sh -c", "test", "printf", "which", "stat", "file", "tree", "pwd", "true", "awk", "find .",
	"P", "a.txt", "src", "src/main.go", ".", "-n", "-l", "-la", "-o", "-oP", "-i", "-e", "-f", "-c", "-r", "-s", "-x", "--", "--output=P", "--output", "-exec", "-delete", "-fprint", "-name", "-k1", "-t", "--pre=touch", "-M", "-S", "--files", "1p", "'w P'", "'1,2p'", "'e touch P'", "-1", "+1", "+%s", "{}", "';'", `\;`, "touch P", "'touch P'", `"touch P"`,
	"|", "|", ";", "&&", "||", "&", "|&", "\n", ">", ">>", "<", "2>&1", ">/dev/null", "2>/dev/null", ">P", "2>P", "&>P", "<<<", "$(touch P)", "`touch P`", "$P", "${P}", "$CMD", "\"$(touch P)\"", "\"`touch P`\"", "\"\\$(touch P)\"", "'$(touch P)'", "\\$(touch P)", "$'\\x74ouch P'", "\\", "\\\n", "#", "# x", "(", ")", "{", "}", "!", "*", "?", "[a]", "~", "=", "P=1", "a=$(touch P)", "<(touch P)", ">(touch P)", "[[", "]]", "((", "))", "if", "then", "fi", "{touch,P}", "@(a|b)", "\"", "'", "\t", "\u00a0", "é", "a\\ b", "a''b", "<<E\nx\nE\n",
}

func sample(r *rand.Rand) string {
	var b strings.Builder
	for n := 1 + r.IntN(7); n > 0; n-- {
		b.WriteString(grammar[r.IntN(len(grammar))])
		if r.IntN(6) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// likely makes commands that are nearer to the border: a program of the table,
// words that look like its arguments, and joints.
func likely(r *rand.Rand) string {
	var b strings.Builder
	programs, joints := grammar[:34], []string{" | ", " && ", "; ", " || ", "\n", " 2>&1 | "}
	for n := 1 + r.IntN(3); n > 0; n-- {
		b.WriteString(programs[r.IntN(len(programs))])
		for k := r.IntN(4); k > 0; k-- {
			b.WriteString(" " + grammar[34+r.IntN(45)])
		}
		if n > 1 {
			b.WriteString(joints[r.IntN(len(joints))])
		}
	}
	return b.String()
}

func TestSEC46AutoCommandsChangeNothingInBash(t *testing.T) {
	shell := bash(t)
	w := newWorld(t)
	r := rand.New(rand.NewPCG(4, 6))
	ran := 0
	for i := range 4000 {
		text := sample(r)
		if i%2 == 0 {
			text = likely(r)
		}
		if w.holds(t, shell, text) {
			ran++
		}
	}
	for _, c := range cases {
		if w.holds(t, shell, c.text) {
			ran++
		}
	}
	t.Logf("%d of the samples were auto and ran in bash", ran)
	if ran < 200 {
		t.Errorf("only %d samples were auto: the test shows too little", ran)
	}
}

func FuzzSEC46AutoCommandsChangeNothingInBash(f *testing.F) {
	shell := bash(f)
	w := newWorld(f)
	for _, c := range cases {
		f.Add(c.text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f.Add(sample(r))
		f.Add(likely(r))
	}
	f.Fuzz(func(t *testing.T, text string) { w.holds(t, shell, text) })
}

// FuzzAnalyze holds what must be true of any text.
func FuzzAnalyze(f *testing.F) {
	w := newWorld(f)
	for _, c := range cases {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := command.Analyze(text, command.Config{Env: w.env, Dir: w.folder})
		if err != nil {
			return
		}
		if a.Risk == tool.Unclassified || a.Why == "" {
			t.Errorf("%q: %v %q", text, a.Risk, a.Why)
		}
		if (a.Risk == tool.Safe) != (a.Steps != nil) {
			t.Errorf("%q: risk %v with steps %v", text, a.Risk, a.Steps)
		}
		for _, line := range a.Parsed {
			if tool.Escape(line) != line {
				t.Errorf("%q is shown as %q", text, line)
			}
		}
		if a.Risk == tool.Safe {
			// Whatever follows a harmless command is judged as well.
			b, err := command.Analyze(text+"\ntouch P", command.Config{Env: w.env, Dir: w.folder})
			if err == nil && b.Risk == tool.Safe {
				t.Errorf("%q hides what follows it", text)
			}
		}
	})
}

func BenchmarkAnalyze(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		if _, err := command.Analyze("git diff HEAD~1 -- src/main.go | head -20 && go test ./...", command.Config{Env: w.env, Dir: w.folder}); err != nil {
			b.Fatal(err)
		}
	}
}
