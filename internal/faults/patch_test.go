package faults_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/faults"
)

const source = `package p

func a() int {
	x := 1
	return x
}

func b() int {
	x := 2
	return x
}
`

// patch is a diff of p/p.go with one hunk.
func patch(in string, lines ...string) string {
	return "# why\n# test: ./p TestP\n# proves: REL-1\n# proves: REL-2\n\n--- a/p/p.go\n+++ b/p/p.go\n@@ -1,2 +1,2 @@ " + in + "\n" + strings.Join(lines, "\n") + "\n"
}

func TestAPatchIsAppliedByContent(t *testing.T) {
	for name, c := range map[string]struct {
		patch       string
		was, is     string // in the source; "" = it does not apply
		wrongSource bool
	}{
		"a line":                      {patch("", "-\tx := 1", "+\tx := 3"), "x := 1", "x := 3", false},
		"with what is around it":      {patch("", " \tx := 2", "-\treturn x", "+\treturn 0"), "x := 2\n\treturn x", "x := 2\n\treturn 0", false},
		"in a function":               {patch("func b()", "-\treturn x", "+\treturn 0"), "x := 2\n\treturn x", "x := 2\n\treturn 0", false},
		"in a function that is named": {patch("func a()", "-\treturn x", "+\treturn 0"), "x := 1\n\treturn x", "x := 1\n\treturn 0", false},
		"a line that goes":            {patch("", "-\tx := 1"), "\tx := 1\n", "", false},
		"not once":                    {patch("", "-\treturn x", "+\treturn 0"), "", "", true},
		"not there":                   {patch("", "-\tx := 7", "+\tx := 3"), "", "", true},
		"not in the function":         {patch("func c()", "-\treturn x", "+\treturn 0"), "", "", true},
		"a part of a line":            {patch("", "-\tx :=", "+\ty :="), "", "", true},
	} {
		p, err := faults.ParsePatch(c.patch)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Header["test"][0] != "./p TestP" || len(p.Header["proves"]) != 2 {
			t.Errorf("%s: the header is %v", name, p.Header)
		}
		got, err := p.Files[0].Apply(source)
		if c.wrongSource {
			if err == nil || !strings.Contains(err.Error(), "p/p.go") {
				t.Errorf("%s: it applies: %v\n%s", name, err, got)
			}
			continue
		}
		if want := strings.Replace(source, c.was, c.is, 1); err != nil || got != want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestWhatIsNoPatch(t *testing.T) {
	head := "--- a/p.go\n+++ b/p.go\n"
	for _, text := range []string{
		"", "# only: a header\n", "words\n", "--- a/p.go\n", "--- a/p.go\n@@ @@\n", head, head + "-no hunk\n", head + "@@ one\n-x\n+y\n",
		head + "@@ @@\n+only more\n", head + "@@ @@\n-same\n+same\n", head + "@@ @@\n*x\n", "--- a/p.go\n+++ b/../p.go\n@@ @@\n-x\n+y\n",
	} {
		if _, err := faults.ParsePatch(text); err == nil {
			t.Errorf("%q is a patch", text)
		}
	}
}

func TestAnOverlayLeavesTheSourceAsItIs(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "overlay")
	name := filepath.Join(root, "p", "p.go")
	does(t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(source), 0o600))
	p, err := faults.ParsePatch(patch("", "-\tx := 1", "+\tx := 3"))
	does(t, err)
	file, err := p.Overlay(root, dir)
	does(t, err)
	text, err := os.ReadFile(file)
	does(t, err)
	var overlay struct{ Replace map[string]string }
	does(t, json.Unmarshal(text, &overlay))
	changed, err := os.ReadFile(overlay.Replace[name])
	does(t, err)
	if now, err := os.ReadFile(name); err != nil || string(now) != source || !strings.Contains(string(changed), "x := 3") {
		t.Errorf("the source is %q, the overlay %q, %v", now, changed, err)
	}
}
