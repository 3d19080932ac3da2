package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"slices"
	"strings"
	"unicode"
)

// sums are the counts of all files.
type sums struct {
	files, code, comments, statements int
	functions                         []function
	mixed                             []string // places of conditions
}

type function struct {
	place, name string
	lines       int
	participle  bool
}

// add counts a file.
func (s *sums) add(path string, text []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	s.files++
	code := linesOf(set, file, text)
	s.code += code.code
	s.comments += code.comments
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.EmptyStmt:
		case ast.Stmt:
			s.statements++
		}
		if e, is := n.(*ast.BinaryExpr); is && mixes(e) {
			s.mixed = append(s.mixed, set.Position(e.Pos()).String())
		}
		return true
	})
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		from, to := set.Position(f.Pos()), set.Position(f.End())
		s.functions = append(s.functions, function{from.String(), f.Name.Name, to.Line - from.Line + 1, participle(f)})
	}
	return nil
}

type lines struct{ code, comments int }

// linesOf tells lines of code from those that only have a comment. Blank lines are neither.
func linesOf(set *token.FileSet, file *ast.File, text []byte) lines {
	rows := strings.Split(string(text), "\n")
	comment := make([]bool, len(rows)+1)
	for _, group := range file.Comments {
		for _, c := range group.List {
			from, to := set.Position(c.Pos()), set.Position(c.End())
			for line := from.Line; line <= to.Line; line++ {
				if line > from.Line || strings.TrimSpace(rows[line-1][:from.Column-1]) == "" {
					comment[line] = true
				}
			}
		}
	}
	var l lines
	for i, row := range rows {
		switch {
		case strings.TrimSpace(row) == "":
		case comment[i+1]:
			l.comments++
		default:
			l.code++
		}
	}
	return l
}

// mixes reports a condition that has && and || next to each other without parentheses.
func mixes(e *ast.BinaryExpr) bool {
	if e.Op != token.LAND && e.Op != token.LOR {
		return false
	}
	for _, side := range []ast.Expr{e.X, e.Y} {
		inner, is := side.(*ast.BinaryExpr)
		if is && (inner.Op == token.LAND || inner.Op == token.LOR) && inner.Op != e.Op {
			return true
		}
	}
	return false
}

// irregular are participles that do not end in -ed.
var irregular = strings.Fields(`begun bought broken brought built caught chosen cut done drawn driven fallen fed felt
	forgotten found given gone gotten grown heard held hidden kept known laid left lent let lost made meant met overwritten
	paid put read rewritten said seen sent set shown shut sold sought spent split spoken spread stood stuck sunk sworn taken
	taught thought thrown told torn understood unread unseen untold withheld won worn written`)

// notParticiples are verbs and nouns with the ending of one, and verbs that look like their participle.
var notParticiples = strings.Fields(`bed cut embed exceed feed need proceed put read red seed set shed shut speed split spread succeed let`)

// prepositions may follow a participle without making it an adjective: chosenBy, unlike changedLines.
var prepositions = []string{"", "As", "At", "By", "From", "In", "Of", "On", "To", "With"}

// participle reports whether a function is named by a past participle, not by a noun that has one
// before it. A function that only reports a fact (its one result is a bool) may be.
func participle(f *ast.FuncDecl) bool {
	word := firstWord(f.Name.Name)
	if !slices.Contains(prepositions, f.Name.Name[len(word):]) {
		return false
	}
	if slices.Contains(notParticiples, word) {
		return false
	}
	if !strings.HasSuffix(word, "ed") && !slices.Contains(irregular, word) {
		return false
	}
	r := f.Type.Results
	if r != nil && len(r.List) == 1 && len(r.List[0].Names) <= 1 {
		if t, is := r.List[0].Type.(*ast.Ident); is && t.Name == "bool" {
			return false
		}
	}
	return true
}

// firstWord is the first word of a name in camel case, in lower case.
func firstWord(name string) string {
	end := strings.IndexFunc(name[1:], unicode.IsUpper)
	if end < 0 {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:end+1])
}

// print writes the sums, and with list what they are made of.
func (s *sums) print(w io.Writer, list bool) {
	var lengths []int
	var participles, long []function
	for _, f := range s.functions {
		lengths = append(lengths, f.lines)
		if f.participle {
			participles = append(participles, f)
		}
		if f.lines > 80 {
			long = append(long, f)
		}
	}
	slices.Sort(lengths)
	n := max(len(lengths), 1)
	lengths = append(lengths, 0)
	row := func(what, format string, value ...any) {
		fmt.Fprintf(w, "%-44s "+format+"\n", append([]any{what}, value...)...)
	}
	row("files", "%d", s.files)
	row("lines of code", "%d", s.code)
	row("statements", "%d", s.statements)
	row("comments, of lines of code and comments", "%.1f %%", 100*float64(s.comments)/float64(max(s.code+s.comments,
		1)))
	row("functions", "%d", len(s.functions))
	row("lines of a function, p50 and p90", "%d, %d", lengths[n/2], lengths[n*9/10])
	row("functions of more than 80 lines", "%d", len(long))
	row("functions named by a participle", "%d (%.1f %%)", len(participles), 100*float64(len(participles))/float64(n))
	row("conditions that mix && and ||, of 10,000 lines", "%.1f", 1e4*float64(len(s.mixed))/float64(max(s.code, 1)))
	if !list {
		return
	}
	for _, f := range participles {
		fmt.Fprintf(w, "participle\t%s\t%s\n", f.place, f.name)
	}
	for _, f := range long {
		fmt.Fprintf(w, "long\t%s\t%s\t%d\n", f.place, f.name, f.lines)
	}
	for _, place := range s.mixed {
		fmt.Fprintf(w, "mixed\t%s\n", place)
	}
}
