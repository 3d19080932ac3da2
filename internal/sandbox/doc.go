// Package sandbox puts a wall around the child processes that a model caused
// (spec 4.5): shell commands, validators, hooks and MCP servers.
//
// What a command is let do is an [Access]; which wall keeps it to that is found
// out once for a machine: bubblewrap, Landlock, the sandbox of macOS, or none.
// The package decides nothing: package guard does.
package sandbox
