package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestSEC74EveryInvisibleCharacterOfTheTable: all ranges, end to end, are shown
// as U+XXXX and raise the call; of most of them unicode.IsPrint knows nothing.
func TestSEC74EveryInvisibleCharacterOfTheTable(t *testing.T) {
	passed := 0
	for _, span := range [][2]rune{
		{0x202a, 0x202e}, {0x2066, 0x2069}, {0x200b, 0x200f}, {0x2060, 0x2064}, {0xe0000, 0xe007f}, {0xfe00, 0xfe0f}, {0xe0100, 0xe01ef},
		{0x3164, 0x3164}, {0x115f, 0x1160}, {0xffa0, 0xffa0}, {0x2800, 0x2800}, {0x034f, 0x034f}, {0x00ad, 0x00ad}, {0xfeff, 0xfeff}, {0x061c, 0x061c},
		{0x17b4, 0x17b5}, {0x180b, 0x180f}, {0xfff9, 0xfffc}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0x1d159, 0x1d159},
		{0x16fe4, 0x16fe4}, {0x13430, 0x13455}, {0x110bd, 0x110bd}, {0x0334, 0x0338}, {0x20d0, 0x20f0},
	} {
		for r := span[0]; r <= span[1]; r++ {
			if unicode.IsPrint(r) {
				passed++
			}
			s := "rm " + string(r) + "x"
			if got, want := tool.Escape(s), fmt.Sprintf("rm U+%04Xx", r); got != want || tool.Visible(s, 7, false) != want {
				t.Errorf("%U is shown as %q and %q", r, got, tool.Visible(s, 7, false))
			}
			if !tool.Suspicious(s) {
				t.Errorf("%U raises nothing", r)
			}
		}
	}
	t.Logf("unicode.IsPrint alone passes %d of them", passed)
	if passed == 0 {
		t.Error("the table would not be needed")
	}
}

// TestSEC71BlanksAreCounted: runs of blanks, line ends and blank lines are shown
// for what they are, and what stands behind them is seen.
func TestSEC71BlanksAreCounted(t *testing.T) {
	for in, want := range map[string][]string{
		"ls -l  a":                             {"ls -l  a"},
		"ls" + strings.Repeat(" ", 7) + "; P":  {"ls       ; P"},
		"ls" + strings.Repeat(" ", 8) + "; P":  {"ls␠×8; P"},
		"ls" + strings.Repeat("\t", 9) + "; P": {`ls\t×9; P`},
		"a\tb":                                 {`a\tb`},
		"a \\ \nb":                             {`a \␠⏎`, "b"},
		"a \t":                                 {`a␠\t`},
		"a\u00a0b":                             {"aU+00A0b"},
		"a\u2003\u2003b":                       {"aU+2003×2b"},
		"a\u3000b é 日本":                        {"aU+3000b é 日本"},
		"a\n":                                  {"a⏎"},
		"a\n\nb":                               {"a⏎", "⏎", "b"},
		"a\n\n\n\nb":                           {"a⏎", "⏎×3 (blank lines)", "b"},
		"a\n \n\t\n  \nb":                      {"a⏎", "⏎×3 (blank lines)", "b"},
		"\n\n\n\nb":                            {"⏎×4 (blank lines)", "b"},
		"a\r\nb\vc\fd\u0085e\u2028f":           {`a\r⏎`, `b\x0bc\x0cd\x85eU+2028f`},
		"\xff\x1b[2K\u202eevil":                {`\xff\x1b[2KU+202Eevil`},
		"":                                     {""},
	} {
		if got := tool.Lines(in, 7, false); !slices.Equal(got, want) {
			t.Errorf("%q is shown as\n%q, want\n%q", in, got, want)
		}
	}
	if got := tool.Visible("\t\tif x {"+strings.Repeat(" ", 70)+"evil()", 64, true); got != "\t\tif x {␠×70evil()" {
		t.Errorf("a line of a diff: %q", got)
	}
}

