package exchange

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

var update = flag.Bool("update", false, "write the golden table anew")

// publicFiles returns the public agent files beside the checkout, by collection.
func publicFiles(t testing.TB) map[string][]string {
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "agents", "*"))
	if len(dirs) == 0 {
		t.Skip("the public agent files are not there")
	}
	files := make(map[string][]string)
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, "*.md"))
		files[filepath.Base(dir)] = found
	}
	return files
}

// TestPublicCollections: each public file is imported and loads, or is refused
// with a reason; it gains no power; from the imported file alone the original
// returns. The table of counts, reasons and losses is golden.
func TestPublicCollections(t *testing.T) {
	files := publicFiles(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-18s %-8s %8s %8s %8s %8s %6s\n", "collection", "dialect", "files", "imported", "repaired", "refused", "losses")
	var reasons, repairs []string
	losses, back := make(map[string]int), make(map[string]int)
	for _, collection := range slices.Sorted(keys(files)) {
		imported, repaired, refused, lost := 0, 0, 0, 0
		from := make(map[string]bool)
		for _, file := range files[collection] {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			im, err := Import(file, data, Options{})
			if err != nil {
				refused++
				reasons = append(reasons, err.Error())
				continue
			}
			imported++
			from[string(im.From)] = true
			if len(im.Repaired) > 0 {
				repaired++
				for _, r := range im.Repaired {
					repairs = append(repairs, filepath.Base(file)+": "+r)
				}
			}
			if len(im.Loss) > 0 {
				lost++
			}
			for _, l := range im.Loss {
				losses[fmt.Sprintf("%s %s (%s)", collection, l.Key, l.Severity)]++
			}
			checkImported(t, file, data, im)
			for _, l := range checkReturns(t, file, data, im) {
				back[fmt.Sprintf("%s %s (%s)", collection, l.Key, l.Severity)]++
			}
		}
		fmt.Fprintf(&table, "%-18s %-8s %8d %8d %8d %8d %6d\n", collection, strings.Join(slices.Sorted(keys(from)), ","), len(files[collection]), imported, repaired, refused, lost)
	}
	table.WriteString("\nrefused\n")
	if len(reasons) == 0 {
		table.WriteString("  none\n")
	}
	for _, r := range reasons {
		table.WriteString("  " + r + "\n")
	}
	table.WriteString("\nrepaired\n")
	for _, r := range repairs {
		table.WriteString("  " + r + "\n")
	}
	table.WriteString("\nlosses by key\n")
	for _, k := range slices.Sorted(keys(losses)) {
		fmt.Fprintf(&table, "  %4d %s\n", losses[k], k)
	}
	table.WriteString("\ntold on the way back by key\n")
	for _, k := range slices.Sorted(keys(back)) {
		fmt.Fprintf(&table, "  %4d %s\n", back[k], k)
	}
	t.Log("\n" + table.String())
	golden := filepath.Join("testdata", "public.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != table.String() {
		t.Errorf("the table differs from %s:\n%s", golden, want)
	}
}

func keys[M ~map[string]V, V any](m M) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// checkImported: the file loads as ours, under its name, and may do no more.
func checkImported(t testing.TB, file string, data []byte, im *Imported) {
	t.Helper()
	d := definition.Parse(definition.Source{Path: "/w/.gemini/agents/" + im.Name + ".md", Scope: definition.Project, Data: im.Text})
	if ok, why := d.Usable(); !ok {
		t.Errorf("%s: %v\n%s", file, why, im.Text)
	}
	if d.Dialect != definition.Agentls || d.Name != im.Name {
		t.Errorf("%s: %s %s", file, d.Dialect, d.Name)
	}
	for _, p := range d.Problems {
		switch p.Code {
		case "agent/yaml-repaired", "agent/file-name", "agent/missing-field", "agent/unknown-field":
			t.Errorf("%s: %v\n%s", file, p, im.Text)
		}
	}
	original := definition.Parse(definition.Source{Path: file, Scope: definition.Project, Data: data, Dialect: im.From})
	if d.Description != original.Description || d.Prompt != original.Prompt || d.Title != original.Title {
		t.Errorf("%s: description, prompt or title changed:\n%q\n%q", file, d.Description, original.Description)
	}
	if gained := gains(original, d); gained != "" {
		t.Errorf("%s gains %s", file, gained)
	}
}

// checkReturns: exported from the imported file alone, the original is back. It
// returns what is told, which is only what the original may do there and not here.
func checkReturns(t testing.TB, file string, data []byte, im *Imported) []Loss {
	t.Helper()
	out, err := Export(im.Name+".md", im.Text, im.From, Options{})
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return nil
	}
	if !bytes.Equal(out.Data, data) {
		t.Errorf("%s does not return:\n%s", file, out.Data)
	}
	if out.File != filepath.Base(file) {
		t.Errorf("%s returns as %s", file, out.File)
	}
	for _, l := range out.Loss {
		if l.Severity != definition.Warning || !slices.ContainsFunc(im.Loss, func(m Loss) bool { return m.Key == l.Key }) {
			t.Errorf("%s: lost on the way back: %v", file, l)
		}
	}
	return out.Loss
}

