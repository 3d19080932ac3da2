package pattern

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestCheck(t *testing.T) {
	for _, text := range []string{
		"", strings.Repeat(`[B-\x{1E942}]`, 70), `(?s-U:` + strings.Repeat(`[B-𞥂]`, 70) + `)`, `\bTypeError\b`, `^re.*$`, `[\x{4e00}-\x{9fa5}]{2,20}`, `[一-龥]+`, `.{0,1000}`, `\p{Han}{1,50}`, `(a|b){3}(?i:fix)\d+`,
	} {
		if _, bad := Check(text); bad != nil {
			t.Errorf("%s: %v", text, bad)
		}
	}
	for text, want := range map[string]string{
		"(":                            "does not compile (missing closing",
		strings.Repeat("a", 1025):      "longer than 1024",
		strings.Repeat(".{1000}", 100): "too large by what it repeats",
		"(x{500}){2}(y{900}){1}" + strings.Repeat("(x{500}){2}", 20): "too large by what it repeats",
		`[\p{L}\p{N}]{900}`:                                   "too large by what it repeats",
		strings.Repeat(`\pL`, 300):                            "too many classes",
		`(?i)` + strings.Repeat(`[B-\x{1E942}]`, 70):          "too many classes",
		`(?si:` + strings.Repeat(`[B-𞥂]`, 70) + `)`:           "too many classes",
		"(?i)" + strings.Repeat(`[^!-𞥂]`, 70):                 "too many classes",
		"(?i)" + strings.Repeat(`[!-\x{0000001E942}]`, 40):    "too many classes",
		"(?i)" + strings.Repeat(`[\\x{1E942}-\x{1E942}]`, 30): "too many classes",
		`(?i)[!-\x{1E942}][^]!-𞥂][[:\0-𞥂]`:                    "too many classes",
		`(?i)\Q[\E[!-𞥂][\d--𞥂]`:                               "too many classes",
		`[\y]`:                                                "does not compile (invalid escape",
		`[a-\y][\y-]`:                                         "does not compile (invalid escape",
	} {
		if _, bad := Check(text); bad == nil || !strings.Contains(bad.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, bad, want)
		}
	}
}

// counted compares Cost with what regexp/syntax makes of a text: how many
// characters with cases its classes come to where case does not count, and how many
// ranges. What is negated is taken as it is written, since it comes to most
// characters at no cost.
func counted(t *testing.T, text string) {
	t.Helper()
	if len(text) > Longest {
		return
	}
	for strings.Contains(text, "[^") {
		text = strings.ReplaceAll(text, "[^", "[")
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return
	}
	characters, ranges := 0, 0
	var count func(re *syntax.Regexp)
	count = func(re *syntax.Regexp) {
		if re.Op == syntax.OpCharClass {
			ranges += len(re.Rune) / 2
			for i := 0; i < len(re.Rune); i += 2 {
				characters += max(0, int(min(re.Rune[i+1], 0x1e943)-max(re.Rune[i], 'A'))+1)
			}
		}
		for _, sub := range re.Sub {
			count(sub)
		}
	}
	count(re)
	cost := Cost(text)
	if ranges > 16*(cost+1) {
		t.Errorf("%q costs %d and comes to %d ranges", text, cost, ranges)
	}
	if characters > 128*(cost+1) && regexp.MustCompile(`\(\?[imsU-]*i`).MatchString(text) && !regexp.MustCompile(`\\[pPDSW]|\[:\^`).MatchString(text) {
		t.Errorf("%q costs %d and comes to %d characters", text, cost, characters)
	}
}

// TestCostIsOfWhatIsParsed: no way to write a class hides what it comes to.
func TestCostIsOfWhatIsParsed(t *testing.T) {
	if c := lastFolded; unicode.SimpleFold(c) == c || slices.ContainsFunc(unicode.CaseRanges, func(r unicode.CaseRange) bool { return rune(r.Hi) > c }) {
		t.Errorf("%x", c)
	}
	for c := lastFolded + 1; c <= unicode.MaxRune; c++ {
		if unicode.SimpleFold(c) != c {
			t.Errorf("%x", c)
		}
	}
	parts := []string{
		"[", "[", "]", "]", "]", "-", "-", "-", "-", "^", "!", "a", "z", "}", "{", ":", ",", "x", "[:", ":]", "[:word:]", "|", "(?i:", "(?i)", ")", "𞥂", "龥",
		`\x{1E942}`, `\x{0000001E942}`, `\x{0010ffff}`, `\x{21}`, `x{1E942}`, `\\x{1E942}-`, `\x{`, `\x21`, `\x2d`, `\x5b`, `\0`, `\101`, `\777`, `\\`, `\]`, `\[`, `\-`, `\t`, `\v`, `\d`, `\w`,
		`\Q`, `\E`, `\b`, `\x`, `\pN`, `\p{^Greek}`, `\P{`, "(?P<a>", "*", "{3}", "$", ".",
	}
	r := rand.New(rand.NewPCG(85, 1))
	parsed := 0
	for range 15_000 {
		var text strings.Builder
		text.WriteString("(?i)[")
		for range 1 + r.IntN(10) {
			text.WriteString(parts[r.IntN(len(parts))])
		}
		if _, err := syntax.Parse(text.String(), syntax.Perl); err == nil {
			parsed++
			counted(t, text.String())
		}
	}
	if parsed < 500 {
		t.Errorf("only %d are patterns", parsed)
	}
}

// TestFoldsIsOfWhatIsParsed: whatever flags make case not count are found.
func TestFoldsIsOfWhatIsParsed(t *testing.T) {
	flags, folding := []string{""}, 0
	for range 5 {
		for _, before := range flags {
			for _, flag := range []string{"i", "m", "s", "U", "-", "^", "P", "<a>", "P<a>", "(?", ")", ":", `\`} {
				flags = append(flags, before+flag)
			}
		}
		slices.Sort(flags)
		if flags = slices.Compact(flags); len(flags) > 20_000 {
			break
		}
	}
	for _, f := range flags {
		for _, text := range []string{"(?" + f + ")k", "(?" + f + ":k)", "(?" + f + ")k)"} {
			re, err := regexp.Compile(text)
			if err != nil || !re.MatchString("K") || re.MatchString("-") {
				continue
			}
			if folding++; !folds(text) {
				t.Errorf("%q folds", text)
			}
		}
	}
	if folding < 50 {
		t.Errorf("only %d fold", folding)
	}
	for _, text := range []string{"", "(?", "(?:i)", "(?P<i>i)", "(?<i>i)", "i(?s)i", "(?-U:i)", "[一-龥]i"} {
		if folds(text) {
			t.Errorf("%q folds nothing", text)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{`[B-\x{1E942}]`, `(?s-i:[B-𞥂])`, `[Aa][B-𞥂]`, `(x{500}){2}`, `\pL`, `[一-龥]`, `-\x{`, `}-\x{`, `(?i)[!-\x{0001E942}]`, `(?i)\Q[\E[\\x{1E942}-\x{1E942}]`, "\xff-\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if Cost(text) < 0 {
			t.Fatalf("%q costs %d", text, Cost(text))
		}
		counted(t, text)
		if _, bad := Check(text); bad == nil {
			if _, err := regexp.Compile(text); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
