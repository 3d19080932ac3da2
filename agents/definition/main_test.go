package definition

import (
	"os"
	"testing"
)

// TestMain runs the tests without the table of what has no effect in this version, so
// that they hold when it is empty. TestNoEffect has it.
func TestMain(m *testing.M) {
	UseNoEffect(false)
	os.Exit(m.Run())
}