// TestPublicFilesEdited: whatever is edited here, keys that nobody knows return
// byte for byte, and every tool gets a file that loads there.
func TestPublicFilesEdited(t *testing.T) {
	for _, files := range publicFiles(t) {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			im, err := Import(file, data, Options{})
			if err != nil {
				t.Fatal(err)
			}
			edited := bytes.Replace(im.Text, []byte("\ndescription:"), []byte("\ntemperature: 0.5\nquery: What is new?\ndescription: Another one. Was"), 1)
			edited = append(edited, "One line more.\n"...)
			tree, _ := definition.ReadTree(file, string(data))
			if tree.Root.Get("description").Kind == definition.String && !strings.Contains(string(edited), "Was \"") && !strings.Contains(string(edited), "Was |") && !strings.Contains(string(edited), "Was '") {
				checkEdited(t, file, tree, edited, im)
			}
			for _, to := range []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode, definition.GeminiCLI} {
				out, err := Export(im.Name+".md", im.Text, to, Options{})
				if err != nil {
					t.Errorf("%s to %s: %v", file, to, err)
					continue
				}
				ours := definition.Parse(definition.Source{Path: im.Name + ".md", Data: im.Text})
				theirs := definition.Parse(source(out.File, string(out.Data), to))
				if ok, why := theirs.Usable(); !ok {
					t.Errorf("%s to %s: %v\n%s", file, to, why, out.Data)
				}
				if gained := exceeds(ours, theirs); gained != "" {
					t.Errorf("%s to %s gains %s\n%s", file, to, gained, out.Data)
				}
				if theirs.Prompt != ours.Prompt || theirs.Description != ours.Description {
					t.Errorf("%s to %s: prompt or description changed", file, to)
				}
			}
		}
	}
}

// checkEdited: of an edited agent every key of the original returns as it was
// written but the one that was edited.
func checkEdited(t *testing.T, file string, was *definition.Tree, edited []byte, im *Imported) {
	t.Helper()
	out, err := Export(im.Name+".md", edited, im.From, Options{})
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	is, ok := definition.ReadTree(file, string(out.Data))
	if !ok {
		t.Errorf("%s cannot be read:\n%s", file, out.Data)
		return
	}
	for i, k := range was.Root.Keys {
		want := was.Text[k.Start:was.Root.Items[i].End]
		if k.Name == "description" {
			if got := is.Root.Get(k.Name); got == nil || !strings.HasPrefix(got.Text, "Another one. Was ") {
				t.Errorf("%s: the edited description is lost:\n%s", file, out.Data)
			}
			continue
		}
		if !strings.Contains(is.Text[is.Front.Start:is.Front.End], want) {
			t.Errorf("%s: %s is not as it was:\n%s", file, want, out.Data)
		}
	}
	if !strings.HasSuffix(string(out.Data), "One line more.\n") {
		t.Errorf("%s: the edited body is lost", file)
	}
}
