package mention_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/internal/fault"
)

// names are the agents of a test.
type names []string

func (n names) Has(name string) bool { return slices.Contains(n, name) }

func (n names) Unknown(name string) error {
	return fault.New(fault.NotFound, "test", "there is no agent %s", name).Because(fault.UnknownAgent, "suggestions", []string(n))
}

var agents = names{"main", "debugger", "code-fixer", "test", "a_b", "web:debugger", "my.app:test"}

// TestParse is the input syntax of spec 5.1.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want mention.Parsed
		at   []string // the mentions' texts
	}{
		{"", mention.Parsed{}, nil},
		{"hello", mention.Parsed{Prompt: "hello"}, nil},
		{"  hello\n", mention.Parsed{Prompt: "hello"}, nil},
		{`"hello"`, mention.Parsed{Prompt: `"hello"`}, nil},

		{"@debugger fix it", mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{"\n @debugger\tfix\nall of it ", mention.Parsed{Agent: "debugger", Prompt: "fix\nall of it"}, nil},
		{"@debugger", mention.Parsed{Agent: "debugger"}, nil},
		{"@debugger   ", mention.Parsed{Agent: "debugger"}, nil},
		{"@debugger, fix it", mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{"@debugger: fix it", mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{"@debugger：修复它", mention.Parsed{Agent: "debugger", Prompt: "修复它"}, nil},
		{"@debugger修复它", mention.Parsed{Agent: "debugger", Prompt: "修复它"}, nil},
		{"@code-fixer go", mention.Parsed{Agent: "code-fixer", Prompt: "go"}, nil},
		{"@a_b go", mention.Parsed{Agent: "a_b", Prompt: "go"}, nil},
		{"@web:debugger go", mention.Parsed{Agent: "web:debugger", Prompt: "go"}, nil},
		{"@my.app:test go", mention.Parsed{Agent: "my.app:test", Prompt: "go"}, nil},

		{`@debugger "fix it"`, mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{`@debugger"fix it"`, mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{`@debugger 'fix it'`, mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{`@debugger “fix it”`, mention.Parsed{Agent: "debugger", Prompt: "fix it"}, nil},
		{`@debugger 「修复」`, mention.Parsed{Agent: "debugger", Prompt: "修复"}, nil},
		{`@debugger "say \"hi\" twice"`, mention.Parsed{Agent: "debugger", Prompt: `say "hi" twice`}, nil},
		{`@debugger "a" is not "b"`, mention.Parsed{Agent: "debugger", Prompt: `"a" is not "b"`}, nil},
		{`@debugger 'don't'`, mention.Parsed{Agent: "debugger", Prompt: `'don't'`}, nil},
		{`@debugger "open`, mention.Parsed{Agent: "debugger", Prompt: `"open`}, nil},
		{`@debugger "`, mention.Parsed{Agent: "debugger", Prompt: `"`}, nil},
		{`@debugger "ends in \"`, mention.Parsed{Agent: "debugger", Prompt: `"ends in \"`}, nil},
		{`@debugger ""`, mention.Parsed{Agent: "debugger"}, nil},

		{"@auto fix it", mention.Parsed{Auto: true, Prompt: "fix it"}, nil},
		{"@auto --strategy=rule fix it", mention.Parsed{Auto: true, Strategy: "rule", Prompt: "fix it"}, nil},
		{`@auto --strategy=llm "fix it"`, mention.Parsed{Auto: true, Strategy: "llm", Prompt: "fix it"}, nil},
		{"@auto\n--strategy=hybrid", mention.Parsed{Auto: true, Strategy: "hybrid"}, nil},
		{"@auto --strategyless text", mention.Parsed{Auto: true, Prompt: "--strategyless text"}, nil},
		{"@auto fix --strategy=rule", mention.Parsed{Auto: true, Prompt: "fix --strategy=rule"}, nil},
		{"@debugger --strategy=rule", mention.Parsed{Agent: "debugger", Prompt: "--strategy=rule"}, nil},

		{`\@debugger is a name`, mention.Parsed{Prompt: "@debugger is a name"}, nil},
		{`\@nobody is a name`, mention.Parsed{Prompt: "@nobody is a name"}, nil},
		{`  \@param x`, mention.Parsed{Prompt: "@param x"}, nil},
		{`\@ alone`, mention.Parsed{Prompt: `\@ alone`}, nil},
		{"@ alone", mention.Parsed{Prompt: "@ alone"}, nil},
		{"@", mention.Parsed{Prompt: "@"}, nil},

		{"ask @debugger and @test.", mention.Parsed{Prompt: "ask @debugger and @test."}, []string{"debugger", "test"}},
		{"@main ask @debugger", mention.Parsed{Agent: "main", Prompt: "ask @debugger"}, []string{"debugger"}},
		{`@main "ask @debugger"`, mention.Parsed{Agent: "main", Prompt: "ask @debugger"}, []string{"debugger"}},
		{"请@debugger看看（@test）", mention.Parsed{Prompt: "请@debugger看看（@test）"}, []string{"debugger", "test"}},
		{"(@web:debugger)", mention.Parsed{Prompt: "(@web:debugger)"}, []string{"web:debugger"}},
		{`not \@debugger but @test`, mention.Parsed{Prompt: "not @debugger but @test"}, []string{"test"}},
		{"ask @auto", mention.Parsed{Prompt: "ask @auto"}, nil},
		{"ask @nobody", mention.Parsed{Prompt: "ask @nobody"}, nil},

		// Code mentions nobody, and stays as it is.
		{"mail joe@main.com", mention.Parsed{Prompt: "mail joe@main.com"}, nil},
		{"josé@main", mention.Parsed{Prompt: "josé@main"}, nil},
		{"mail joe@main", mention.Parsed{Prompt: "mail joe@main"}, nil},
		{"the @test(timeout) of it", mention.Parsed{Prompt: "the @test(timeout) of it"}, nil},
		{"the @test.skip of it", mention.Parsed{Prompt: "the @test.skip of it"}, nil},
		{"npm i @test/lib", mention.Parsed{Prompt: "npm i @test/lib"}, nil},
		{"see @tests and @test2", mention.Parsed{Prompt: "see @tests and @test2"}, nil},
		{"see `@test` and @main", mention.Parsed{Prompt: "see `@test` and @main"}, []string{"main"}},
		{"```\n@test\n`x` @main\n```\n@debugger", mention.Parsed{Prompt: "```\n@test\n`x` @main\n```\n@debugger"}, []string{"debugger"}},
		{"one ` and @test", mention.Parsed{Prompt: "one ` and @test"}, []string{"test"}},
		{`print "a\@main.com"`, mention.Parsed{Prompt: `print "a\@main.com"`}, nil},
		{`grep '\@nobody'`, mention.Parsed{Prompt: `grep '\@nobody'`}, nil},
	} {
		got, err := mention.Parse(c.text, agents)
		var at []string
		for _, m := range got.Mentions {
			if c.text[m.Start:m.End] != "@"+m.Name {
				t.Errorf("%q: a mention of %s stands at %q", c.text, m.Name, c.text[m.Start:m.End])
			}
			at = append(at, m.Name)
		}
		got.Mentions = nil
		if err != nil || !reflect.DeepEqual(got, c.want) || !slices.Equal(at, c.at) {
			t.Errorf("%q: %+v %v, %v; want %+v %v", c.text, got, at, err, c.want, c.at)
		}
	}
}

// TestParseErrors: who begins with a name means somebody.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"@debuger fix it":         "there is no agent debuger",
		"@debuger: fix it":        "there is no agent debuger",
		"@Debugger fix it":        "there is no agent Debugger",
		"@types/node is missing":  "there is no agent types/node",
		"@debugger/x":             "there is no agent debugger/x",
		"@test(timeout)":          "there is no agent test(timeout)",
		"@web:test go":            "there is no agent web:test",
		"@nobody":                 "there is no agent nobody",
		"@自动 go":                  "there is no agent 自动",
		"@auto --strategy=best x": `--strategy is "best"; write --strategy=rule, =llm or =hybrid`,
		"@auto --strategy= x":     `--strategy is ""; write --strategy=rule, =llm or =hybrid`,
		"@auto --strategy rule x": `--strategy is ""; write --strategy=rule, =llm or =hybrid`,
	} {
		_, err := mention.Parse(text, agents)
		if err == nil || fault.Message(err) != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		reason, data := fault.ReasonOf(err)
		if unknown := strings.HasPrefix(want, "there"); unknown != (reason == fault.UnknownAgent) || (unknown && len(data["suggestions"].([]string)) == 0) {
			t.Errorf("%q: reason %q, %v", text, reason, data)
		}
	}
	_, err := mention.Parse("@"+strings.Repeat("x", 1<<20), agents)
	if len(fault.Message(err)) > 200 {
		t.Errorf("a long name is quoted whole: %d bytes", len(fault.Message(err)))
	}
}

// FuzzParse: whatever is typed, nothing is lost but what the syntax takes, and
// each mention is where it says.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"@debugger fix it", `@auto --strategy=rule "x"`, `\@main \\@test`, "a`@main`b", "请@test。", "@web:debugger:", `@test "\"@main\""`, "@\xff", "`````", "@test\u2028",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := mention.Parse(text, agents)
		if err != nil {
			return
		}
		last := 0
		for _, m := range p.Mentions {
			if m.Start < last || m.End > len(text) || text[m.Start:m.End] != "@"+m.Name || !agents.Has(m.Name) {
				t.Fatalf("%q: mention %+v after %d", text, m, last)
			}
			last = m.End
		}
		// The prompt is the text in its order, without what was taken.
		rest := text
		for i := range len(p.Prompt) {
			at := strings.IndexByte(rest, p.Prompt[i])
			if at < 0 {
				t.Fatalf("%q: the prompt %q has a %q that the text has not", text, p.Prompt, p.Prompt[i])
			}
			rest = rest[at+1:]
		}
		if p.Agent == "" && !p.Auto && !strings.Contains(text, `\@`) && p.Prompt != strings.TrimSpace(text) {
			t.Fatalf("%q became %q", text, p.Prompt)
		}
		if (p.Agent != "" && (p.Auto || !agents.Has(p.Agent))) || (p.Strategy != "" && !p.Auto) {
			t.Fatalf("%q: %+v", text, p)
		}
		// Said again without its frame it names nobody new.
		if again, err := mention.Parse(`@main "`+strings.ReplaceAll(p.Prompt, `"`, `\"`)+`"`, agents); err != nil || again.Agent != "main" {
			t.Fatalf("%q in quotes: %+v, %v", p.Prompt, again, err)
		}
	})
}

// BenchmarkParse is a page of pasted code.
func BenchmarkParse(b *testing.B) {
	text := "@debugger " + strings.Repeat("@Override public void f() { mail(\"a@main.com\"); } // @test\n", 200)
	for b.Loop() {
		if _, err := mention.Parse(text, agents); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleParse() {
	p, _ := mention.Parse(`@debugger "why does @test fail?"`, agents)
	fmt.Printf("%s: %s %v\n", p.Agent, p.Prompt, p.Mentions)
	// Output: debugger: why does @test fail? [{test 20 25}]
}