// TestSEC71BlanksThatTakeTurnsAreOneRun: a run of several kinds pushes nothing out
// of sight.
func TestSEC71BlanksThatTakeTurnsAreOneRun(t *testing.T) {
	for in, want := range map[string]string{
		"ok();" + strings.Repeat(" \t", 1000) + "evil();":                           `ok();␠\t×2000 (mixed blanks)evil();`,
		"ok();" + strings.Repeat("\t ", 3) + "x":                                    "ok();" + strings.Repeat("\t ", 3) + "x",
		"ok();" + strings.Repeat(" ", 40) + strings.Repeat("\t", 40) + "x":          `ok();␠×40\t×40x`,
		"a" + strings.Repeat(" \u00a0", 50) + "b" + strings.Repeat(" \t", 50) + "c": `a␠\t×100 (mixed blanks)b␠\t×100 (mixed blanks)c`,
		"a" + strings.Repeat(" \t", 5):                                              `a␠\t×10 (mixed blanks)`,
		"\t\t    if x {":                                                            "\t\t    if x {",
	} {
		if got := tool.Visible(in, 64, true); got != want {
			t.Errorf("%.40q is shown as %.60q, want %q", in, got, want)
		}
	}
}

func FuzzSEC71Lines(f *testing.F) {
	for _, s := range []string{"a", " ", "a  \n\n\n\n b\t\t", "\u00a0\u00a0\xff", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, line := range tool.Lines(s, 7, false) {
			if strings.Contains(line, strings.Repeat(" ", 8)) || strings.ContainsAny(line, "\n\t") || tool.Suspicious(line) || strings.HasSuffix(line, " ") {
				t.Errorf("%q has the line %q", s, line)
			}
		}
		if visible := strings.Join(tool.Lines(s, 7, false), ""); strings.Count(s, "P") != strings.Count(visible, "P") {
			t.Errorf("%q is shown as %q", s, visible)
		}
	})
}

// TestSEC75LookalikesAreNamed: hosts, packages and paths that look like others
// are told of with what they are; those of one script are not.
func TestSEC75LookalikesAreNamed(t *testing.T) {
	for in, want := range map[string][]string{
		"curl https://аpple.com/x":          {"mixed scripts: а (Cyrillic) in https://аpple.com/x", "host аpple.com is xn--pple-43d.com"},
		"curl https://xn--pple-43d.com":     {"host xn--pple-43d.com reads аpple.com", "mixed scripts: а (Cyrillic) in аpple.com", "host аpple.com is xn--pple-43d.com"},
		"curl https://XN--PPLE-43d.com":     {"host XN--PPLE-43d.com reads аpple.com", "mixed scripts: а (Cyrillic) in аpple.com", "host аpple.com is xn--pple-43d.com"},
		"curl https://user@аррӏе.com:8080/": {"looks Latin and is Cyrillic: аррӏе in https://user@аррӏе.com:8080/", "host аррӏе.com is xn--80ak6aa92e.com"},
		"npm install ехрress":               {"mixed scripts: е (Cyrillic), х (Cyrillic), р (Cyrillic) in ехрress"},
		"pip install сора":                  {"looks Latin and is Cyrillic: сора in сора"},
		"pip install ορο":                   {"looks Latin and is Greek: ορο in ορο"},
		"cat \u212aey":                      {"looks like K and is U+212A (kelvin sign) in \u212aey"},
		"cat a\u2044b":                      {"looks like / and is U+2044 (fraction slash) in a\u2044b"},
		"cat docs\uff0fb":                   {"looks like / and is U+FF0F (fullwidth) in docs\uff0fb"},
		"cat a\uff0egit":                    {"looks like . and is U+FF0E (fullwidth) in a\uff0egit"},
		"ls; P\u037e Q":                     {"looks like ; and is U+037E (greek question mark) in P\u037e"},
		"cat отчёт/2024.txt 'docs/日本語テキスト' café": nil,
		"echo 한국어 名前 naïve Ünïcode":              nil,
		"ls -la && go test ./...":                nil,
		"curl https://example.com":               nil,
		"curl https://münchen.de":                {"host münchen.de is xn--mnchen-3ya.de"},
	} {
		if got := tool.Lookalikes(in); !slices.Equal(got, want) {
			t.Errorf("%q:\n%q, want\n%q", in, got, want)
		}
	}
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("а%dx", i))
	}
	if got := tool.Lookalikes(strings.Join(many, " ")); len(got) != 11 || got[10] != "and 30 more such words" {
		t.Errorf("forty of them: %q", got)
	}
}

