package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages: each command that people are shown has a page, which has its
// flags, and which man can read where there is one.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	code, out, errs := command(t, t.TempDir(), "man", dir)
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	root := rootCommand(streams{os.Stdin, os.Stdout, os.Stderr})
	root.InitDefaultCompletionCmd()
	groff, _ := exec.LookPath("groff") // where it is not installed, the text is what is tried
	err := eachCommand(root, func(c *cobra.Command) error {
		name := filepath.Join(dir, manName(c)+".1")
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, want := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", `\-\-help`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if groff != "" && c.Parent() == root {
			if out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", name).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRoff: what begins like a request to roff is shown as text.
func TestRoff(t *testing.T) {
	if got, want := roff(".gemini is\na \\ and … --all\n"), "\\&.gemini is\na \\e and \\[u2026] \\-\\-all"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
