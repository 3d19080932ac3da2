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
// This package knows no protocol and no agent: of this module it imports
// internal/fault, internal/filelock and internal/folder alone. It is the only one that
// imports fsnotify.
//
// # Files
//
// workspace.go, snapshot.go, change.go and document.go are the client's side:
// the chain of snapshots, what changes it, and its documents. position.go and
// text.go have lines, positions and charsets. folder.go says where paths lie.
// disk.go, resolve.go, write.go and restore.go are the disk: each call follows
// the name anew, through open folders (walk), and acts in the folder that this
// ended in (place). watch*.go tells of changes. trust*.go, permissions.go and
// logins.go are files of what the person decided, all on recordFile.
// memory_files.go reads instructions, and settings*.go the settings.
//
// # What must hold
//
//   - Nothing in a published snapshot changes. What is computed late (digests,
//     lines, whether a document is dirty) is computed once, of what the
//     snapshot holds.
//   - A name that was resolved is used through the open folder that it led to,
//     never again as a path, so that nobody can put a link in between (SEC-55).
//   - A write takes the place of exactly what was read, or fails: the digest is
//     compared right before the new file gets its name.
//   - Of a file of records that others could have written nothing counts, and
//     neither does anything of one that is not understood.
package workspace
