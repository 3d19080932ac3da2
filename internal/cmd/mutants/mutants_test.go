package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module makes a module with one package, its test, and the given mutants.
func module(t *testing.T, mutants map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod":        "module example.org/m\n\ngo 1.26\n",
		"p/p.go":        "package p\n\n// Least returns the smaller one.\nfunc Least(a, b int) int {\n\tif a < b {\n\t\treturn a\n\t}\n\treturn b\n}\n",
		"p/p_test.go":   "package p\n\nimport \"testing\"\n\nfunc TestLeast(t *testing.T) {\n\tif Least(1, 2) != 1 {\n\t\tt.Error(\"no\")\n\t}\n}\n\nfunc TestSame(t *testing.T) {\n\tif Least(1, 1) != 1 {\n\t\tt.Error(\"no\")\n\t}\n}\n\nfunc TestSkipped(t *testing.T) { t.Skip() }\n\nfunc TestRed(t *testing.T) { t.Error(\"always\") }\n",
		"testdata/none": "",
	}
	for name, text := range mutants {
		files["testdata/mutants/"+name+".patch"] = text
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mutation(test, lines string) string {
	return "# test: ./p " + test + "\n# proves: REL-0\n--- a/p/p.go\n+++ b/p/p.go\n@@ @@\n" + lines + "\n"
}

const turned = "-\tif a < b {\n+\tif a > b {"

// TestVerdicts: only a test that is there, passes without the mistake and fails
// with it proves anything.
func TestVerdicts(t *testing.T) {
	root := module(t, map[string]string{
		"1-seen":     mutation("TestLeast", turned),
		"2-survives": mutation("TestSame", turned),
		"3-moved":    mutation("TestLeast", "-\tif a <= b {\n+\tif a > b {"),
		"4-broken":   mutation("TestLeast", "-\tif a < b {\n+\tif a < c {"),
		"5-skipped":  mutation("TestSkipped", turned),
		"6-no-test":  mutation("TestNone", turned),
		"7-red":      mutation("TestRed", turned),
		"8-panics":   mutation("TestLeast", "-\t\treturn a\n+\t\tpanic(a)"),
	})
	var out strings.Builder
	err := run(t.Context(), options{root: root, parallel: 2}, &out)
	if err == nil || !strings.Contains(err.Error(), "6 of 8") {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{
		"1-seen": "is seen", "2-survives": "SURVIVED", "3-moved": "does not apply", "4-broken": "does not compile",
		"5-skipped": "is skipped", "6-no-test": "not there", "7-red": "fails without it", "8-panics": "is seen",
	} {
		found := ""
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, name+" ") {
				found = line
			}
		}
		if !strings.Contains(found, want) {
			t.Errorf("%s: %q, want %q", name, found, want)
		}
	}
	out.Reset()
	if err := run(t.Context(), options{root: root, only: "seen", parallel: 1}, &out); err != nil || strings.Contains(out.String(), "2-survives") {
		t.Errorf("%v\n%s", err, &out)
	}
	// Tests that are known to pass are not run without the mutant; one that is
	// skipped proves nothing all the same.
	out.Reset()
	if err := run(t.Context(), options{root: root, parallel: 2, passed: true}, &out); err == nil || !strings.Contains(err.Error(), "5 of 8") || !strings.Contains(out.String(), "SURVIVED") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestBadMutantsAreRefused(t *testing.T) {
	for _, text := range []string{
		"# proves: REL-0\n--- a/p/p.go\n+++ b/p/p.go\n@@ @@\n" + turned + "\n",
		"# test: ./p TestLeast\n--- a/p/p.go\n+++ b/p/p.go\n@@ @@\n" + turned + "\n",
		mutation("Least", turned), mutation("TestLeast/part", turned), mutation("TestLeast", "-same\n+same"),
	} {
		if err := run(t.Context(), options{root: module(t, map[string]string{"bad": text})}, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "bad.patch") {
			t.Errorf("%v for\n%s", err, text)
		}
	}
	if err := run(t.Context(), options{root: module(t, nil)}, new(strings.Builder)); err == nil {
		t.Error("no mutants at all are fine")
	}
}

// TestOurMutantsApply: each mutant of this module changes what is there, and the
// parts of spec 12.1 that must have one do, and the gate (spec 11.1).
func TestOurMutantsApply(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := load(root, "")
	if err != nil {
		t.Fatal(err)
	}
	parts := make(map[string]bool)
	for _, m := range all {
		if _, err := m.patch.Overlay(root, filepath.Join(t.TempDir(), m.name)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		part, _, _ := strings.Cut(m.name, "-")
		parts[part] = true
	}
	for _, part := range []string{"a", "b", "c", "d", "e", "g", "i", "sec"} {
		if !parts[part] {
			t.Errorf("no mutant is of part %s", part)
		}
	}
}
