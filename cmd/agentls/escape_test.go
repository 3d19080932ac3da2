package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesCannotSpeakToTheTerminal: whatever the files of a folder and the
// person's settings have, no command prints a control of the terminal.
func TestFilesCannotSpeakToTheTerminal(t *testing.T) {
	dir := explainable(t)
	home := os.Getenv("GEMINI_HOME")
	const bad = `\e[31mred\e]0;title\a\e]8;;http://x\e\\\u202e\x9b31m`
	agent := "---\nkind: agent\nname: bad\ntitle: \"T" + bad + "\"\ndescription: \"" + bad + "\"\nmodel: \"m" + bad + "\"\nfallback_models: [\"f" + bad + "\"]\n" +
		"tools: {allow: [\"t" + bad + "\", read_file], confirmation: {require_confirmation: [\"c" + bad + "\"]}}\nmcp: {servers: [\"s" + bad + "\"]}\n" +
		"subagents: [\"a" + bad + "\"]\nhandoffs: [{to: \"h" + bad + "\", when: \"w" + bad + "\"}]\n\"k" + bad + "\": 1\n---\nDo it.\n"
	json := strings.NewReplacer(`\e\\`, `\u001b\\`, `\e`, `\u001b`, `\a`, `\u0007`, `\x9b`, `\u009b`).Replace(bad)
	settings := `{"model": {"name": "m` + json + `"}, "tools": {"exclude": ["e` + json + `(x)", "g` + json + `"], "allowed": ["l` + json + `(x)"]},
		"mcpServers": {"s` + json + `": {"command": "` + json + `"}}, "k` + json + `": 1,
		"agents": {"fallbackModels": ["` + json + `"], "overrides": {"bad": {"k` + json + `": 1}, "n` + json + `": {}}}}`
	for path, text := range map[string]string{
		filepath.Join(dir, ".gemini", "agents", "bad.md"): agent, filepath.Join(dir, ".gemini", "agents", "worse.md"): strings.Replace(agent, "name: bad", "name: \"n"+bad+"\"", 1),
		filepath.Join(dir, ".gemini", "agents", "k\x1b]0;title\a.md"): strings.Replace(agent, "name: bad", "name: k", 1),
		filepath.Join(dir, "c.md"):                                    "---\nname: c\ndescription: \"" + bad + "\"\ntools: Read, \"T" + bad + "\"\nmodel: \"" + bad + "\"\n\"k" + bad + "\": 1\nhooks: {\"" + bad + "\": []}\n---\nDo it.\n",
		filepath.Join(dir, ".gemini", "settings.json"):                settings, filepath.Join(home, "settings.json"): settings,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() {
		for _, args := range []string{
			"list", "explain bad", "explain fixer", "explain main", "diff-authority fixer bad", "diff-authority bad fixer", "validate", "validate bad", "doctor", "sessions list", "trust --list", "permissions list",
			"context show bad", "run bad hello", "import --dry-run .gemini/agents/bad.md", "import --dry-run --from claude c.md", "export bad --to claude --stdout", "export bad --to copilot --stdout --drop-restrictions",
			"changes", "create k", "edit k", "delete k --yes --scope global", "__complete explain ", "__complete create --template ",
		} {
			_, out, errs := command(t, dir, strings.Split(args, " ")...)
			if strings.Contains(args, "--stdout") {
				out = "" // what was printed is a file
			}
			if i := strings.IndexFunc(out+errs, func(r rune) bool {
				return (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) || r == 0x202e
			}); i >= 0 {
				t.Errorf("%s prints %q", args, (out + errs)[max(0, i-60):min(len(out+errs), i+40)])
			}
		}
	}
	look()
	if code, out, errs := command(t, dir, "trust"); code != 0 {
		t.Fatalf("trust: exit %d\n%s%s", code, out, errs)
	}
	look()
	if _, out, _ := command(t, dir, "__complete", "explain", ""); !strings.Contains(out, "\nbad\tT\\x1b[31mred") || strings.Contains(out, "red\t") {
		t.Errorf("offered are\n%s", out)
	}
	if _, out, _ := command(t, dir, "list"); !strings.Contains(out, `m\x1b[31mred\x1b]0;title`) {
		t.Errorf("the model is not told as it is:\n%s", out)
	}
}

// TestErrorsInADialogueCannotSpeakToTheTerminal: what goes wrong with a request may
// name what was typed, or a file.
func TestErrorsInADialogueCannotSpeakToTheTerminal(t *testing.T) {
	explainable(t)
	typed := filepath.Join(t.TempDir(), "typed")
	if err := os.WriteFile(typed, []byte("/agents run k\x1b]0;title\a hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(typed)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, errs bytes.Buffer
	code := execute([]string{"run", "-i", "--session", "new"}, streams{in, &out, &errs})
	if code != exitFailed || !strings.Contains(errs.String(), `\x1b]0;title\x07`) || strings.ContainsAny(out.String()+errs.String(), "\x1b\a") {
		t.Errorf("exit %d\n%q\n%q", code, out.String(), errs.String())
	}
}
