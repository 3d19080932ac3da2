package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// source reads packages of the module, each once.
type source struct {
	root   string // the module's folder
	module string // its path
	fset   *token.FileSet
	read   map[string]*goPackage
}

// goPackage is what a package declares.
type goPackage struct {
	dir     string // its folder, from the module's, with slashes
	files   map[string]*ast.File
	types   map[string]*declared
	order   []string // of types, as files and lines have them
	consts  []group
	methods map[string][]string // the methods' names, by type
	vars    map[string]ast.Expr
	returns map[string]string // what Type() returns, by type
	bodies  []string          // types with a Type() method, in order
}

// declared is a type with what says what it is.
type declared struct {
	*ast.TypeSpec
	pkg     *goPackage
	doc     string
	imports map[string]string // name → path, of its file
}

// group is one const declaration.
type group struct {
	doc    string
	values []constant
}

// constant is one name of a group.
type constant struct {
	name  string
	typ   string // "" where it has none of its own
	value string // unquoted, "" where it is no literal
	doc   string
}

func openSource(root string) (*source, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	return &source{
		root: root, module: strings.TrimSpace(strings.TrimPrefix(first, "module ")),
		fset: token.NewFileSet(), read: make(map[string]*goPackage),
	}, nil
}

// pkg returns the package in a folder of the module.
func (s *source) pkg(dir string) (*goPackage, error) {
	if p := s.read[dir]; p != nil {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	p := &goPackage{
		dir: dir, files: make(map[string]*ast.File), types: make(map[string]*declared),
		methods: make(map[string][]string), vars: make(map[string]ast.Expr), returns: make(map[string]string),
	}
	for _, name := range names { // Glob sorts
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.files[filepath.Base(name)] = f
		p.add(f)
	}
	if len(p.files) == 0 {
		return nil, fmt.Errorf("%s has no Go files", dir)
	}
	s.read[dir] = p
	return p, nil
}

func (p *goPackage) add(f *ast.File) {
	imports := make(map[string]string)
	for _, spec := range f.Imports {
		at, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
		name := path.Base(at)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = at
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.addMethod(d)
		case *ast.GenDecl:
			var constants []constant
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					doc := spec.Doc.Text()
					if doc == "" {
						doc = spec.Comment.Text()
					}
					if doc == "" && !d.Lparen.IsValid() {
						doc = d.Doc.Text()
					}
					p.types[spec.Name.Name] = &declared{TypeSpec: spec, pkg: p, doc: doc, imports: imports}
					p.order = append(p.order, spec.Name.Name)
				case *ast.ValueSpec:
					for i, name := range spec.Names {
						if d.Tok == token.VAR {
							if i < len(spec.Values) {
								p.vars[name.Name] = spec.Values[i]
							}
							continue
						}
						constants = append(constants, constantOf(spec, i))
					}
				}
			}
			if constants != nil {
				p.consts = append(p.consts, group{doc: d.Doc.Text(), values: constants})
			}
		}
	}
}

func constantOf(spec *ast.ValueSpec, i int) constant {
	c := constant{name: spec.Names[i].Name, doc: spec.Doc.Text()}
	if c.doc == "" {
		c.doc = spec.Comment.Text()
	}
	if id, ok := spec.Type.(*ast.Ident); ok {
		c.typ = id.Name
	}
	if i < len(spec.Values) {
		if lit, ok := spec.Values[i].(*ast.BasicLit); ok {
			c.value = lit.Value
			if lit.Kind == token.STRING {
				c.value, _ = strconv.Unquote(lit.Value) // the parser has read it
			}
		}
	}
	return c
}