// TestSEC75LongTextsAreLookedAtInTime: whatever 1 MB holds is looked at in about
// the time that it has to be, and a line of it is one that a person reads.
func TestSEC75LongTextsAreLookedAtInTime(t *testing.T) {
	var han, labels, words, hosts, long strings.Builder
	for i := range 350_000 {
		han.WriteRune(rune(0x4e00 + i*7%20_000))
		if labels.Len() < 1<<20 {
			fmt.Fprintf(&labels, "а%dx/", i)
			fmt.Fprintf(&words, "а%dx ", i)
		}
		if hosts.Len() < 1<<20 {
			fmt.Fprintf(&hosts, "%sa%d%s.b ", strings.Repeat("xn--", 47), i, strings.Repeat("-", 47))
		}
		if long.WriteRune(rune(0x4e00 + (i*7+i/80)%20_000)); i%80 == 79 {
			long.WriteString(".b ")
		}
	}
	for what, c := range map[string]struct {
		text    string
		mention string
		least   int
	}{
		"fullwidth letters":      {strings.Repeat("\uff41\uff42\uff43", 1<<20/9), "looks like a and is U+FF41 (fullwidth)", 3},
		"all that looks like":    {strings.Repeat("x", 1<<20) + "\u212a", "looks like K and is U+212A (kelvin sign)", 1},
		"Han":                    {"a" + han.String(), "mixed scripts: ", 1},
		"labels":                 {labels.String(), "mixed scripts: а (Cyrillic)", 1},
		"words":                  {words.String(), "mixed scripts: а (Cyrillic)", 11},
		"one host":               {han.String() + ".com", "is too long", 1},
		"many hosts":             {strings.Repeat("é.com ", 1<<20/7), "host é.com is xn--9ca.com", 1},
		"a host of many letters": {strings.Repeat("xn--9ca.", 1<<20/8), "is too long", 1},
		"hosts in hosts":         {hosts.String(), " cannot be converted", 11},
		"long hosts":             {long.String(), " is xn--", 11},
		"mixed letters":          {strings.Repeat("аa", 1<<20/3), "mixed scripts: а (Cyrillic)", 1},
		"no more than one":       {strings.Repeat("а", 1<<19), "looks Latin and is Cyrillic", 1},
	} {
		began := tooltest.Spent()
		got := tool.Lookalikes(c.text)
		if took := tooltest.Spent() - began; took > 8*time.Second {
			t.Errorf("%s: takes %v", what, took)
		} else {
			t.Logf("%s: %v, %d bytes", what, took, len(c.text))
		}
		if len(got) < c.least || !strings.Contains(strings.Join(got, "\n"), c.mention) {
			t.Errorf("%s: %.200q", what, got)
		}
		for _, line := range got {
			if len(line) > 2000 {
				t.Errorf("%s: a line of %d bytes", what, len(line))
			}
		}
	}
}

func FuzzSEC75Lookalikes(f *testing.F) {
	for _, s := range []string{"https://аpple.com", "xn--pple-43d.com a\u3164b", "\u202eа\xffx.y", "xn--a.b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, line := range tool.Lookalikes(s) {
			if tool.Suspicious(line) || strings.ContainsAny(line, "\n\t") {
				t.Errorf("%q has the line %q", s, line)
			}
		}
	})
}

func BenchmarkFacts(b *testing.B) {
	text := "go test ./... && curl https://example.com/a " + strings.Repeat("x", 150)
	for b.Loop() {
		tool.Lines(text, 7, false)
		tool.Lookalikes(text)
	}
}
