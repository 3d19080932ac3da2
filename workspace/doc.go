// Package workspace holds files as the client sees them: the documents that it
// has open, the disk beneath them, the settings of each folder and whether the
// folder is trusted.
//
// # One idea
//
// What the client told us is a chain of immutable snapshots. Writers go through
// [Workspace.Apply], one at a time. Readers take [Workspace.Snapshot] and keep
// it for as long as they like: nothing in it ever changes, so there is no lock
// to hold and no reference to release. The disk is the opposite: it changes
// under everybody, so every write to it names the [Digest] of what was read and
// is refused as stale when that is no longer there.
//
// # Concurrency
//
// A [Workspace], a [Disk], a [Trust] and a [Watcher] may be used by any number
// of goroutines. A [Settings], a [Snapshot], a [Document] and a [Lines] are
// read-only once made. Only a [Watcher] starts goroutines, and its Close waits
// for them.
//
// # Errors
//
// Errors are faults: Stale for what moved on, NotFound, Invalid for parameters
// that make no sense, Denied for what leaves the workspace or is no regular
// file, Unavailable for a disk that fails.
//
// # Borders
//
// This package knows no protocol and no agent: it imports internal/fault and
// nothing else of this module. It is the only one that imports fsnotify.
package workspace
