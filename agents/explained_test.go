package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
)

// TestEveryCallIsExplained: for the public agent files and made-up ones, with and
// without settings, the explanation offers the tools that a run offers (spec 1.8).
func TestEveryCallIsExplained(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "shared", "data", "agents", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string][]byte)
	for _, file := range files {
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, tools := range []string{"", "tools: {allow: []}", "tools: {allow: ['*'], deny: [shell]}", "tools: {allow: [read-file, 'mcp.*']}", "tools: {deny: ['[']}"} {
		texts[tools+".md"] = []byte("---\nkind: agent\nname: made\ntitle: M\n" + tools + "\n---\nDo it.\n")
	}
	tools := append(builtin.Tools(), nameOnly{name: "mcp.x.get"}, nameOnly{name: "web_fetch"})
	offered := 0
	for path, text := range texts {
		d := definition.Parse(definition.Source{Path: path, Folder: "/w", Scope: definition.Project, Data: text})
		for _, c := range []struct{ exclude, only []string }{{nil, nil}, {[]string{"bash", "mcp.*"}, nil}, {nil, []string{"read_*", "shell", "["}}} {
			settings := Settings{Exclude: c.exclude}
			in := authority.Input{
				File: d, Text: string(text), Tools: tools, Table: model.NewTable(nil), Standard: defaultModel,
				Exclude: []authority.List{{Names: c.exclude}},
			}
			if c.only != nil {
				section, err := json.Marshal(map[string]any{"tools": map[string]any{"allow": c.only}})
				if err != nil {
					t.Fatal(err)
				}
				settings.Overrides = map[string][]Override{d.Name: {theirs(string(section))}}
				in.Only = []authority.List{{Names: c.only}}
			}
			s := &Service{Config: Config{Tools: tools, Settings: func(string) Settings { return settings }}}
			names := func(all []tool.Tool) (list []string) {
				for _, one := range all {
					list = append(list, one.Spec().Name)
				}
				return list
			}
			want := names(s.ToolsOf(d))
			offered += len(want)
			got := slices.DeleteFunc(authority.Explain(in).Tools, func(one authority.Tool) bool { return !one.Offered || one.Added })
			if !slices.EqualFunc(got, want, func(one authority.Tool, name string) bool { return one.Name == name }) {
				t.Errorf("%s %+v: explained %+v, offered %q", path, c, got, want)
			}
		}
	}
	if offered == 0 {
		t.Error("nothing is offered to anybody")
	}
}
