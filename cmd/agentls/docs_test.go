package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// documentsOf returns the text of the documents for users, by name.
func documentsOf(t *testing.T) map[string]string {
	all := make(map[string]string)
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/reference/*.md", "../../editors/*/README.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	return all
}

var (
	indented   = regexp.MustCompile(`(?m)^    (?:\$ )?(agentls(?: .*)?)$`)
	atStart    = regexp.MustCompile(`(?m)^(?:\$ )?(agentls(?: .*)?)$`)
	fenced     = regexp.MustCompile("(?s)\n```[^\n]*\n(.*?)\n```")
	inlineSpan = regexp.MustCompile("`(agentls [^`\n]+)`")
	word       = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// TestCommandsOfTheDocuments: each command line that a document shows is one that
// the program takes: its name, its flags and how many arguments it has.
func TestCommandsOfTheDocuments(t *testing.T) {
	tried := 0
	try := func(name, line string, whole bool) {
		for _, end := range []string{"  #", " | ", " && ", " > "} {
			line, _, _ = strings.Cut(line, end)
		}
		if strings.ContainsAny(line, "[…") {
			return // a form, not a command
		}
		tried++
		if err := takes(line, whole); err != nil {
			t.Errorf("%s shows %q: %v", name, line, err)
		}
	}
	for name, text := range documentsOf(t) {
		for _, m := range indented.FindAllStringSubmatch(text, -1) {
			try(name, m[1], true)
		}
		for _, fence := range fenced.FindAllStringSubmatch(text, -1) {
			for _, m := range atStart.FindAllStringSubmatch(fence[1], -1) {
				try(name, m[1], true)
			}
		}
		for _, m := range inlineSpan.FindAllStringSubmatch(text, -1) {
			try(name, m[1], false)
		}
	}
	if tried < 60 {
		t.Errorf("only %d command lines were found", tried)
	}
}

// takes reports why the program would refuse a command line, without running it.
// One that is not whole may lack its last arguments.
func takes(line string, whole bool) error {
	args := word.FindAllString(line, -1)[1:]
	for i, arg := range args {
		args[i] = strings.Trim(arg, `"'`)
	}
	if isPrompt(args) {
		args = append([]string{"run"}, args...)
	}
	root := rootCommand(streams{os.Stdin, io.Discard, io.Discard})
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	err = c.ParseFlags(rest)
	switch missing := new(pflag.ValueRequiredError); {
	case errors.Is(err, pflag.ErrHelp), !whole && errors.As(err, &missing):
		return nil
	case err != nil:
		return err
	case !whole && len(c.Flags().Args()) == 0:
		return nil
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err
	}
	return c.ValidateFlagGroups()
}

// TestTakes: what the test above finds.
func TestTakes(t *testing.T) {
	for _, wrong := range []string{"agentls sesions", "agentls run --never", "agentls delete", "agentls trust --list --revoke", "agentls config a b c"} {
		if takes(wrong, true) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	for _, right := range []string{"agentls", `agentls "what is this?"`, "agentls run reviewer 'look at it'", "agentls --version", "agentls completion bash"} {
		if err := takes(right, true); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
}
