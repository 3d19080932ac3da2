package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// TestMemoryCommand: what an agent stored is listed, found and deleted from the command
// line, which says that logs keep what was said; after that no file of the store has it.
func TestMemoryCommand(t *testing.T) {
	home := play(t, "> note\n<call store_memory {\"key\": \"deploy command\", \"content\": \"Deploy with\\u001b[2J make ship.\\nOnly on Fridays.\"}\n\n>result store_memory contains Stored\n< Noted.\n\n"+
		"> more\n<call store_memory {\"key\": \"editor\", \"content\": \"Neovim.\"}\n\n>result store_memory contains Stored\n< Noted.\n")
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(home, "agents"), 0o700),
		os.WriteFile(filepath.Join(home, "agents", "keeper.md"), []byte("---\nkind: agent\nname: keeper\ntitle: Keeper\nmemory: {enabled: true, type: key_value, scope: workspace}\n---\nYou keep.\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(code int, args ...string) string {
		t.Helper()
		got, out, errs := command(t, dir, args...)
		if got != code {
			t.Errorf("%q: exit %d\n%s%s", args, got, out, errs)
		}
		return out + errs
	}
	if shown := run(0, "memory", "list"); !strings.Contains(shown, "Nothing is remembered here.") {
		t.Error(shown)
	}
	run(0, "run", "keeper", "note", "--trust", "--approve", "auto")
	run(0, "run", "keeper", "more", "--trust", "--approve", "edits")
	shown := run(0, "memory", "list")
	for _, want := range []string{"STORE", "local, key_value", "the workspace ", "deploy command · workspace-", "by keeper, session ", "just now", "  Only on Fridays.\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "\x1b") {
		t.Errorf("what was stored moves the cursor: %q", shown)
	}
	if shown := run(0, "memory", "search", "how", "to", "deploy"); !strings.Contains(shown, "make ship") || strings.Contains(shown, "Neovim") {
		t.Error(shown)
	}
	if shown := run(0, "memory", "search", "nowhere"); shown != "Nothing found.\n" {
		t.Error(shown)
	}
	var all wire.MemoryListResult
	if err := json.Unmarshal([]byte(run(0, "memory", "list", "--json")), &all); err != nil || len(all.Stores) != 1 || len(all.Records) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	store := all.Stores[0].ID
	for _, args := range [][]string{{"memory", "delete", "editor"}, {"memory", "delete", "--store", store}, {"memory", "delete", "--store", store, "--all", "editor"}, {"memory", "forget"}, {"memory"}} {
		run(exitUsage, args...)
	}
	if shown := run(exitFailed, "memory", "delete", "--store", store, "nothing"); !strings.Contains(shown, "nothing is stored under nothing in "+store) {
		t.Error(shown)
	}
	if shown := run(0, "memory", "delete", "--store", store, "deploy command"); shown != "Deleted 1 record. The logs of sessions keep what was said in them: `agentls sessions delete` erases one.\n" {
		t.Error(shown)
	}
	files, err := filepath.Glob(filepath.Join(home, "agentls", "memory", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "make ship") {
			t.Errorf("%s still has it, %v", file, err)
		}
	}
	run(0, "memory", "delete", "--store", store, "--all")
	if shown := run(0, "memory", "list"); !strings.Contains(shown, "Nothing is remembered here.") {
		t.Error(shown)
	}
}

// TestRedisPasswordIsNotShown: the address of the server is listed without its password.
func TestRedisPasswordIsNotShown(t *testing.T) {
	play(t, "")
	dir := t.TempDir()
	if code, out, errs := command(t, dir, "config", "agents.memory.redis", "redis://ada:banana@127.0.0.1:1/0", "--global"); code != 0 {
		t.Fatal(out, errs)
	}
	for _, args := range [][]string{{"config", "agents.memory.redis"}, {"config", "--json"}, {"memory", "list"}} {
		_, out, errs := command(t, dir, args...)
		if shown := out + errs; strings.Contains(shown, "banana") || !strings.Contains(shown, "127.0.0.1:1") {
			t.Errorf("%q: %s", args, shown)
		}
	}
}
