// Package credential reads the values of a workspace's credential files, so that
// they can be taken out of what commands print (SEC-38).
//
// The files are those that [tool.Survey] lists, also where a rule hides them, as they
// are on disk and, in a folder that the person trusts, as the commit HEAD of its git
// repository has them. Commits
// before that one, other repositories inside of the folder, and repositories that our
// own git refuses (package git) are not read. What a rule of the person's lets agents
// read is not secret to them.
//
// [Reader] is for a daemon and keeps what it read: of a file on disk until its size or
// time changes, of a commit until HEAD is another one. [Reader.Masker] is asked before
// each command runs whose output a model gets, so it must be quick where nothing
// changed: then it costs one look at each file.
package credential
