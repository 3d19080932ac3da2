package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentsAreCurrent holds docs/protocol.md and docs/protocol.schema.json
// to the source that they are written from.
func TestDocumentsAreCurrent(t *testing.T) {
	c := exec.Command("go", "run", "./internal/cmd/protocoldoc", "-check")
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// constants returns the string constants of a file whose names begin with
// prefix, by name.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			all[spec.Names[0].Name], _ = strconv.Unquote(lit.Value)
		}
		return true
	})
	if len(all) == 0 {
		t.Fatalf("%s has no constants %s…", file, prefix)
	}
	return all
}

// TestEveryMethodIsDocumented holds docs/protocol.md to methods.go and to the
// route table of handlers: every method and command has a row, every method a
// section, and none of them is of something that has gone.
func TestEveryMethodIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	found := func(pattern string) []string {
		var names []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	methods := constants(t, "methods.go", "Method")
	want := slices.Sorted(maps.Values(methods))
	for _, place := range []struct{ what, pattern string }{
		{"the rows", "(?m)^\\| \\[`(agents/[A-Za-z/]+)`\\]"},
		{"the sections", "(?m)^### `(agents/[A-Za-z/]+)`$"},
	} {
		if got := found(place.pattern); !slices.Equal(got, want) {
			t.Errorf("%s of docs/protocol.md are of\n%q, the constants of methods.go\n%q", place.what, got, want)
		}
	}
	if got, want := found("(?m)^\\| `(agentls\\.[A-Za-z]+)`"), slices.Sorted(maps.Values(constants(t, "methods.go", "Command"))); !slices.Equal(got, want) {
		t.Errorf("the commands of docs/protocol.md are\n%q, the constants of methods.go\n%q", got, want)
	}

	for _, table := range []string{"handlers/handlers.go", "handlers/language/handlers.go"} {
		served(t, table, methods, found("(?m)^### `(agents/[A-Za-z/]+)`$"))
	}
}

// served holds that all methods of ours in a route table are documented.
func served(t *testing.T, name string, methods map[string]string, documented []string) {
	table, err := parser.ParseFile(token.NewFileSet(), "../../"+name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	ast.Inspect(table, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(sel.Sel.Name, "Method") {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "wire" {
			rows++
			if method := methods[sel.Sel.Name]; !slices.Contains(documented, method) || method == "" {
				t.Errorf("handlers serves wire.%s, which docs/protocol.md does not have", sel.Sel.Name)
			}
		}
		return true
	})
	if rows == 0 {
		t.Error(name + " names no method of wire: this test no longer knows the route table")
	}
}
