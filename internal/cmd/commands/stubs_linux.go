package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed stubs.txt
var stubList string

// stub is a line of stubs.txt.
type stub struct{ kind, pattern string }

func (s stub) program() string { return strings.TrimSuffix(strings.Fields(s.pattern)[0], "*") }

// stubs returns the lines of the table.
func stubs() []stub {
	var all []stub
	for line := range strings.Lines(stubList) {
		kind, pattern, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && kind != "#" {
			all = append(all, stub{kind, pattern})
		}
	}
	return all
}

// actions are what each kind does, in sh. $url is the network, $socket that of a
// daemon, and $name the program's.
var actions = map[string]string{
	"read":   "ls >/dev/null",
	"build":  `mkdir -p out && echo built > "out/$name"`,
	"fetch":  `"$curl" -sf -m 5 "$url" >/dev/null && mkdir -p out && echo fetched > "out/$name"`,
	"ask":    `"$curl" -sf -m 5 "$url" >/dev/null`,
	"daemon": `"$curl" -sf -m 5 --unix-socket "$socket" http://daemon/ >/dev/null`,
}

// installStubs writes the programs of the table to a folder. A program that the
// table does not have whole calls the real one, if there is one.
func installStubs(dir, url, socket string) error {
	curl, err := exec.LookPath("curl")
	if err != nil {
		return fmt.Errorf("the stubs reach the network by curl: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var cases strings.Builder
	var names []string
	for _, s := range stubs() {
		action, ok := actions[s.kind]
		if !ok {
			return fmt.Errorf("stubs.txt: there is no kind %q", s.kind)
		}
		fmt.Fprintf(&cases, "%s) %s; exit ;;\n", strings.ReplaceAll(s.pattern, " ", `\ `), action)
		if name := s.program(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		end := "exit 127"
		if real, err := exec.LookPath(name); err == nil {
			end = `exec "` + real + `" "$@"`
		}
		text := fmt.Sprintf("#!/bin/bash\nname=%s curl=%s url=%s socket=%s\ncase \"$name $*\" in\n%sesac\n%s\n", name,
			curl, url, socket, cases.String(), end)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}
