package main

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// surface is the protocol as the source has it.
type surface struct {
	families []family
	commands []constant
	events   []event
	lsp      []string // names of constants, in the order of the route table
	types    *types
	negotiat []string // names of the negotiation's roots
	kinds    []failure
	reasons  []failure
	version  string
}

// family is the methods that go one way.
type family struct {
	title   string
	methods []method
}

// method is a row with its constant.
type method struct {
	row
	name string // as on the wire
	doc  string
}

// event is a body of agents/activity.
type event struct {
	name string // its type on the wire
	def  string
}

// failure is a kind or a reason of an error.
type failure struct {
	name  string
	code  int
	retry bool
	doc   string
}

// load reads the source below root and puts it together with the tables.
func load(root string) (*surface, error) {
	src, err := openSource(root)
	if err != nil {
		return nil, err
	}
	s := &surface{types: &types{src: src, defs: make(map[string]*namedType), from: make(map[string]string)}}
	for _, step := range []func() error{s.loadMethods, s.loadNegotiation, s.loadEvents, s.loadRoutes,
		s.loadFailures, s.loadRest} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// loadMethods reads the constants of internal/wire.
func (s *surface) loadMethods() error {
	wire, err := s.types.src.pkg("internal/wire")
	if err != nil {
		return err
	}
	known := make(map[string]row)
	for _, r := range rows {
		known[r.constant] = r
	}
	told := make(map[string]bool)
	for _, g := range wire.consts {
		var f family
		for _, c := range g.values {
			switch {
			case c.name == "Version":
				s.version = c.value
			case strings.HasPrefix(c.name, "Command"):
				s.commands = append(s.commands, c)
			case strings.HasPrefix(c.name, "Method"):
				r, ok := known[c.name]
				if !ok {
					return fmt.Errorf("wire.%s has no row in internal/cmd/protocoldoc/table.go: say what its types are and what a client without it gets", c.name)
				}
				told[c.name] = true
				f.methods = append(f.methods, method{row: r, name: c.value, doc: c.doc})
			}
		}
		if f.methods != nil {
			f.title = strings.TrimSuffix(strings.TrimSpace(g.doc), ".")
			s.families = append(s.families, f)
		}
	}
	for _, r := range rows {
		if !told[r.constant] {
			return fmt.Errorf("internal/cmd/protocoldoc/table.go has a row for wire.%s, which does not exist",
				r.constant)
		}
	}
	for _, c := range s.commands {
		if !slices.ContainsFunc(commands, func(known command) bool { return known.constant == c.name }) {
			return fmt.Errorf("wire.%s has no row in commands of internal/cmd/protocoldoc/table.go", c.name)
		}
	}
	if len(s.commands) != len(commands) {
		return fmt.Errorf("commands of internal/cmd/protocoldoc/table.go has %d rows, internal/wire %d commands",
			len(commands), len(s.commands))
	}
	for _, f := range s.families {
		for _, m := range f.methods {
			for _, name := range append(slices.Clone(m.results), m.params) {
				if name == "" {
					continue
				}
				if _, err := s.types.need("internal/wire", name); err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
			}
		}
	}
	return nil
}

func (s *surface) loadNegotiation() error {
	for _, o := range offered {
		if _, err := s.types.need("internal/wire", o.name); err != nil {
			return err
		}
		s.negotiat = append(s.negotiat, o.name)
	}
	return nil
}

// loadEvents reads the bodies of agents/activity.
func (s *surface) loadEvents() error {
	activity, err := s.types.src.pkg("agents/activity")
	if err != nil {
		return err
	}
	for _, name := range activity.bodies {
		def, err := s.types.need("agents/activity", name)
		if err != nil {
			return err
		}
		s.events = append(s.events, event{name: activity.returns[name], def: def})
	}
	if len(s.events) == 0 {
		return fmt.Errorf("agents/activity has no bodies: a type with a method Type that returns a literal")
	}
	return nil
}

// loadRoutes reads which methods handlers serves, and holds the document to it:
// what has no row there is not served, and what has one is documented.
func (s *surface) loadRoutes() error {
	served, err := routes(s.types.src)
	if err != nil {
		return err
	}
	var ours []string
	for _, m := range served {
		if name, ok := strings.CutPrefix(m, "protocol."); ok {
			s.lsp = append(s.lsp, name)
		} else if name, ok := strings.CutPrefix(m, "wire."); ok {
			ours = append(ours, name)
		}
	}
	s.lsp = append(s.lsp, transport...)
	for _, name := range s.lsp {
		if _, ok := standard[name]; !ok {
			return fmt.Errorf("handlers serves protocol.%s, which has no row in standard of internal/cmd/protocoldoc/table.go", name)
		}
	}
	for name := range standard {
		if !slices.Contains(s.lsp, name) {
			return fmt.Errorf("standard of internal/cmd/protocoldoc/table.go has protocol.%s, which handlers does not serve", name)
		}
	}
	for _, f := range s.families {
		for _, m := range f.methods {
			in := slices.Contains(ours, m.constant)
			switch fromClient := strings.Contains(f.title, "from the client"); {
			case fromClient && !in:
				return fmt.Errorf("wire.%s is a request from the client and has no route in handlers/handlers.go: what is not built is not documented", m.constant)
			case !fromClient && in:
				return fmt.Errorf("wire.%s has a route in handlers/handlers.go and is documented as %q", m.constant,
					f.title)
			}
		}
	}
	for _, name := range ours {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.constant == name }) {
			return fmt.Errorf("handlers serves wire.%s, which has no row in internal/cmd/protocoldoc/table.go", name)
		}
	}
	return nil
}

