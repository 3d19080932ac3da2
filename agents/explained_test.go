package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// explained are the public agent files and made-up ones, by path.
func explained(t *testing.T) map[string][]byte {
	t.Helper()
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
	for _, fields := range []string{
		"", "tools: {allow: []}", "tools: {allow: ['*'], deny: [shell]}", "tools: {allow: [read-file, 'mcp.*']}", "tools: {deny: ['[']}",
		"model: pro\nfallback_models: [flash, openai/x]", "run: {mode: task}", "run: {mode: task, max_turns: 40, max_time: 3600}", "run: {max_turns: 7, max_time: 60}",
		"run: {max_turns: 500, max_time: 9999}", "output: {name: report, description: R, schema: {type: object}}",
	} {
		texts[fields+".md"] = []byte("---\nkind: agent\nname: made\ntitle: M\n" + fields + "\n---\nDo it.\n")
	}
	return texts
}

// explaining is a service that explains agents, with the settings of every folder.
func explaining(set *Settings, tools ...tool.Tool) *Service {
	return &Service{Config: Config{
		Tools: tools, Settings: func(string) *Settings { return set }, Table: model.NewTable(nil),
		Folders: func() []string { return []string{"/w"} }, Trusted: func(string) bool { return true }, Agents: func() *registry.Snapshot { return new(registry.Snapshot) },
		Provider: func(id string) (model.Model, *model.Retries, error) {
			if id == "openai/x" {
				return nil, nil, fault.New(fault.NotFound, "test", "no provider")
			}
			return nil, nil, nil
		},
	}}
}

// TestEveryCallIsExplained: for the public agent files and made-up ones, with and
// without settings, the explanation offers the tools that a run offers (spec 1.8).
func TestEveryCallIsExplained(t *testing.T) {
	tools := append(builtin.Tools(), nameOnly{name: "mcp.x.get"}, nameOnly{name: "web_fetch"})
	offered := 0
	for path, text := range explained(t) {
		d := definition.Parse(definition.Source{Path: path, Folder: "/w", Scope: definition.Project, Data: text})
		for _, c := range []struct{ exclude, only []string }{{nil, nil}, {[]string{"bash", "mcp.*"}, nil}, {nil, []string{"read_*", "shell", "["}}} {
			set := &Settings{Exclude: []authority.List{{Names: c.exclude}}}
			if c.only != nil {
				section, err := json.Marshal(map[string]any{"tools": map[string]any{"allow": c.only}})
				if err != nil {
					t.Fatal(err)
				}
				set.Overrides = map[string][]settings.Raw{d.Name: {theirs(string(section))}}
			}
			s := explaining(set, tools...)
			names := func(all []tool.Tool) (list []string) {
				for _, one := range all {
					list = append(list, one.Spec().Name)
				}
				return list
			}
			want := names(s.ToolsOf(d))
			offered += len(want)
			got := slices.DeleteFunc(s.Explain(d, string(text)).Tools, func(one explanation.Tool) bool { return !one.Offered || one.Added })
			if !slices.EqualFunc(got, want, func(one explanation.Tool, name string) bool { return one.Name == name }) {
				t.Errorf("%s %+v: explained %+v, offered %q", path, c, got, want)
			}
		}
	}
	if offered == 0 {
		t.Error("nothing is offered to anybody")
	}
}

