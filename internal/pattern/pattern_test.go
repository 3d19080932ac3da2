package pattern

import (
	"regexp"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, text := range []string{
		"", `\bTypeError\b`, `^re.*$`, `[\x{4e00}-\x{9fa5}]{2,20}`, `[一-龥]+`, `.{0,1000}`, `\p{Han}{1,50}`, `(a|b){3}(?i:fix)\d+`,
	} {
		if bad := Check(text); bad != nil {
			t.Errorf("%s: %v", text, bad)
		}
	}
	for text, want := range map[string]string{
		"(":                            "does not compile (missing closing",
		strings.Repeat("a", 1025):      "longer than 1024",
		strings.Repeat(".{1000}", 100): "too large by what it repeats",
		"(x{500}){2}(y{900}){1}" + strings.Repeat("(x{500}){2}", 20): "too large by what it repeats",
		`[\p{L}\p{N}]{900}`:                   "too large by what it repeats",
		strings.Repeat(`\pL`, 300):            "too many classes",
		strings.Repeat(`[B-\x{1E942}]`, 70):   "too many classes",
		strings.Repeat(`[B-𞥂]`, 70):           "too many classes",
		"(?i)" + strings.Repeat(`[^!-𞥂]`, 70): "too many classes",
	} {
		if bad := Check(text); bad == nil || !strings.Contains(bad.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, bad, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{`[B-\x{1E942}]`, `(x{500}){2}`, `\pL`, `[一-龥]`, `-\x{`, `}-\x{`, "\xff-\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if Cost(text) < 0 {
			t.Fatalf("%q costs %d", text, Cost(text))
		}
		if Check(text) == nil {
			if _, err := regexp.Compile(text); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
