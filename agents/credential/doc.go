// Package credential reads the values of a workspace's credential files, so that
// they can be taken out of what commands print (SEC-38).
//
// The files are those that [tool.Survey] lists, also where a rule hides them, as they
// are on disk and, in a folder that the person trusts, as the commit HEAD of its git
// repository has them. Commits
// before that one, other repositories inside of the folder, and repositories that our
// own git refuses (package git) are not read. What a rule of the person's lets agents
// read is not secret to them.
package credential