// TestRunsGoByTheirExplanation: the models that may answer and the limits of a
// run are those that the explanation has, reviewed or not.
func TestRunsGoByTheirExplanation(t *testing.T) {
	made := 0
	for path, text := range explained(t) {
		for _, scope := range []definition.Scope{definition.Project, definition.Global} {
			for _, unreviewed := range []bool{false, true} {
				for _, set := range []*Settings{{}, {Values: settings.Values{Model: settings.Model{Name: "pro"}, FallbackModels: []string{"flash"}}}} {
					d := definition.Parse(definition.Source{Path: path, Folder: "/w", Scope: scope, Data: text})
					if ok, _ := d.Usable(); !ok || d.Inputs != nil || !d.UserInvocable || len(d.Authority) > 0 {
						continue
					}
					set.Overrides = map[string][]settings.Raw{d.Name: {mine(`{"run": {"max_tokens": 5}}`)}}
					s := explaining(set)
					s.Unreviewed = func(*definition.Definition) bool { return unreviewed }
					s.Now = time.Now
					plan, err := s.plan(Start{Definition: d, Input: []activity.ContentBlock{{Type: "text", Text: "Go."}}})
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					made++
					e := s.Explain(d, string(text))
					turns, _ := e.Value("run.max_turns")
					span, _ := e.Value("run.max_time")
					tokens, _ := e.Value("run.max_tokens")
					if turns.Value != plan.task.maxTurns || span.Value != plan.task.maxTime.Seconds() || tokens.Value != plan.def.MaxTokens {
						t.Errorf("%s unreviewed %t: %v turns, %v s, %v tokens explained; %d, %s, %d in the run", path, unreviewed, turns.Value, span.Value, tokens.Value, plan.task.maxTurns, plan.task.maxTime, plan.def.MaxTokens)
					}
					if plan.name == model.Auto {
						continue
					}
					ids := append([]string{e.Model.ID}, e.Model.Fallbacks...)
					if !slices.EqualFunc(plan.choices, ids, func(c run.Choice, id string) bool { return c.ID == id }) {
						t.Errorf("%s: explained %q, asked %+v", path, ids, plan.choices)
					}
					if e.Model.ID != s.Resolve(d) {
						t.Errorf("%s: explained %s, listed %s", path, e.Model.ID, s.Resolve(d))
					}
				}
			}
		}
	}
	if made == 0 {
		t.Error("nothing runs")
	}
}

// TestUnreviewedLimits: a project's agent that runs though nobody has reviewed it
// gets the limits of spec 12.2 at most, and the run says so.
func TestUnreviewedLimits(t *testing.T) {
	for _, c := range []struct {
		scope  definition.Scope
		fields string
		turns  int
		span   time.Duration
		lower  []string
	}{
		{definition.Project, "run: {mode: task, max_turns: 31, max_time: 601}", authority.UnreviewedTaskTurns, authority.UnreviewedTaskTime, []string{"run.max_turns of made is 30 here instead of 31", "run.max_time of made is 10m here instead of 10m1s"}},
		{definition.Project, "run: {mode: task, max_turns: 30, max_time: 600}", 30, 10 * time.Minute, nil},
		{definition.Project, "run: {mode: task}", definition.DefaultTaskTurns, definition.DefaultTaskTime, nil},
		{definition.Project, "run: {max_turns: 101, max_time: 9999}", authority.UnreviewedChatTurns, 9999 * time.Second, []string{"run.max_turns of made is 100 here instead of 101"}},
		{definition.Global, "run: {mode: task, max_turns: 31, max_time: 601}", 31, 601 * time.Second, nil},
	} {
		d := definition.Parse(definition.Source{Path: "/w/made.md", Folder: "/w", Scope: c.scope, Data: []byte("---\nkind: agent\nname: made\ntitle: M\n" + c.fields + "\n---\nDo it.\n")})
		s := explaining(&Settings{})
		s.Unreviewed = func(*definition.Definition) bool { return true }
		s.Now = time.Now
		plan, err := s.plan(Start{Definition: d, Input: []activity.ContentBlock{{Type: "text", Text: "Go."}}})
		if err != nil {
			t.Fatal(err)
		}
		if plan.task.maxTurns != c.turns || plan.task.maxTime != c.span {
			t.Errorf("%s %s: %d turns, %s", c.scope, c.fields, plan.task.maxTurns, plan.task.maxTime)
		}
		if !slices.EqualFunc(plan.task.lowered, c.lower, func(p definition.Problem, want string) bool { return strings.HasPrefix(p.Message, want) }) {
			t.Errorf("%s %s: told %+v", c.scope, c.fields, plan.task.lowered)
		}
	}
}

