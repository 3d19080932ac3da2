package workspace

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/settings"
)

// repeats is a file of one line below the limit in which one section is given again
// and again.
func repeats() []byte {
	return []byte("{" + strings.Repeat(`"agents":{"limits":{"depth":3},"overrides":{"a":{"model":"pro"}}},`, 15_000) + `"x":1}`)
}

// TestRepeatedSections: each is told once, at its place.
func TestRepeatedSections(t *testing.T) {
	s := MergeSettings(SettingsSource{Scope: settings.ProjectScope, File: "p.json", Content: repeats()})
	told := 0
	for _, p := range s.Problems {
		if p.Key == "agents" && p.Line == 1 && p.Column == 2+66*(told+1) {
			told++
		}
	}
	if told != 14_999 {
		t.Errorf("%d are told of %d", told, len(s.Problems))
	}
}

// BenchmarkRepeatedSections is how long a file may take that was made to take long.
func BenchmarkRepeatedSections(b *testing.B) {
	content := repeats()
	for b.Loop() {
		MergeSettings(SettingsSource{Scope: settings.ProjectScope, File: "p.json", Content: content})
	}
}