// routes returns the methods of the route tables: "wire.MethodRun".
func routes(src *source) ([]string, error) {
	var files []*ast.File
	for _, name := range []string{"handlers", "handlers/language"} {
		pkg, err := src.pkg(name)
		if err != nil {
			return nil, err
		}
		files = slices.AppendSeq(files, maps.Values(pkg.files))
	}
	var list []string
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasSuffix(fn.Name.Name, "Routes") || fn.Recv == nil {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !strings.HasPrefix(sel.Sel.Name, "Method") {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok {
					list = append(list, x.Name+"."+sel.Sel.Name)
				}
				return true
			})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("handlers has no method …Routes that names methods")
	}
	return list, nil
}

// codes are the numbers of the names that server/codes.go uses.
var codes = map[string]int{
	"jsonrpc2.ParseError": -32700, "jsonrpc2.InvalidRequest": -32600, "jsonrpc2.MethodNotFound": -32601,
	"jsonrpc2.InvalidParams": -32602, "jsonrpc2.InternalError": -32603, "jsonrpc2.ServerNotInitialized": -32002,
	"protocol.CodeContentModified": -32801, "protocol.CodeRequestCancelled": -32800, "requestFailed": -32803,
}

// loadFailures reads the kinds and reasons of internal/fault, and their codes
// from server.
func (s *surface) loadFailures() error {
	fault, err := s.types.src.pkg("internal/fault")
	if err != nil {
		return err
	}
	server, err := s.types.src.pkg("server")
	if err != nil {
		return err
	}
	names, err := pairs(fault.vars, "internal/fault", "names")
	if err != nil {
		return err
	}
	edges, err := pairs(server.vars, "server", "edges")
	if err != nil {
		return err
	}
	retries, err := pairs(server.vars, "server", "reasons")
	if err != nil {
		return err
	}
	for _, g := range fault.consts {
		for _, c := range g.values {
			if value, ok := names[c.name]; ok {
				f, err := kindOf(c, value, edges["fault."+c.name])
				if err != nil {
					return err
				}
				s.kinds = append(s.kinds, f)
			}
			if c.typ == "Reason" {
				retry, _ := retries["fault."+c.name].(*ast.Ident)
				s.reasons = append(s.reasons, failure{name: c.value, retry: retry != nil &&
					retry.Name == "true", doc: c.doc})
			}
		}
	}
	if len(s.kinds) != len(names) || len(s.reasons) == 0 {
		return fmt.Errorf("internal/fault: %d of %d kinds and %d reasons were understood", len(s.kinds),
			len(names), len(s.reasons))
	}
	return nil
}

// kindOf puts a kind's name together with its row of edges: {code, retry}.
func kindOf(c constant, value, edge ast.Expr) (failure, error) {
	lit, ok := value.(*ast.BasicLit)
	row, isRow := edge.(*ast.CompositeLit)
	if !ok || !isRow || len(row.Elts) != 2 {
		return failure{}, fmt.Errorf("fault.%s: its name or its row of server.edges is not understood", c.name)
	}
	name, err := strconv.Unquote(lit.Value)
	if err != nil {
		return failure{}, err
	}
	code, ok := codes[nameOf(row.Elts[0])]
	if !ok {
		return failure{}, fmt.Errorf("fault.%s has the code %s, whose number is not in codes of internal/cmd/protocoldoc", c.name, nameOf(row.Elts[0]))
	}
	return failure{name: name, code: code, retry: nameOf(row.Elts[1]) == "true", doc: withoutName(c.name, c.doc)}, nil
}

// nameOf returns "a" or "a.b", "" for other expressions.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x := nameOf(e.X); x != "" {
			return x + "." + e.Sel.Name
		}
	}
	return ""
}

// pairs returns the keys and values of a composite literal.
func pairs(vars map[string]ast.Expr, pkg, name string) (map[string]ast.Expr, error) {
	lit, ok := vars[name].(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("%s has no table %s", pkg, name)
	}
	all := make(map[string]ast.Expr)
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return nil, fmt.Errorf("%s.%s has a row without a key", pkg, name)
		}
		all[nameOf(kv.Key)] = kv.Value
	}
	return all, nil
}

// loadRest fails for a type of internal/wire that the document would leave out.
func (s *surface) loadRest() error {
	wire, err := s.types.src.pkg("internal/wire")
	if err != nil {
		return err
	}
	for _, name := range wire.order {
		if !ast.IsExported(name) || name == "Codec" || wire.types[name].Assign.IsValid() {
			continue
		}
		if s.types.from[name] != "internal/wire."+name {
			return fmt.Errorf("wire.%s is reached from no method of internal/cmd/protocoldoc/table.go", name)
		}
	}
	return nil
}
