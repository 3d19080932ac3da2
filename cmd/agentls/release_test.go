package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestReleaseFile holds .goreleaser.yaml to the checkout: what it builds, stamps and
// packs is there, and its hooks are commands that the program takes.
func TestReleaseFile(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Before struct{ Hooks []string }
		Builds []struct {
			Main, Binary string
			Ldflags      []string
			Goos, Goarch []string
		}
		Archives []struct{ Files []string }
		Checksum struct {
			Algorithm string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Builds) != 1 || len(file.Archives) != 1 || file.Checksum.Algorithm != "sha256" {
		t.Fatalf("%+v", file)
	}
	build := file.Builds[0]
	if _, err := os.Stat(filepath.Join(root, build.Main, "main.go")); err != nil || build.Binary != "agentls" {
		t.Errorf("it builds %s as %s: %v", build.Main, build.Binary, err)
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(build.Ldflags[0], "-X main.stamped={{ .Version }}") || !strings.Contains(string(source), "\nvar stamped string\n") {
		t.Errorf("the version is not stamped: %q", build.Ldflags)
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		if !slices.Contains(build.Goos, system) {
			t.Errorf("there is no release for %s, which docs/platforms.md promises", system)
		}
	}
	made := make(map[string]bool) // folders that hooks write
	for _, hook := range file.Before.Hooks {
		hook = strings.TrimSuffix(strings.TrimPrefix(hook, `sh -c "`), `"`)
		line, to, redirected := strings.Cut(hook, " > ")
		rest, ours := strings.CutPrefix(line, "go run ./cmd/agentls ")
		switch {
		case ours:
			if err := takes("agentls "+rest, true); err != nil {
				t.Errorf("%s: %v", hook, err)
			}
		case !strings.HasPrefix(hook, "mkdir -p "):
			t.Errorf("%s is no command that this test knows", hook)
		}
		if folder, isMan := strings.CutPrefix(rest, "man "); isMan {
			made[folder] = true
		} else if redirected {
			made[filepath.ToSlash(filepath.Dir(to))] = true
		}
	}
	for _, pattern := range file.Archives[0].Files {
		folder, name := filepath.Split(pattern)
		folder = strings.TrimSuffix(strings.TrimSuffix(folder, "**/"), "/")
		if made[folder] {
			continue
		}
		if strings.Contains(name, "*") {
			name = ""
		}
		if _, err := os.Stat(filepath.Join(root, folder, name)); err != nil {
			t.Errorf("%s is packed, and is not there: %v", pattern, err)
		}
	}
}

// TestVersion: a release has the version of its linker, what go install builds that
// of its module.
func TestVersion(t *testing.T) {
	for _, c := range []struct{ stamped, module, want string }{
		{"1.2.3", "v9.9.9", "1.2.3"},
		{"", "v1.2.3", "1.2.3"},
		{"", "(devel)", unreleased},
		{"", "", unreleased},
	} {
		if got := versionOf(c.stamped, &debug.BuildInfo{Main: debug.Module{Version: c.module}}); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := versionOf("", nil); got != unreleased {
		t.Error(got)
	}
	code, out, _ := command(t, t.TempDir(), "--version")
	if _, second, _ := command(t, t.TempDir(), "version"); code != 0 || out != second || !strings.HasPrefix(out, "agentls ") {
		t.Errorf("--version says %q, version %q", out, second)
	}
}
