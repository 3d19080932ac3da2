package main

import (
	"strings"
	"testing"
)

// TestSEC71RowsOfTheScreen: what leaves the screen is counted in columns.
func TestSEC71RowsOfTheScreen(t *testing.T) {
	for text, want := range map[string]int{
		"":                                    1,
		"a\nb\n":                              2,
		strings.Repeat("a", 80):               1,
		strings.Repeat("a", 81):               2,
		strings.Repeat("\u6f22", 40):          1,
		strings.Repeat("\u6f22", 41):          2,
		strings.Repeat("\u6f22", 80):          2,
		"a" + strings.Repeat("\u6f22", 40):    2,
		strings.Repeat("\U0001f600", 41):      2,
		strings.Repeat("\t", 10):              1,
		strings.Repeat("\t", 10) + "x":        2,
		strings.Repeat("\uff21", 41) + "\nab": 3,
	} {
		if got := rows(text, 80); got != want {
			t.Errorf("%.20q: %d rows, want %d", text, got, want)
		}
	}
}
