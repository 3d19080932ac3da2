package command_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/command"
	"github.com/agentls/agentls/agents/tool/command/commandtest"
)

// newLab returns a lab; without a bash there is nothing to compare with.
func newLab(t testing.TB) *commandtest.Lab {
	t.Helper()
	lab, err := commandtest.NewLab(base(t))
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no bash here: what the analysis calls auto is not compared with what bash does")
	}
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

func violations(t testing.TB, found []commandtest.Violation, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Fatalf("%q was called auto and changed files\nbefore:\n%s\nafter:\n%s", v.Text, v.Before, v.After)
	}
}

func TestSEC46AutoCommandsChangeNothingInBash(t *testing.T) {
	lab := newLab(t)
	maker := commandtest.NewMaker(46)
	texts := commandtest.Texts()
	for range 10_000 {
		texts = append(texts, maker.Next())
	}
	for _, text := range texts {
		_, found, err := lab.Try(t.Context(), text)
		violations(t, found, err)
	}
	found, err := lab.Flush(t.Context())
	violations(t, found, err)
	t.Logf("positive control: with find as a free row of the table (testdata/mutants) this test is red; %d of %d commands were auto and ran in bash", lab.Ran, len(texts))
	if len(lab.Unended) > 0 {
		t.Logf("did not end in time, and changed nothing: %q", lab.Unended)
	}
	if lab.Ran < 500 {
		t.Errorf("only %d of the commands were auto: the test shows too little", lab.Ran)
	}
}

func FuzzSEC46AutoCommandsChangeNothingInBash(f *testing.F) {
	lab := newLab(f)
	for _, text := range commandtest.Texts() {
		f.Add(text)
	}
	f.Add(strings.Repeat("date +%9999s;", 40))
	f.Add("git describe --dirty --always")
	maker := commandtest.NewMaker(1)
	for range 400 {
		f.Add(maker.Next())
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, found, err := lab.Try(t.Context(), text)
		violations(t, found, err)
		found, err = lab.Flush(t.Context())
		violations(t, found, err)
	})
}

// FuzzAnalyze holds what must be true of any text.
func FuzzAnalyze(f *testing.F) {
	w := newWorld(f)
	for _, text := range commandtest.Texts() {
		f.Add(text)
	}
	f.Add("echo " + strings.Repeat("é", 31_000))
	f.Add("cat " + strings.Repeat("a/", 7900))
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
