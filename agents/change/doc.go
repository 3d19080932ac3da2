// Package change says what was done to a file, piece by piece, and takes pieces
// back (spec 2.2, 3.7).
//
// A text is nil where there is no file. Three texts of one file matter: the
// baseline, which the person had or has accepted; what the agent made of it; and
// what the file is now, which the person may have edited since. The difference of
// the first two is a list of hunks. [Of] lists them, [Keep] moves some of them
// into the baseline, [Undo] takes some of them out of the file without touching
// what the person did, and [Rebase] moves what the person did into the baseline,
// so that it is never taken for the agent's.
//
// The functions are pure. They work line by line, and never lose a byte: line
// ends are parts of lines, and a last line without one is another line than the
// same with one. A file that appears or goes away, and one that is not text, is
// one hunk.
//
// # What holds
//
// The ids of hunks do not change when others are kept or undone ([Of]); hunks are
// independent of each other ([diff]): keeping one and undoing another come to the same
// in either order. Where a difference is larger than maxEdits lines that is not
// promised. TestLaws holds all of it.
package change
