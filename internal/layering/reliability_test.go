package layering

import "testing"

// reliability is the table of spec 12.1.
var reliability = table{
	page: "docs/reliability.md", kind: "REL", last: 130,
	leftOut: []int{13, 15, 22, 28, 34, 36, 43, 50, 58, 64, 68, 78, 88, 101, 110, 115, 117, 119, 120},
}

// TestReliabilityPage holds docs/reliability.md to the tests.
func TestReliabilityPage(t *testing.T) { reliability.hold(t, source(t)) }
