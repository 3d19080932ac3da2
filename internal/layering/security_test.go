package layering

import "testing"

// security is the table of spec 11.2.
var security = table{
	page: "docs/security.md", kind: "SEC", last: 140,
	leftOut: []int{34, 58, 63, 65, 72, 77, 127, 132, 136, 137},
}

// TestSecurityPage holds docs/security.md to the tests.
func TestSecurityPage(t *testing.T) { security.hold(t, source(t)) }
