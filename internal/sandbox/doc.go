// Package sandbox puts a wall around the child processes that a model caused
// (spec 4.5): shell commands, validators, hooks and MCP servers.
//
// What a command is let do is an [Access]; which wall keeps it to that is found
// out once for a machine: bubblewrap, Landlock, the sandbox of macOS, or none.
// The package decides nothing: package guard does.
//
// # How a command gets behind the wall
//
// [Sandbox.Confine] takes a command that has not been started and a [Spec], and returns a [Box];
// [Box.Start] starts it, [Box.Release] cleans up and says what it left at protected places. What
// each wall can do differs, and whoever decides asks first: [Sandbox.CanMask],
// [Sandbox.CanLimitHosts], [Sandbox.Wall].
//
// # What each wall does
//
// Bubblewrap builds a file system of its own for the command (mounts.go), with its own processes,
// network and /tmp; a proxy of the daemon is its only way out. Landlock leaves the file system as
// it is and limits by path what may be read and written, so it cannot hide single files in a folder
// that is written, and protected places are compared before and after (quarantine.go). Both have a
// filter of system calls (seccomp_linux.go). The sandbox of macOS takes a profile (seatbelt.go).
package sandbox
