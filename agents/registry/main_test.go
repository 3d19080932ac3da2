package registry

import (
	"os"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// TestMain runs the tests without the table of what has no effect in this version, so
// that they hold when it is empty. TestNoEffect has it.
func TestMain(m *testing.M) {
	definition.UseNoEffect(false)
	os.Exit(m.Run())
}
