package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/faults"
)

// mutant is one mistake.
type mutant struct {
	name      string
	patch     *faults.Patch
	pkg, test string
	proves    string
}

// load reads the mutants whose name has only.
func load(root, only string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, "testdata", "mutants", "*.patch"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var all []mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !strings.Contains(name, only) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("testdata/mutants has none with %q in its name", only)
	}
	return all, nil
}

// parse reads one.
func parse(name, text string) (mutant, error) {
	patch, err := faults.ParsePatch(text)
	if err != nil {
		return mutant{}, err
	}
	m := mutant{name: name, patch: patch, proves: strings.Join(patch.Header["proves"], ", ")}
	if tests := patch.Header["test"]; len(tests) == 1 {
		m.pkg, m.test, _ = strings.Cut(tests[0], " ")
	}
	if !strings.HasPrefix(m.pkg, "./") || !strings.HasPrefix(m.test, "Test") ||
		strings.ContainsAny(m.test, " /") || m.proves == "" {
		return mutant{}, errors.New(`its head needs one "# test: ./package TestName" and a "# proves: REL-…"`)
	}
	return m, nil
}

// verdict is what came of a mutant.
type verdict struct {
	red  bool // the test failed as it should
	is   string
	said string // by the test, where that tells why not
}

// lab runs tests.
type lab struct {
	root, tmp string
	passed    bool // the tests pass without a change

	mu    sync.Mutex
	whole map[string]func() verdict // by test: how it is without a change
}

// limit bounds one test, in the form of go test's -timeout.
const limit = "150s"

// try makes a mistake and looks whether its test sees it.
func (l *lab) try(ctx context.Context, m mutant) verdict {
	overlay, err := m.patch.Overlay(l.root, filepath.Join(l.tmp, m.name))
	if err != nil {
		return verdict{is: "does not apply", said: err.Error()}
	}
	if !l.passed { // one that is skipped lets its mutant survive
		if v := l.unchanged(ctx, m); !v.red {
			return v
		}
	}
	began := time.Now()
	out, err := l.test(ctx, m, "-overlay="+overlay)
	took := time.Since(began).Round(100 * time.Millisecond)
	switch {
	case err == nil:
		return verdict{is: "SURVIVED", said: tail(out)}
	case strings.Contains(out, "--- FAIL: "+m.test):
		return verdict{red: true, is: fmt.Sprintf("is seen (%s)", took)}
	case strings.Contains(out, "panic: test timed out"):
		return verdict{red: true, is: fmt.Sprintf("is seen: the test does not end (%s)", took)}
	case strings.Contains(out, "panic: ") && strings.Contains(out, "FAIL\t"):
		return verdict{red: true, is: fmt.Sprintf("is seen: the test panics (%s)", took)}
	}
	return verdict{is: "does not compile", said: tail(out)}
}

// unchanged tells whether a test passes without a change; red is that it does.
func (l *lab) unchanged(ctx context.Context, m mutant) verdict {
	l.mu.Lock()
	if l.whole == nil {
		l.whole = make(map[string]func() verdict)
	}
	key := m.pkg + " " + m.test
	once := l.whole[key]
	if once == nil {
		once = sync.OnceValue(func() verdict {
			switch out, err := l.test(ctx, m, ""); {
			case err != nil:
				return verdict{is: "its test fails without it", said: tail(out)}
			case !strings.Contains(out, "--- PASS: "+m.test+" "):
				return verdict{is: "its test is not there, or is skipped", said: tail(out)}
			}
			return verdict{red: true}
		})
		l.whole[key] = once
	}
	l.mu.Unlock()
	return once()
}

// test runs a mutant's test. flag is for every go command, also those of the
// test's own; with one the test is run whatever go remembers of it, since it does
// not know what else the test builds.
func (l *lab) test(ctx context.Context, m mutant, flag string) (string, error) {
	args := []string{"test", "-v", "-vet=off", "-timeout", limit, "-run", "^" + m.test + "$", m.pkg}
	if flag != "" {
		args = slices.Insert(args, 1, "-count=1")
	}
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = l.root
	c.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+flag))
	out, err := c.CombinedOutput()
	return string(out), err
}

// tail returns the last lines of an output.
func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
