// Package command takes a shell command apart without running it.
//
// What decides about a command is the access that it asks for, and the wall that
// keeps it to that (spec 4.2, 4.5). The text itself is parsed, by the grammar of
// bash, for three ends only:
//
//   - names: what the rules of the settings that deny commands go by;
//   - disasters: a short list of commands that are refused with any access;
//   - display: what runs, taken apart, so that a person can decide.
//
// Besides, [Analysis.Keep] says what an answer that holds for longer is about.
//
// The package models no program's own grammar but for the words of that short
// list. It does not find a program that another one is told to run by an option
// (git -c core.pager=…), by a script in a file, or by code in another language.
// It decides nothing: package guard does. It starts nothing, and of the file
// system reads only where a link leads that is run by its path.
//
// [Analyze] is the only way in, and one [Analysis] all that comes out; it belongs to
// the caller, and calls may run at the same time. Whatever is not certain makes it
// stricter: Unclear is set and rules that deny commands refuse, and a disaster may be seen
// where there is none. Keep goes by its own rule: it may be set for a command that is
// Unclear, since an answer about exact words holds for these words. The reading is
// bounded in bytes, statements, depth and words, since a model may write anything: what
// passes a bound is Unclear.
package command