// addMethod notes a method; of Type() also the literal that it returns.
func (p *goPackage) addMethod(d *ast.FuncDecl) {
	if d.Recv == nil {
		return
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	id, ok := t.(*ast.Ident)
	if !ok {
		return
	}
	p.methods[id.Name] = append(p.methods[id.Name], d.Name.Name)
	if d.Name.Name != "Type" || d.Body == nil || len(d.Body.List) != 1 {
		return
	}
	if ret, ok := d.Body.List[0].(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
		if lit, ok := ret.Results[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			p.returns[id.Name], _ = strconv.Unquote(lit.Value)
			p.bodies = append(p.bodies, id.Name)
		}
	}
}

// kind is the shape of a value on the wire.
type kind string

const (
	isAny     kind = "any"
	isString  kind = "string"
	isInteger kind = "integer"
	isCount   kind = "count" // an integer that is not negative
	isNumber  kind = "number"
	isBoolean kind = "boolean"
	isBytes   kind = "bytes" // a string in base64
	isList    kind = "list"
	isMap     kind = "map"
	isNamed   kind = "named"
)

// shape is the type of a member.
type shape struct {
	kind kind
	elem *shape // of a list or map
	name string // of a named one
	null bool   // it may be null
}

// namedType is a named type of the protocol.
type namedType struct {
	name    string
	doc     string
	members []member   // of an object
	values  []constant // of an enumeration
	either  []shape    // of a value that has several forms
	other   *shape     // of any other named type
}

// member is one member of an object.
type member struct {
	name     string
	field    string // its name in Go, as comments have it
	typ      shape
	required bool
	doc      string
}

// forms are the types that have their own way to JSON.
var forms = map[string][]shape{
	"internal/wire.InputBlocks": {{kind: isString}, {kind: isList, elem: &shape{kind: isNamed, name: "ContentBlock"}}},
}

// foreign are the types of others that travel.
var foreign = map[string]shape{
	"encoding/json.RawMessage":   {kind: isAny},
	"go.lsp.dev/protocol.LSPAny": {kind: isAny},
}

// types collects the definitions that are reached from roots.
type types struct {
	src  *source
	defs map[string]*namedType
	from map[string]string // the Go type of a name, so that two do not share one
}

// need adds a type, and what it refers to, and returns its name.
func (ts *types) need(dir, name string) (string, error) {
	p, err := ts.src.pkg(dir)
	if err != nil {
		return "", err
	}
	full := dir + "." + name
	if d := p.types[name]; d != nil && d.Assign.IsValid() { // another name of a type
		dir, name, err := ts.nameOf(d, d.Type)
		if err != nil {
			return "", err
		}
		return ts.need(dir, name)
	}
	if have, ok := ts.from[name]; ok {
		if have != full {
			return "", fmt.Errorf("%s and %s would both be called %s", have, full, name)
		}
		return name, nil
	}
	d := p.types[name]
	if d == nil {
		return "", fmt.Errorf("there is no type %s", full)
	}
	def := &namedType{name: name, doc: d.doc}
	ts.from[name], ts.defs[name] = full, def
	if forms, ok := forms[full]; ok {
		def.either = forms
		return name, ts.needAll(dir, d)
	}
	if err := ts.plain(full, p, name); err != nil {
		return "", err
	}
	shaped := d
	if id, ok := d.Type.(*ast.Ident); ok && p.types[id.Name] != nil {
		shaped = p.types[id.Name] // type FileChanged Change has the members of Change
	}
	if st, ok := shaped.Type.(*ast.StructType); ok {
		def.members, err = ts.membersOf(shaped, st)
	} else {
		def.values = p.constantsOf(name)
		var s shape
		s, err = ts.shapeOf(d, d.Type)
		def.other = &s
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", full, err)
	}
	return name, nil
}

// wider are types that have their own way to JSON since they also take members
// that they do not name; their doc comment says which.
var wider = map[string]bool{"internal/wire.CreateParams": true}

// plain fails for a type that writes its own JSON, of which nothing can be read
// from its fields.
func (ts *types) plain(full string, p *goPackage, name string) error {
	for _, m := range p.methods[name] {
		if !wider[full] && slices.Contains([]string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
			"MarshalJSONTo", "UnmarshalJSONFrom"}, m) {
			return fmt.Errorf("%s has a method %s: say in forms what it is on the wire", full, m)
		}
	}
	return nil
}

// needAll adds what the underlying type of a type with forms refers to.
func (ts *types) needAll(dir string, d *declared) error {
	_, err := ts.shapeOf(d, d.Type)
	if err != nil {
		return fmt.Errorf("%s.%s: %w", dir, d.Name.Name, err)
	}
	return nil
}

