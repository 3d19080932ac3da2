// Package faults is what goes wrong, for tests: a file system that fails or
// loses its power at a call that the test chooses, connections that break, stall
// or come in pieces at a byte that it chooses (spec 12: FS and FE), and mistakes
// in the source. And it judges what came of it.
//
// # Files
//
// A [Disk] is an [activity.Files]. It counts the calls that change what it
// holds ([Call]), asks a [Fault] before each of them, and knows what is on
// stable storage: the content that was synced, and the names whose folder was.
// [Memory] makes one of nothing; [Folder] one over real files, for code that
// also lists or locks them.
//
// A script that is to be proved against every crash is run once to count its
// calls, and then once for each of them:
//
//	for k := 1; ; k++ {
//		d := faults.Memory(t)
//		d.Fail(faults.EndAt(k))
//		play(d)
//		if !d.Ended() {
//			break // it has fewer calls
//		}
//		recovered(d.Kill())   // the process died: all that was written is there
//		recovered(d.Cut(nil)) // the power went: only what was synced is
//		recovered(d.Cut(rng)) // … and by chance some of the rest
//	}
//
// The pessimism is that of POSIX, not of one file system: a file's name is safe
// when its folder was synced, a file whose sync failed never gets what it was
// given since the last success, and what follows a synced beginning may come
// back cut, or as zeros.
//
// # Connections
//
// [Break] puts a [Way] into each direction of a connection. It takes any
// [io.ReadWriteCloser] and gives one back; [BreakConn] does so for a [net.Conn].
//
// # Mistakes
//
// A [Patch] changes lines of the source wherever they are now, as an overlay that
// the go command lays over it: for tests that must fail then, and for builds that
// must be found out.
//
// # The judge
//
// [Missing] holds what a client was told to what [ReadLog] finds in a log's file.
// Both know the log's form from the specification, and not from the code that
// they judge.
//
// The package is imported by tests, and by the tools of the daemon, only. Everything in it may be used from any
// goroutine.
package faults
