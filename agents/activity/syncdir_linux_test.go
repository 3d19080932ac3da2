package activity_test

import (
	"os"
	"testing"

	"github.com/agentls/agentls/agents/activity"
)

// TestFolderThatIsNotSynced: a file system that cannot sync a folder, which says
// EINVAL like /proc, keeps no log from being written.
func TestFolderThatIsNotSynced(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip(err)
	}
	if err := activity.SyncDir("/proc/self"); err != nil {
		t.Error(err)
	}
	if err := activity.SyncDir(t.TempDir() + "/none"); err == nil {
		t.Error("a folder that is not there was synced")
	}
}
