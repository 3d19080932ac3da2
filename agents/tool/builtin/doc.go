// Package builtin has the tools that every agent can be given: reading,
// searching, editing, the shell, a list of steps, and asking a person (spec 4.1).
//
// Each tool is one file, beside the description that a model is given of it:
// read_file.go and read_file.md. What they need of the world they reach through
// [tool.Env].
//
// # Reading without a way out
//
// What a tool opens by itself (a folder, a file that it searches) it opens
// through an [os.Root] of the workspace folder, without waiting for pipes, so
// that a link that is put there between the check and the use leads nowhere
// (SEC-55, SEC-57).
//
// # Processes
//
// Only grep (ripgrep, in trusted folders) and bash start any, under the
// supervision of package process; when a call ends early all of it is gone
// within three seconds (REL-72).
package builtin
