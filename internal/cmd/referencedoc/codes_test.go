package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/cmd/documents"
)

// TestCodesAreThoseOfTheSource: the page has each code that the program gives, and no other.
func TestCodesAreThoseOfTheSource(t *testing.T) {
	root, err := documents.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`"((?:agent|settings|mcp|agent-test)/[a-z]+(?:-[a-z]+)*)"`)
	used := make(map[string]bool)
	for _, folder := range []string{"agents", "handlers", "workspace", "internal/daemon", "extensions"} {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "codes.go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range literal.FindAllSubmatch(text, -1) {
				used[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	known := make(map[string]bool)
	for _, c := range definition.Codes {
		if known[c.Name] = true; !used[c.Name] {
			t.Errorf("nothing gives %s", c.Name)
		}
	}
	for code := range used {
		if !known[code] {
			t.Errorf("%s is not in definition.Codes", code)
		}
	}
}
