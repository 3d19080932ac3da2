// Package documents writes files that are generated from the source, or says
// which of those in the checkout are stale. It is what the commands protocoldoc,
// referencedoc and noticesdoc share.
package documents

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

// Document is one generated file.
type Document struct {
	Name string // from the module's folder, with slashes
	Text []byte
}

// Main is the command of a name, which writes what generate makes of the source below
// root, or with -check says what of it is stale.
func Main(name string, generate func(root string) ([]Document, error)) {
	check := flag.Bool("check", false, "compare instead of writing; exit with 1 when something is stale")
	flag.Parse()
	root, err := FindRoot()
	var all []Document
	if err == nil {
		all, err = generate(root)
	}
	if err == nil {
		err = Write(root, all, *check, "go run ./internal/cmd/"+name, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Write writes the documents below root. With check it changes nothing: it says
// on out what each stale one lacks, and the error names the command that fixes
// them.
func Write(root string, all []Document, check bool, command string, out io.Writer) error {
	stale := false
	for _, d := range all {
		path := filepath.Join(root, filepath.FromSlash(d.Name))
		have, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if bytes.Equal(have, d.Text) {
			continue
		}
		if check {
			stale = true
			fmt.Fprintf(out, "%s is stale:\n%s", d.Name, summary(string(have), string(d.Text)))
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, d.Text, 0o644); err != nil {
			return err
		}
	}
	if stale {
		return fmt.Errorf("run %q", command)
	}
	return nil
}

// FindRoot returns the module's folder: the nearest one above the working
// directory with a go.mod.
func FindRoot() (string, error) {
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
