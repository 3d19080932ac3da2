// Package scenario plays whole sessions: a person in an editor, a model that
// follows a script, and what is seen. The stories are in testdata, one a file;
// docs/testing.md says how to write one.
package scenario
