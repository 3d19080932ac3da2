// Package snapshot knows what a command did to the files of a workspace folder
// (spec 3.7).
//
// Before and after the command a git of the daemon's own looks at the folder. Its
// repository lies in the daemon's folder; the project's own .git is not touched,
// and only its list of tracked files is read. What is ignored (.gitignore, also of
// the folders above in the same repository, and .geminiignore), files over 10 MiB
// and repositories inside of the folder are left out; what the project tracks
// counts although it is ignored. Links are links. Of modes there is the
// executable bit; empty folders are not seen.
//
// What changed is told once, to the first of several commands that ends after it
// happened. Who writes files meanwhile says so ([Store.Wrote]), so that it is not
// told as a command's; what a person does meanwhile is.
//
// # The order of calls
//
// The daemon has one [Store]. [Store.Available] says beforehand whether a command can
// be undone; [Store.Begin] opens a [Window] before it, and [Window.End] tells what
// changed. A window that no daemon ended is told by [Store.Recover] when its run is
// taken up. Each look takes the folder's lock, which other daemons respect too, so
// looks at one folder are one after the other.
//
// # Why a reference is kept
//
// Git's collector removes what nothing refers to. While a window is open, a file in
// refs/pending has the tree from which on changes are not told yet: so the contents
// survive, and a later daemon knows where to begin.
package snapshot
