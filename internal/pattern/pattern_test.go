package pattern

import (
	"regexp"
	"strings"
	"testing"
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

// TestFoldingIsFound: whatever flags make case not count are found.
func TestFoldingIsFound(t *testing.T) {
	wide := strings.Repeat(`[!-\x{1E942}]`, 70)
	for _, text := range []string{"(?i)K", "(?si-m:K)", "(?U)(?i:K)", "((?i)K)", "(?P<i>(?i)K)"} {
		if re := regexp.MustCompile(text); !re.MatchString("k") {
			t.Fatalf("%s folds nothing", text)
		}
		if _, bad := Check(strings.Replace(text, "K", wide, 1)); bad == nil {
			t.Errorf("%s is not found", text)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{`[B-\x{1E942}]`, `(?s-i:[B-𞥂])`, `[Aa][B-𞥂]`, `(x{500}){2}`, `\pL`, `[一-龥]`, `-\x{`, `}-\x{`, `(?i)[!-\x{0001E942}]`, `(?i)\Q[\E[\\x{1E942}-\x{1E942}]`, "\xff-\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, bad := Check(text); bad == nil {
			if _, err := regexp.Compile(text); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
