package layering

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// table is a page that says what the daemon promises and which test holds what.
// Each row of its cases is an id of the specification, the case in a few words,
// the tests that have the id in their name, and what is weaker than asked, or why
// there is no test. The tests are written by this package with UPDATE=1, the rest
// by hand.
type table struct {
	page    string // with slashes, below the root
	kind    string // of its ids: REL, SEC
	last    int    // the cases are 01 to this one
	leftOut []int  // without these, which the specification has not
}

var (
	testName = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Benchmark)\\w+)`")
	idOfName = regexp.MustCompile(`(REL|SEC|And)(\d+)`)
)

// proof is a test that is named after a case.
type proof struct{ name, file string }

// hold holds a page to the tests: each case has its row, each row the tests that
// are named after it or a reason, and each test that the page names is there.
// UPDATE=1 writes the tests into the rows.
func (c table) hold(t *testing.T, h *module) {
	t.Helper()
	name := filepath.Join(root, filepath.FromSlash(c.page))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	proofs := h.proofs(c.kind)
	row := regexp.MustCompile(`(?m)^\| ` + c.kind + `-(\d+) \|(.*)\|(.*)\|(.*)\|$`)
	text := row.ReplaceAllStringFunc(string(raw), func(line string) string {
		m := row.FindStringSubmatch(line)
		var links []string
		for _, p := range proofs[m[1]] {
			links = append(links, fmt.Sprintf("[%s](../%s)", p.name, p.file))
		}
		return fmt.Sprintf("| %s-%s |%s| %s |%s|", c.kind, m[1], m[2], strings.Join(links, "<br>"), m[4])
	})
	if text != string(raw) {
		if os.Getenv("UPDATE") == "" {
			t.Errorf("the tests named after cases are not those of %s: run UPDATE=1 go test ./internal/layering", c.page)
		} else if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}

	var want, got []string
	for n := 1; n <= c.last; n++ {
		if !slices.Contains(c.leftOut, n) {
			want = append(want, fmt.Sprintf("%02d", n))
		}
	}
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
		if strings.TrimSpace(m[2]) == "" {
			t.Errorf("%s: %s-%s does not say what the case is", c.page, c.kind, m[1])
		}
		if len(proofs[m[1]]) == 0 && strings.TrimSpace(m[4]) == "" {
			t.Errorf("%s: %s-%s has no test, and no reason for that", c.page, c.kind, m[1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the rows are %v\nwant %v", c.page, got, want)
	}
	for _, id := range slices.Sorted(maps.Keys(proofs)) {
		if !slices.Contains(want, id) {
			t.Errorf("%s (%s) is named after %s-%s, which is no case", proofs[id][0].name, proofs[id][0].file, c.kind, id)
		}
	}
	tests := h.tests()
	for _, m := range testName.FindAllStringSubmatch(text, -1) {
		if tests[m[1]+"."+m[2]] == "" {
			t.Errorf("%s names %s.%s, which is not there", c.page, m[1], m[2])
		}
	}
}

// TestCasesOfNames: the ids that a name has.
func TestCasesOfNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"TestREL05HostileLengths":             {"05", ""},
		"TestREL100LockGoes":                  {"100", ""},
		"TestREL17And21TenThousand":           {"17 21", ""},
		"TestREL72And73And74Cancel":           {"72 73 74", ""},
		"TestREL51REL53Errors":                {"51 53", ""},
		"TestSEC66AndREL79Changes":            {"79", "66"},
		"TestREL76AndSEC40And45AndREL92Mixed": {"76 92", "40 45"},
		"TestSEC40And45Environ":               {"", "40 45"},
		"FuzzREL24Frames":                     {"24", ""},
		"TestRELATED":                         {"", ""},
	} {
		for i, kind := range []string{"REL", "SEC"} {
			if got := strings.Join(casesOf(name, kind), " "); got != want[i] {
				t.Errorf("%s: %s-%s, want %s", name, kind, got, want[i])
			}
		}
	}
}

// casesOf returns the ids of a kind that a test is named after.
func casesOf(name, kind string) (ids []string) {
	of := ""
	for _, m := range idOfName.FindAllStringSubmatch(name, -1) {
		if m[1] != "And" {
			of = m[1]
		}
		if of == kind {
			ids = append(ids, fmt.Sprintf("%02s", m[2]))
		}
	}
	return ids
}

// tests returns the files of the top-level tests, fuzz targets and benchmarks,
// by the last part of their package's path and by the whole of it.
func (h *module) tests() map[string]string {
	all := make(map[string]string)
	for _, f := range h.files {
		if !f.test {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			for _, kind := range []string{"Test", "Fuzz", "Benchmark"} {
				if strings.HasPrefix(fn.Name.Name, kind) {
					all[path.Base(f.pkg)+"."+fn.Name.Name] = f.name
					all[f.pkg+"."+fn.Name.Name] = f.name
				}
			}
		}
	}
	return all
}

// proofs returns the tests that are named after each case of a kind.
func (h *module) proofs(kind string) map[string][]proof {
	all := make(map[string][]proof)
	for name, file := range h.tests() {
		pkg, test, _ := strings.Cut(name, ".")
		if pkg != path.Dir(file) {
			continue // the other spelling of the same test
		}
		for _, id := range casesOf(test, kind) {
			all[id] = append(all[id], proof{path.Base(pkg) + "." + test, file})
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b proof) int { return strings.Compare(a.file+a.name, b.file+b.name) })
	}
	return all
}
