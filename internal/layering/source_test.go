package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// root is the module's folder, seen from this package.
const root = "../.."

// module is the source of the module.
type module struct {
	module string // its path
	fset   *token.FileSet
	files  []*file // by name
}

// file is one Go file.
type file struct {
	name string // from the module's folder, with slashes
	pkg  string // its folder: "agents/run"
	test bool
	text string
	*ast.File
}

// kept reads the source once for all tests.
var kept = sync.OnceValues(readHouse)

func source(t *testing.T) *module {
	t.Helper()
	h, err := kept()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func readHouse() (*module, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	h := &module{module: strings.TrimSpace(strings.TrimPrefix(first, "module ")), fset: token.NewFileSet()}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".go" || base[0] == '.' || base[0] == '_' {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(h.fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		h.files = append(h.files, &file{
			name: name, pkg: path.Dir(name), test: strings.HasSuffix(base, "_test.go"), text: string(text), File: tree,
		})
		return nil
	})
	return h, err
}

// packages returns the files of each package, by its folder.
func (h *module) packages() map[string][]*file {
	all := make(map[string][]*file)
	for _, f := range h.files {
		all[f.pkg] = append(all[f.pkg], f)
	}
	return all
}

// imported returns what f imports: packages of ours by their folder, others by
// their path.
func (h *module) imported(f *file) []string {
	var list []string
	for _, spec := range f.Imports {
		list = append(list, h.short(pathOf(spec)))
	}
	return list
}

// short cuts the module from the path of a package of ours.
func (h *module) short(importPath string) string {
	return strings.TrimPrefix(importPath, h.module+"/")
}

func pathOf(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has read it
	}
	return p
}

// at returns a place for a message.
func (h *module) at(n ast.Node) string {
	p := h.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// names calls see for each pkg.Name in f where pkg is an import: a call, a
// value or a type. Imports of ours are told by their folder.
func (h *module) names(f *file, see func(importPath, name string, n ast.Node)) {
	local := make(map[string]string)
	for _, spec := range f.Imports {
		p := pathOf(spec)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		local[name] = h.short(p)
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			// Obj is set where a local name hides the import.
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && local[x.Name] != "" {
				see(local[x.Name], sel.Sel.Name, sel)
			}
		}
		return true
	})
}

// within reports whether a package is another or below it.
func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

// withinAny is within for several.
func withinAny(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(pkg, f) })
}

// exceptions are files in which a rule does not hold, each with its reason.
type exceptions map[string]string

// excused is a rule's exceptions, and which of them were needed.
type excused struct {
	rule string
	list exceptions
	used map[string]bool
}

func excuse(rule string, list exceptions) *excused {
	return &excused{rule: rule, list: list, used: make(map[string]bool)}
}

// allows reports whether f is an exception.
func (e *excused) allows(f *file) bool {
	if e.list[f.name] == "" {
		return false
	}
	e.used[f.name] = true
	return true
}

// finish fails for each exception that was not needed.
func (e *excused) finish(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(e.list)) {
		if !e.used[name] {
			t.Errorf("%s is an exception of the rule %q and does not need to be: take it from the list", name, e.rule)
		}
	}
}
