// Protocoldoc writes docs/protocol.md, docs/protocol.schema.json and the types of
// the VS Code extension (editors/vscode/src/protocol.ts) from the Go source: the methods and types of internal/wire, the bodies of
// agents/activity, the kinds and reasons of internal/fault with their codes in
// server, and the route table of handlers. What the source does not say (which
// types belong to a method, what a client without a capability gets instead) is
// one table, in table.go.
//
//	go run ./internal/cmd/protocoldoc           # writes them
//	go run ./internal/cmd/protocoldoc -check    # exits with 1 when they are stale
//
// It reads source and imports nothing of this module, so it works while other
// packages do not compile.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "compare instead of writing; exit with 1 when something is stale")
	flag.Parse()
	if err := run(*check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "protocoldoc:", err)
		os.Exit(1)
	}
}

func run(check bool, out io.Writer) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	documents, err := generate(root)
	if err != nil {
		return err
	}
	stale := false
	for _, d := range documents {
		path := filepath.Join(root, filepath.FromSlash(d.name))
		have, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if bytes.Equal(have, d.text) {
			continue
		}
		if !check {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, d.text, 0o644); err != nil {
				return err
			}
			continue
		}
		stale = true
		fmt.Fprintf(out, "%s is stale:\n%s", d.name, summary(string(have), string(d.text)))
	}
	if stale {
		return errors.New(`run "go run ./internal/cmd/protocoldoc"`)
	}
	return nil
}

// document is a file that is written.
type document struct {
	name string // from the module's folder, with slashes
	text []byte
}

// generate returns the documents of the source below root. The same source
// gives the same bytes.
func generate(root string) ([]document, error) {
	s, err := load(root)
	if err != nil {
		return nil, err
	}
	text, err := s.markdown()
	if err != nil {
		return nil, err
	}
	schema, err := s.schema()
	if err != nil {
		return nil, err
	}
	return []document{
		{"docs/protocol.md", text}, {"docs/protocol.schema.json", schema}, {"editors/vscode/src/protocol.ts", s.typescript()},
	}, nil
}

// findRoot returns the module's folder: the nearest one above with a go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("this is no folder of the module: there is no go.mod in it or above")
		}
		dir = up
	}
}

// maxSummary is how many lines of each side a summary shows.
const maxSummary = 20

// summary returns the lines that only one of two texts has.
func summary(have, want string) string {
	var b strings.Builder
	for _, side := range []struct{ mark, text, other string }{{"-", have, want}, {"+", want, have}} {
		in := make(map[string]int)
		for line := range strings.Lines(side.other) {
			in[line]++
		}
		more := 0
		for line := range strings.Lines(side.text) {
			if in[line] > 0 {
				in[line]--
				continue
			}
			if more++; more <= maxSummary {
				fmt.Fprintf(&b, "%s %s\n", side.mark, strings.TrimRight(line, "\n"))
			}
		}
		if more > maxSummary {
			fmt.Fprintf(&b, "%s … and %d lines more\n", side.mark, more-maxSummary)
		}
	}
	if b.Len() == 0 {
		return "its lines are in another order\n"
	}
	return b.String()
}
