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

// page says what the daemon promises and which test holds what. Each row of its
// table of cases is an id of spec 12.1, the case in a few words, the tests that
// have the id in their name, and what is weaker than asked, or why there is no
// test. The tests are written by this package with UPDATE=1, the rest by hand.
const page = "docs/reliability.md"

// cases are the ids that spec 12.1 has: 01 to 130 without those that it left
// out.
const lastCase = 130

var leftOutCases = []int{13, 15, 22, 28, 34, 36, 43, 50, 58, 64, 68, 78, 88, 101, 110, 115, 117, 119, 120}

var (
	caseRow  = regexp.MustCompile(`(?m)^\| REL-(\d+) \|(.*)\|(.*)\|(.*)\|$`)
	testName = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Benchmark)\\w+)`")
	idOfName = regexp.MustCompile(`(REL|SEC|And)(\d+)`)
)

// proof is a test that is named after a case.
type proof struct{ name, file string }

// TestReliabilityPage holds docs/reliability.md to the tests: each case has its
// row, each row the tests that are named after it or a reason, and each test
// that the page names is there. UPDATE=1 writes the tests into the rows.
func TestReliabilityPage(t *testing.T) {
	h := source(t)
	name := filepath.Join(root, filepath.FromSlash(page))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	proofs := h.proofs()
	text := caseRow.ReplaceAllStringFunc(string(raw), func(row string) string {
		m := caseRow.FindStringSubmatch(row)
		var links []string
		for _, p := range proofs[m[1]] {
			links = append(links, fmt.Sprintf("[%s](../%s)", p.name, p.file))
		}
		return fmt.Sprintf("| REL-%s |%s| %s |%s|", m[1], m[2], strings.Join(links, "<br>"), m[4])
	})
	if text != string(raw) {
		if os.Getenv("UPDATE") == "" {
			t.Errorf("the tests named after cases are not those of %s: run UPDATE=1 go test ./internal/layering", page)
		} else if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}

	var want, got []string
	for n := 1; n <= lastCase; n++ {
		if !slices.Contains(leftOutCases, n) {
			want = append(want, fmt.Sprintf("%02d", n))
		}
	}
	for _, m := range caseRow.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
		if strings.TrimSpace(m[2]) == "" {
			t.Errorf("%s: REL-%s does not say what the case is", page, m[1])
		}
		if len(proofs[m[1]]) == 0 && strings.TrimSpace(m[4]) == "" {
			t.Errorf("%s: REL-%s has no test, and no reason for that", page, m[1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the rows are %v\nwant %v", page, got, want)
	}
	for _, id := range slices.Sorted(maps.Keys(proofs)) {
		if !slices.Contains(want, id) {
			t.Errorf("%s (%s) is named after REL-%s, which is no case", proofs[id][0].name, proofs[id][0].file, id)
		}
	}
	tests := h.tests()
	for _, m := range testName.FindAllStringSubmatch(text, -1) {
		if tests[m[1]+"."+m[2]] == "" {
			t.Errorf("%s names %s.%s, which is not there", page, m[1], m[2])
		}
	}
}

// TestCasesOfNames: the ids that a name has.
func TestCasesOfNames(t *testing.T) {
	for name, want := range map[string]string{
		"TestREL05HostileLengths":             "05",
		"TestREL100LockGoes":                  "100",
		"TestREL17And21TenThousand":           "17 21",
		"TestREL72And73And74Cancel":           "72 73 74",
		"TestREL51REL53Errors":                "51 53",
		"TestSEC66AndREL79Changes":            "79",
		"TestREL76AndSEC40And45AndREL92Mixed": "76 92",
		"TestSEC40And45Environ":               "",
		"FuzzREL24Frames":                     "24",
		"TestRELATED":                         "",
	} {
		if got := strings.Join(casesOf(name), " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// casesOf returns the ids of the cases that a test is named after.
func casesOf(name string) (ids []string) {
	kind := ""
	for _, m := range idOfName.FindAllStringSubmatch(name, -1) {
		if m[1] != "And" {
			kind = m[1]
		}
		if kind == "REL" {
			ids = append(ids, fmt.Sprintf("%02s", m[2]))
		}
	}
	return ids
}

// tests returns the files of the top-level tests, fuzz targets and benchmarks,
// by the last part of their package's path and by the whole of it.
func (h *house) tests() map[string]string {
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

// proofs returns the tests that are named after each case.
func (h *house) proofs() map[string][]proof {
	all := make(map[string][]proof)
	for name, file := range h.tests() {
		pkg, test, _ := strings.Cut(name, ".")
		if pkg != path.Dir(file) {
			continue // the other spelling of the same test
		}
		for _, id := range casesOf(test) {
			all[id] = append(all[id], proof{path.Base(pkg) + "." + test, file})
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b proof) int { return strings.Compare(a.file+a.name, b.file+b.name) })
	}
	return all
}
