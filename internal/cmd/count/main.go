// Command count prints how large the product is and how its code reads: lines,
// statements, comments, lengths of functions, names of functions that are
// participles, and conditions that mix && and ||.
//
//	go run ./internal/cmd/count          the sums
//	go run ./internal/cmd/count -list    also each name, condition and long function
//
// Product code is what the binary is made of: without tests, testdata,
// internal/cmd and test kits. Nothing is enforced.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// kits are folders whose code only tests use.
var kits = map[string]bool{
	"internal/canary": true, "internal/scenario": true, "internal/spine": true, "internal/clienttest": true,
	"internal/layering": true, "internal/faults": true, "internal/editortest": true, "internal/cmd": true,
}

func main() {
	list := flag.Bool("list", false, "list participles, mixed conditions and functions of more than 80 lines")
	flag.Parse()
	s := &sums{}
	if err := walk(".", s.add); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.print(os.Stdout, *list)
}

// walk calls add for each file of the product below root.
func walk(root string, add func(path string, text []byte) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == "node_modules" || kits[filepath.ToSlash(rel)] ||
				(strings.HasPrefix(d.Name(), ".") && rel != ".") ||
				(strings.HasSuffix(d.Name(), "test") && d.Name() != "agenttest") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return add(rel, text)
	})
}
