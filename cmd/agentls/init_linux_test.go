package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/model"
)

// TestInit: from an empty folder to a first agent that ran; what is there is left.
func TestInit(t *testing.T) {
	play(t, "> look\n< It is fine.\n")
	dir := t.TempDir()
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{{"so that its agents run? ", types("\n")}}
	}, "init")
	has(t, shown, "Created .gemini/agents/reviewer.md", "Created .gemini/settings.json", "agentls run reviewer")
	if code != 0 || strings.Contains(shown, "agentls trust") {
		t.Errorf("exit %d\n%s", code, shown)
	}
	if code, out, errs := command(t, dir, "run", "reviewer", "look"); code != 0 || out != "It is fine.\n" {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	if _, out, _ := command(t, dir, "doctor"); !strings.Contains(out, "✓ settings: ") {
		t.Errorf("its settings are wrong:\n%s", out)
	}
	settings := filepath.Join(dir, ".gemini", "settings.json")
	put(t, settings, "{}\n")
	code, out, errs := command(t, dir, "init", "other")
	if text, err := os.ReadFile(settings); code != 0 || err != nil || string(text) != "{}\n" || !strings.Contains(out, "This folder has 1 agent already") || strings.Contains(out, "Created") {
		t.Errorf("exit %d, %q\n%s%s", code, text, out, errs)
	}
}

// TestInitTrustsNothingUnasked: without a terminal, and where the answer is no.
func TestInitTrustsNothingUnasked(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("GEMINI_API_KEY", "test")
	dir := t.TempDir()
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{{"so that its agents run? ", types("n\n")}}
	}, "init")
	if code != 0 || !strings.Contains(shown, "Next:\n  agentls trust\n") {
		t.Errorf("exit %d\n%s", code, shown)
	}
	if code, out, errs := command(t, dir, "run", "reviewer", "look"); code != exitFailed || !strings.Contains(errs, "is not trusted\n  Look at its agents, then trust it with `agentls trust ") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	if _, out, _ := command(t, t.TempDir(), "init"); !strings.Contains(out, "Next:\n  agentls trust\n") {
		t.Errorf("without a terminal:\n%s", out)
	}
}

// TestModels: those of the program, and of the settings what they add and correct.
func TestModels(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	put(t, filepath.Join(home, "settings.json"), `{"model": {"table": [{"id": "my-model", "aliases": ["mine"], "window": 32000, "maxOutput": 1000,
		"prices": [{"upTo": 1000, "input": 1, "output": 2.125}, {"input": 3, "output": 4}]}]}}`)
	code, out, errs := command(t, t.TempDir(), "models")
	if code != 0 || strings.Contains(out, "embedding") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for _, want := range [][]string{{"my-model", "mine", "32k", "$1.00–3.00", "$2.125–4.00", "from the settings"}, {"gemini-3.8-flash", "flash", "1M", "low, medium, high"}} {
		at := strings.Index(out, want[0])
		if at < 0 {
			t.Fatalf("no %s in\n%s", want[0], out)
		}
		line, _, _ := strings.Cut(out[at:], "\n")
		has(t, line, want...)
	}
	if strings.Count(out, "from the settings") != 1 {
		t.Errorf("what the settings add is not told apart:\n%s", out)
	}
	_, out, _ = command(t, t.TempDir(), "models", "--json")
	var all struct{ Models []model.Entry }
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Models) == 0 || all.Models[0].ID != "my-model" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTrustIsAskedOnce: at the start, before an agent finds out by turns that fail; a no
// holds.
func TestTrustIsAskedOnce(t *testing.T) {
	note := "> note it\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\\n\"}\n\n>result-error write_file contains not trusted\n< I may not.\n"
	done := "\n> note it\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\\n\"}\n\n>result write_file\n< Done.\n"
	for _, c := range []struct {
		answer, model string
		code          int
	}{{"n\n", note, exitRefused}, {"y\n", done, exitOK}} {
		home := play(t, c.model)
		dir := t.TempDir()
		code, shown := perform(t, dir, func(types func(string) func()) []act {
			acts := []act{{"Trust " + dir + "? [y/N] ", types(c.answer)}}
			if c.code == exitOK {
				acts = append(acts, act{"Allow? ", types("y\n")})
			}
			return acts
		}, "note it")
		if code != c.code || strings.Index(shown, "Trust "+dir) > strings.Index(shown, "model ") {
			t.Errorf("%q: exit %d\n%s", c.answer, code, shown)
		}
		play(t, "> what now\n< So.\n")
		t.Setenv("GEMINI_HOME", home)
		if code, shown := perform(t, dir, func(func(string) func()) []act { return nil }, "what now", "--new"); code != 0 || strings.Contains(shown, "Trust ") {
			t.Errorf("it asks again: exit %d\n%s", code, shown)
		}
	}
	play(t, note)
	if code, out, _ := command(t, t.TempDir(), "note it"); code != exitRefused || out != "I may not.\n" {
		t.Errorf("without a terminal: exit %d, %q", code, out)
	}
}

// TestWithoutQuestion (B3): nothing is advised that does not help.
func TestWithoutQuestion(t *testing.T) {
	for risk, want := range map[string]string{"low": "--approve edits", "medium": "--approve auto", "high": "run it on a terminal", "protected": "run it on a terminal"} {
		if got := withoutQuestion(risk); !strings.Contains(got, want) || (strings.Contains(got, "--approve edits") && risk != "low") || (strings.Contains(got, "--approve auto") && risk != "medium") {
			t.Errorf("%s: %s", risk, got)
		}
	}
}

// TestAnotherVendorsModel (B12) is refused before anything is sent.
func TestAnotherVendorsModel(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("GEMINI_API_KEY", "test")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1") // another error than the one below
	for _, name := range []string{"claude-sonnet-4-5", "openai/gpt-5"} {
		code, out, errs := command(t, t.TempDir(), "run", "--model", name, "-p", "hello", "--new")
		if code != exitFailed || out != "" || !strings.Contains(errs, "Use a Gemini model") {
			t.Errorf("%s: exit %d, %q\n%s", name, code, out, errs)
		}
	}
}