// constantsOf returns the constants of a type, in order.
func (p *goPackage) constantsOf(name string) []constant {
	var list []constant
	for _, g := range p.consts {
		for _, c := range g.values {
			if c.typ == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// membersOf returns the members of a struct; those of embedded structs in the
// embedding's place, but for one that the struct itself has, as in Go.
func (ts *types) membersOf(d *declared, s *ast.StructType) ([]member, error) {
	var list []member
	own := make(map[string]bool)
	for _, f := range s.Fields.List {
		if name, _ := tagOf(f); name != "" && len(f.Names) > 0 {
			own[name] = true
		}
	}
	for _, f := range s.Fields.List {
		doc := f.Doc.Text()
		if doc == "" {
			doc = f.Comment.Text()
		}
		if len(f.Names) == 0 {
			embedded, err := ts.embedded(d, f.Type)
			if err != nil {
				return nil, err
			}
			list = append(list, slices.DeleteFunc(embedded, func(m member) bool { return own[m.name] })...)
			continue
		}
		for _, id := range f.Names {
			if !id.IsExported() {
				continue
			}
			name, options := tagOf(f)
			if name == "-" {
				continue
			}
			if name == "" {
				return nil, fmt.Errorf("the field %s has no json name", id.Name)
			}
			typ, err := ts.shapeOf(d, f.Type)
			if err != nil {
				return nil, fmt.Errorf("the field %s: %w", id.Name, err)
			}
			optional := slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
			typ.null = typ.null && !optional
			list = append(list, member{name: name, field: id.Name, typ: typ, required: !optional, doc: doc})
		}
	}
	seen := make(map[string]bool)
	for _, m := range list {
		if seen[m.name] {
			return nil, fmt.Errorf("it has two members %s", m.name)
		}
		seen[m.name] = true
	}
	return list, nil
}

func (ts *types) embedded(d *declared, t ast.Expr) ([]member, error) {
	dir, name, err := ts.nameOf(d, t)
	if err != nil {
		return nil, err
	}
	p, err := ts.src.pkg(dir)
	if err != nil {
		return nil, err
	}
	in := p.types[name]
	if in == nil {
		return nil, fmt.Errorf("there is no type %s.%s", dir, name)
	}
	if err := ts.plain(dir+"."+name, p, name); err != nil {
		return nil, err
	}
	s, ok := in.Type.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s.%s is embedded and no struct", dir, name)
	}
	return ts.membersOf(in, s)
}

func tagOf(f *ast.Field) (name string, options []string) {
	if f.Tag == nil {
		return "", nil
	}
	raw, _ := strconv.Unquote(f.Tag.Value) // the parser has read it
	parts := strings.Split(reflect.StructTag(raw).Get("json"), ",")
	return parts[0], parts[1:]
}

// nameOf returns the folder and name of a type that d's file names, where it is
// one of ours; the whole import path where it is not.
func (ts *types) nameOf(d *declared, t ast.Expr) (dir, name string, err error) {
	switch t := t.(type) {
	case *ast.Ident:
		return d.pkg.dir, t.Name, nil
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok && d.imports[x.Name] != "" {
			return strings.TrimPrefix(d.imports[x.Name], ts.src.module+"/"), t.Sel.Name, nil
		}
	}
	return "", "", fmt.Errorf("%T names no type", t)
}

// basic are the types of the language that travel.
var basic = map[string]kind{
	"string": isString, "bool": isBoolean, "any": isAny, "float64": isNumber, "float32": isNumber,
	"int": isInteger, "int8": isInteger, "int16": isInteger, "int32": isInteger, "int64": isInteger,
	"uint": isCount, "uint8": isCount, "uint16": isCount, "uint32": isCount, "uint64": isCount,
}

func (ts *types) shapeOf(d *declared, t ast.Expr) (shape, error) {
	switch t := t.(type) {
	case *ast.StarExpr:
		s, err := ts.shapeOf(d, t.X)
		s.null = true
		return s, err
	case *ast.ArrayType:
		if id, ok := t.Elt.(*ast.Ident); ok && id.Name == "byte" {
			return shape{kind: isBytes}, nil
		}
		elem, err := ts.shapeOf(d, t.Elt)
		return shape{kind: isList, elem: &elem}, err
	case *ast.MapType:
		elem, err := ts.shapeOf(d, t.Value)
		return shape{kind: isMap, elem: &elem}, err
	case *ast.Ident:
		if k, ok := basic[t.Name]; ok && d.pkg.types[t.Name] == nil {
			return shape{kind: k}, nil
		}
	}
	dir, name, err := ts.nameOf(d, t)
	if err != nil {
		return shape{}, err
	}
	if s, ok := foreign[dir+"."+name]; ok {
		return s, nil
	}
	if name, err = ts.need(dir, name); err != nil {
		return shape{}, err
	}
	return shape{kind: isNamed, name: name}, nil
}

// names returns the definitions' names, sorted.
func (ts *types) names() []string { return slices.Sorted(maps.Keys(ts.defs)) }
