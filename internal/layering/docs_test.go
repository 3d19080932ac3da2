package layering

import (
	"go/ast"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// placed is a position as a node, for messages.
type placed token.Pos

func (p placed) Pos() token.Pos { return token.Pos(p) }
func (p placed) End() token.Pos { return token.Pos(p) }

// TestPackageDocs holds that every package says what it is, and every exported
// name what it promises.
//
// Fields, and the members of a group of constants or variables that has a
// comment, need none of their own. A comment at the end of a one-line method
// counts.
func TestPackageDocs(t *testing.T) {
	h := source(t)
	all := h.packages()
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		var docs []string
		for _, f := range all[pkg] {
			if f.Doc != nil {
				docs = append(docs, f.Doc.Text())
			}
			if !f.test {
				h.checkDocs(t, f)
			}
		}
		switch {
		case len(docs) == 0:
			t.Errorf("package %s has no comment", pkg)
		case !slices.ContainsFunc(docs, func(d string) bool { return sentence.MatchString(d) }):
			t.Errorf("the comment of package %s is no sentence: %q", pkg, docs[0])
		case !slices.ContainsFunc(docs, func(d string) bool {
			return strings.HasPrefix(d, "Package "+all[pkg][0].Name.Name+" ") || all[pkg][0].Name.Name == "main" ||
				strings.HasSuffix(all[pkg][0].Name.Name, "_test")
		}):
			t.Errorf("the comment of package %s does not begin with its name: %q", pkg, docs[0])
		}
	}
}

// sentence is some words and a full stop at the end of a line or before a space.
var sentence = regexp.MustCompile(`(?s)^\S+ \S.*\.(\s|$)`)

// checkDocs fails for each exported name of f that has no comment.
func (h *module) checkDocs(t *testing.T, f *file) {
	t.Helper()
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || !ofExported(d) || documented(d.Doc) || h.endsInComment(f, d) {
				continue
			}
			t.Errorf("%s: %s has no comment", h.at(d), d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					alone := !d.Lparen.IsValid() && documented(d.Doc)
					if s.Name.IsExported() && !alone && !documented(s.Doc) && !documented(s.Comment) {
						t.Errorf("%s: type %s has no comment", h.at(s), s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() && !documented(d.Doc) && !documented(s.Doc) && !documented(s.Comment) {
							t.Errorf("%s: %s has no comment", h.at(name), name.Name)
						}
					}
				}
			}
		}
	}
}

func documented(c *ast.CommentGroup) bool { return c != nil && strings.TrimSpace(c.Text()) != "" }

// ofExported reports whether d is a function, or a method of an exported type.
func ofExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// endsInComment reports whether a comment follows d on its last line.
func (h *module) endsInComment(f *file, d *ast.FuncDecl) bool {
	end := h.fset.Position(d.End())
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() >= d.End() && h.fset.Position(c.Pos()).Line == end.Line && documented(c)
	})
}

// travels says which structs go over the wire or into a log: all of a package's
// exported ones, or those of one file.
var travels = []struct{ pkg, file string }{
	{"internal/wire", ""},
	{"agents/activity", "agents/activity/body.go"},
	{"agents/activity", "agents/activity/route.go"},
	{"agents/activity", "agents/activity/parts.go"},
}

// member is the name of a member on the wire.
var member = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// TestWireTags holds that every exported field of what travels has a json tag
// in lowerCamelCase: the codec matches names by case, so a field without one
// would be lost. Embedded fields have none: theirs are the outer struct's.
func TestWireTags(t *testing.T) {
	h := source(t)
	for _, place := range travels {
		structs := 0
		for _, f := range h.packages()[place.pkg] {
			if f.test || (place.file != "" && f.name != place.file) {
				continue
			}
			ast.Inspect(f.File, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					if s, ok := spec.Type.(*ast.StructType); ok {
						structs++
						h.checkTags(t, spec.Name.Name, s)
					}
				}
				return true
			})
		}
		if structs == 0 {
			t.Errorf("%s %s has no structs: this test no longer knows what travels", place.pkg, place.file)
		}
	}
}

func (h *module) checkTags(t *testing.T, name string, s *ast.StructType) {
	t.Helper()
	seen := make(map[string]bool)
	for _, field := range s.Fields.List {
		tag := jsonTag(field)
		for _, id := range field.Names {
			switch {
			case !id.IsExported():
			case !member.MatchString(tag) && tag != "-":
				t.Errorf("%s: %s.%s has the json name %q, want lowerCamelCase", h.at(id), name, id.Name, tag)
			case seen[tag] && tag != "-":
				t.Errorf("%s: %s has two members %q", h.at(id), name, tag)
			}
			seen[tag] = true
		}
		if len(field.Names) == 0 && tag != "" {
			t.Errorf("%s: an embedded field of %s has the json name %q: its members belong to %s", h.at(field), name, tag, name)
		}
	}
}

// jsonTag returns the name in a field's json tag, "" where it has none.
func jsonTag(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	raw, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(raw).Get("json"), ",")
	return name
}
