// Package git is the one way in which the daemon runs git for itself.
//
// A repository is data of somebody else's, and git obeys it: its configuration
// names programs to run, its files name other places to read. So [Program.Open]
// refuses a repository that reaches out of its folder, and each [Repository.Run]
// says where the repository is, reads no configuration but the repository's own,
// and overrides each setting that would run a program (SEC-48, SEC-50, SEC-51).
// Filters cannot be switched off in general: those that the configuration names
// are made empty, so a caller that stores files looks at [Repository.Filters].
//
// It does not know about trust. Only a folder that the person trusts is opened.
//
// # Use
//
// The daemon finds one [Program] ([Find]). A project's repository is looked through and
// opened for each need ([Program.Open]); the daemon's own ([Program.Own]) are not.
// Every git is a process that ends within its time, with its group where the system has
// those, and none is left when Run returns. It never asks anybody: there is no
// terminal, editor or helper of passwords.
package git
