// Package command says what a shell command would do, without doing it.
//
// A command is parsed by the grammar of bash, never matched as text (spec 4.2,
// 11.1 "Shell"). Each simple command in it (in pipelines, lists, substitutions,
// subshells, here-documents, behind wrappers) is classified, and the strictest
// decides. What is not provably harmless asks; what cannot be analysed says so.
//
// # The auto table
//
// [Analyze] finds a command safe only if it consists of literal words, its
// programs are in a small table, each flag is in that program's list of allowed
// flags, and each path lies inside the workspace and holds no credentials. Such
// a command is run from [Analysis.Steps], the parsed arguments, and never by a
// shell: a difference between this parser and bash cannot be used.
//
// # What it is not
//
// The package decides nothing: package guard does. It starts nothing, and reads
// of the file system only what paths lead to.
package command
