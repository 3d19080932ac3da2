package builtin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestReadManyFilesOnlyReads: what a safe call of read_many_files returns, safe calls
// of read_file, grep, and glob or ls return too: of each file that it shows the
// content, and each name that it was not given. agents/exchange counts on that where
// it exports agents. No picture here has a name that holds what is not seen: a
// pattern shows such a one, for which read_file asks.
func TestReadManyFilesOnlyReads(t *testing.T) {
	names := []string{"a.go", "b.txt", "hollow", "x.log", "gen/g.go", "docs/one.md", "docs/deep/two.md", ".env", "id_rsa", "data.bin", "-rf", "[id].ts", "a\u200bb.txt", "docs/\u202ec.md", "new\nline.ts"}
	texts := []string{"", "one\n", "one\r\ntwo", "a\nb\nc\n", "no end", "bin\x00ary\x01", strings.Repeat("many words\n", 150)}
	asked := []string{"**", "*", "*.txt", "docs", "docs/**", "gen", "gen/*", "**/*.md", "*.png", "p.*", "p.png", ".env", ".*", "-rf", "[id].ts", "*.ts", "a?b.txt", "nothing", "data.bin", "x.log", "*.log"}
	shown, hidden, pictures := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		w := tooltest.New(t, map[string]string{".gitignore": "gen/\n*.log\n"})
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 10, rapid.ID[string]).Draw(r, "files") {
			text := rapid.SampledFrom(texts).Draw(r, "text")
			w.Put(t, name, text)
			if !strings.Contains(text, "\x00") && rapid.IntRange(0, 4).Draw(r, "unsaved") == 0 {
				w.Edit(name, text+"more\n")
			}
		}
		env := w.Env()
		// safe returns what a call returns that asks nobody; nil for any other.
		safe := func(name string, pairs ...any) *tool.Result {
			made, given := named(t, name), args(t, pairs...)
			plan, err := made.Plan(t.Context(), env, json.RawMessage(given))
			var result *tool.Result
			if err == nil && plan.Risk == tool.Safe {
				result, err = tooltest.Run(t.Context(), made, env, given)
			}
			if _, refusal := errors.AsType[*tool.Error](err); err != nil && !refusal {
				r.Fatalf("%s %s: %v", name, given, err)
			}
			return result
		}
		w.Put(t, "p.png", pngFile(t))
		include := rapid.SliceOfN(rapid.SampledFrom(asked), 1, 3).Draw(r, "include")
		many := safe("read_many_files", "include", include)
		if many == nil {
			return
		}
		for _, name := range append(names, "p.png") {
			as := tool.Name(name)
			_, content, section := strings.Cut("\n"+many.Content, "\n--- "+as+" ---\n")
			content, _, _ = strings.Cut(content, "\n\n")
			if !section && !strings.Contains(many.Content, "\n- "+as+":") && !strings.Contains(many.Content, "\n- "+as+" ") {
				continue
			}
			if !slices.Contains(include, name) {
				ls, glob := safe("ls", "dir_path", path.Dir(name)), safe("glob", "pattern", "*", "dir_path", path.Dir(name))
				if ls == nil || !strings.Contains("\n"+ls.Content, "\n"+tool.Name(path.Base(name))+"\n") || glob == nil || !strings.Contains("\n"+glob.Content, "\n"+as+"\n") {
					r.Fatalf("%q: %s is named; ls says %v, glob says %v\n%s", include, as, ls, glob, many.Content)
				}
			}
			if !section {
				continue
			}
			one := safe("read_file", "file_path", name)
			switch {
			case strings.HasPrefix(content, "[attached"):
				pictures++
				if one == nil || !slices.ContainsFunc(many.Media, func(m model.Media) bool { return bytes.Equal(m.Data, one.Media[0].Data) }) {
					r.Fatalf("%q: %s is attached; read_file says %v", include, as, one)
				}
			case one != nil:
				shown++
				if got := strings.TrimRight(one.Content, "\n"); got != strings.TrimRight(content, "\n") {
					r.Fatalf("%q: %s is shown as %q; read_file says %q", include, as, content, got)
				}
			case content != "The file is empty.":
				hidden++
				grep := safe("grep", "pattern", "^", "dir_path", path.Dir(name), "limit", 2000)
				if grep == nil {
					r.Fatalf("%q: %s is shown, and grep is refused", include, as)
					return
				}
				_, found, _ := strings.Cut(grep.Content, "\nFile: "+as+"\n")
				for i, line := range strings.Split(strings.TrimRight(content, "\n"), "\n") {
					_, rest, ok := strings.Cut(found, ": ")
					if found = rest; !ok || !strings.HasPrefix(found, line+"\n") {
						r.Fatalf("%q: line %d of %s is %q; grep says\n%s", include, i+1, as, line, grep.Content)
					}
				}
			}
		}
	})
	t.Logf("%d shown, %d of names with what is not seen, %d pictures", shown, hidden, pictures)
	if !testing.Short() && (shown == 0 || hidden == 0 || pictures == 0) { // -short draws a fifth
		t.Error("too few to say anything")
	}
}
