package condition

import (
	"runtime"
	"strings"
	"testing"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

func TestCheck(t *testing.T) {
	for _, text := range []string{
		"task.status == 'need-review'", "analysis.can_auto_fix", "state.current_task != nil && output?.confidence > 0.5",
		`last_tool in ["bash", "edit_file"]`, `any(output.items, # > 3)`, `input matches "^re.*"`, "true",
		`trim(trim(trim(a, "x"), "y"), "z") == ""`, "0 < a < b < 9", "a ?: b ?: (c ?: d)", "a" + strings.Repeat("&&a", 400),
	} {
		if _, err := Check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "  ": "empty", "task.status ==": "something is missing at its end", "a +": "missing at its end", "(": "missing at its end",
		"1 + 2": "its value is a whole number, not true or false", "1 + 'a'": "go together: a whole number and a text", "a b": "“b” does not belong",
		"a = b": "write ==", "a == 'x": "not closed", "a @ b": "means nothing", "len(1)": "no expression that is understood",
		"a " + strings.Repeat("&& a ", 2000): "allowed", `input matches "("`: "missing closing", "a" + strings.Repeat("&&a", 700): "parts",
		`input matches ("(" + "a")`: "is computed", `a || not (input matches "[\\p{L}\\p{N}]{900}")`: "too large", "1..9": "a list",
		`input matches "` + strings.Repeat(".{1000}", 140) + `"`: "too large", `input matches "` + strings.Repeat("(x{500}){2}", 90) + `"`: "too large",
		`input matches "` + strings.Repeat(`\\PL`, 300) + `"`: "classes",
	} {
		if _, err := Check(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestCheckOfNames: a condition asks for what there is, also within its parts.
func TestCheckOfNames(t *testing.T) {
	for text, want := range map[string]string{
		"state.x && any(output.items, .n > 3)": "", "any(output, # == input)": "", "outptu != 'bad'": "outptu",
		"any(output, # == inptu)": "inptu", "output[key] == 1": "key", "stat?.x ?? true": "stat",
	} {
		_, err := Check(text, "state", "output", "input")
		got := ""
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), "asks for ")
			got, _, _ = strings.Cut(got, ",")
		}
		if got != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{"a.b == 'c'", "((((", "any(x, {#.y})", "1..1000000000", "\x00\xff", "a|trim('')|trim('')|trim('')", "a<(a<(b)<c)<d", "((a?:b)?:c)?:d", `a matches "(x{500}){2}"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Check(text); err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%q: no reason", text)
		}
	})
}

// Whatever a condition says, to check it takes no memory to speak of.
func TestCostsLittle(t *testing.T) {
	for _, text := range []string{
		`input matches "` + strings.Repeat(".{1000}", 1160) + `"`,
		`input matches "` + strings.Repeat(".{1000}", 140) + `"`,
		"a" + strings.Repeat(`||a matches "`+strings.Repeat("a{1000}", 4)+`"`, 150),
		"1..900000 == 1..900000",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Check(text)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%.40q takes %d bytes", text, n)
		}
	}
}

// nested are conditions whose parts are looked at twice as often with each level.
func nested(n int) []string {
	return []string{
		strings.Repeat("trim(", n) + "a" + strings.Repeat(",'')", n) + "==''",
		"a" + strings.Repeat("|trimPrefix('')", n) + "==''",
		strings.Repeat("(", n) + "a" + strings.Repeat("?:b)", n),
		strings.Repeat("a<len([", n) + "a" + strings.Repeat("])<a", n),
	}
}

// TestCostIsTold: what a condition takes to check is bounded, and counted by what
// its text comes to, not by how that is written.
func TestCostIsTold(t *testing.T) {
	for i, text := range nested(100) {
		if cost, err := Check(text); err == nil || !strings.Contains(err.Error(), "nest less") || cost > 500 {
			t.Errorf("%d: costs %d, %v", i, cost, err)
		}
	}
	for i, text := range nested(9) {
		if cost, err := Check(text); err != nil || cost < 50 {
			t.Errorf("%d: costs %d, %v", i, cost, err)
		}
	}
	for _, wide := range []string{`[!-\\x{1E942}]`, `[!-\\x{0000001E942}]`, `[\\\\x{1E942}-\\x{1E942}]`, `[!-\u{1E942}]`, `[!-\U0001E942]`, "[!-𞥂]", `[!\x2d\u{1E942}]`, `\\pL`, `\x5cpL`, `\134pL`} {
		one := `input matches "(?i)` + wide + `"`
		cost, err := Check(one)
		if err != nil || cost < 60 {
			t.Errorf("%s: costs %d, %v", one, cost, err)
		}
		for _, text := range []string{
			one + strings.Repeat("||"+one, 150), "any(a, {" + one + strings.Repeat("||"+one, 150) + "})", one + strings.Repeat("?"+one+":"+one, 80),
		} {
			if cost, err := Check(text); err == nil || !strings.Contains(err.Error(), "classes") || cost > maxPatterns+2000 {
				t.Errorf("%.40s: costs %d, %v", text, cost, err)
			}
		}
	}
}

// TestWeight: without a part that is shared or looked at for several ways of
// calling, the weight of a tree is the number of its parts.
func TestWeight(t *testing.T) {
	text := `let x = -a?.b[0].c(1, 2.5)[1:n] ?? [1, {k: b"b", (f()): nil}]; if true { map(x, #.y); 1 } else { x matches "z" ? reduce(x, #acc + #, 0) : $env }`
	tree, err := parser.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	visits := counter(0)
	ast.Walk(&tree.Node, &visits)
	if got := (weights{conf.CreateNew(), make(map[ast.Node]int)}).of(tree.Node); got != int(visits) || got < 40 {
		t.Errorf("%d, want %d", got, visits)
	}
}

type counter int

func (c *counter) Visit(*ast.Node) { *c++ }
