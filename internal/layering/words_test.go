package layering

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unclear are words that people who read our texts stumbled over, with what they are
// told instead.
var unclear = []struct {
	was    string // a regular expression
	better string
}{
	{`wants one of its parts`, "missing subcommand; try …"},
	{`\bis too much\b`, "unexpected argument …, or what the limit is"},
	{`--approve is "`, "invalid --approve …: use …"},
	{`[Aa]nswer for longer covers`, "… also allow: …"},
	{`told before the next turn`, "queued: the agent sees this at its next step"},
	{`agents only read in it`, "this folder is not trusted (read-only). Run `agentls trust`."},
	{`as you approved it, and does not take effect`, "… changed since you approved it; review it before it runs"},
	{`somebody else's: you are shown it`, "Imported agents need your review before they run."},
	{`so the model is inherited`, "Model … is not available; using your default"},
	{`until a person gives more`, "Limit: …, then it asks."},
	{`the defaults hold`, "using defaults"},
	{`what to begin from`, "template name"},
	{`\b[Mm]end(s|ed|ing)?\b`, "fix"},
	{`\bgone on with\b`, "resumed"},
	{`AI agents a service of`, "Run AI agents, written as Markdown files, from your editor or terminal."},
	{`\bspec \d`, "what it says: readers have no specification"},
	{`\b[Ss]ection \d+\.\d`, "what it says: readers have no specification"},
}

// TestPlainWords: no text that a person reads has words which people stumbled over:
// those of the program, of the documents, and of the plugins for editors.
func TestPlainWords(t *testing.T) {
	texts := 0
	var patterns []*regexp.Regexp
	for _, u := range unclear {
		patterns = append(patterns, regexp.MustCompile(u.was))
	}
	look := func(where, text string) {
		texts++
		for i, u := range unclear {
			found := patterns[i].FindString(text)
			if found != "" {
				t.Errorf("%s says %q; better: %s", where, found, u.better)
			}
		}
	}
	m := source(t)
	for _, f := range m.files {
		if f.test || within(f.pkg, "internal/cmd") || forTests(f) {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					look(m.fset.Position(literal.Pos()).String(), text)
				}
			}
			return true
		})
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || slices.Contains([]string{"testdata", "node_modules", "out", "test", "dist", "build"}, base)):
			return fs.SkipDir
		case d.IsDir() || base == "THIRD-PARTY-NOTICES.md":
			return nil
		case path.Ext(name) == ".md", within(name, "editors") && slices.Contains([]string{".lua", ".ts", ".txt", ".json"}, path.Ext(name)) && base != "package-lock.json":
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				look(name+":"+strconv.Itoa(i+1), line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if texts < 10_000 {
		t.Errorf("only %d texts were looked at", texts)
	}
}