// TestOthersFollowTheirFiles: what other agents are is looked up once, and anew when
// the catalog or the settings are others.
func TestOthersFollowTheirFiles(t *testing.T) {
	const text = "---\nkind: agent\nname: agent-%d\ntitle: A\ntools: {allow: [delegate_to_agent]}\nsubagents: ['*']\nrun: {max_turns: 2%s}\n---\nDo it.\n"
	s := explaining(&Settings{}, nameOnly{name: "delegate_to_agent"})
	set, catalog := &Settings{Values: settings.Values{Limits: settings.Limits{Depth: 2, Runs: 2}}}, manyAgents(t, 3, text)
	s.Settings, s.Agents = func(string) *Settings { return set }, func() *registry.Snapshot { return catalog }
	calls := func() int {
		e, err := catalog.Lookup("", "agent-1")
		if err != nil {
			t.Fatal(err)
		}
		return s.Explain(e.Definition, "").Worst.Calls
	}
	before := calls()
	if again := calls(); again != before || before == 0 {
		t.Errorf("%d calls, then %d", before, again)
	}
	kept := s.known
	calls()
	if s.known != kept {
		t.Error("nothing is kept")
	}
	set = &Settings{Values: set.Values}
	set.Overrides = map[string][]settings.Raw{"agent-2": {mine(`{"run": {"max_turns": 90}}`)}}
	overridden := calls()
	if overridden <= before {
		t.Errorf("with another setting: %d calls, %d without", overridden, before)
	}
	catalog = manyAgents(t, 2, text)
	if alone := calls(); alone >= overridden {
		t.Errorf("with another catalog: %d calls, %d before", alone, overridden)
	}
}

// TestGraphIsExplained: the nodes of a graph that names nobody elsewhere are known, and count.
func TestGraphIsExplained(t *testing.T) {
	s := explaining(&Settings{Values: settings.Values{Limits: settings.Limits{Depth: 2, Runs: 8}}})
	catalog := manyAgents(t, 2, "---\nkind: agent\nname: agent-%d\ntitle: A\n%s---\nDo it.\n")
	s.Agents = func() *registry.Snapshot { return catalog }
	graph := definition.Parse(definition.Source{Scope: definition.Global, Data: []byte("---\nkind: agent\nname: flow\ntitle: F\ngraph:\n  entry: a\n  nodes: [{name: a, agent: agent-1}]\n  edges: [{from: a, to: END}]\n---\n")})
	if e := s.Explain(graph, ""); len(e.Graph) != 1 || !e.Graph[0].Known || e.Worst.Calls == 0 {
		t.Errorf("%+v, %s", e.Graph, e.Worst.Text())
	}
}

// BenchmarkExplain is one explanation among 10,000 agents: it is made for each
// keystroke in an agent's file.
func BenchmarkExplain(b *testing.B) {
	const text = "---\nkind: agent\nname: agent-%d\ntitle: Agent\ndescription: Does one thing.\nmodel: pro\ntools:\n  allow: [read_file, write_file, shell, delegate_to_agent]\n%s---\nDo it well.\n"
	catalog := manyAgents(b, 10_000, text)
	for _, subagents := range []string{"", "subagents: [agent-1, agent-2]\n", "subagents: ['*']\n"} {
		b.Run(strings.TrimSpace(subagents), func(b *testing.B) {
			s := explaining(&Settings{Values: settings.Values{Limits: settings.Limits{Depth: 2, Runs: 32}}}, append(builtin.Tools(), nameOnly{name: "delegate_to_agent"})...)
			s.Agents = func() *registry.Snapshot { return catalog }
			own := fmt.Sprintf(text, 7, subagents)
			d := definition.Parse(definition.Source{Path: "/w/agent-7.md", Folder: catalog.Entries()[1].Definition.Folder, Scope: definition.Project, Data: []byte(own)})
			b.ReportAllocs()
			for b.Loop() {
				s.Explain(d, own)
			}
		})
	}
}

// manyAgents is a catalog of as many agents, whose text has a number and an empty
// text.
func manyAgents(t testing.TB, n int, text string) *registry.Snapshot {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("agent-%d.md", i)), fmt.Appendf(nil, text, i, ""), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	catalog, err := registry.New(registry.Config{Places: []registry.Place{{Scope: definition.Project, Dir: dir, Folder: dir}}}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}
