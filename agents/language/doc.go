// Package language answers what an editor asks about agent files (spec 2.9, 1.8)
// and about lines that call an agent in any document (spec 2.10).
//
// # The one idea
//
// Every answer is a function of a [File], which is one text, and of a [World],
// which is what was known when the question came. Nothing is read, written,
// waited for or kept, so that the same question has the same answer, and who
// asks decides what is newest: the open buffer or the disk.
//
// # Bad input
//
// A File may hold any bytes. What is being typed has broken YAML most of the
// time, so that completion goes by lines where there is no tree. No answer
// panics, and every range is inside the file.
//
// # Places
//
// Positions count from 0 and in UTF-16 code units, as [definition.Position]
// has them; the package knows no wire. Answers are in the order of the text,
// unless they say otherwise.
//
// # Cost
//
// Answers take time linear in the text and in the number of agents, at most; the
// benchmarks ask them of a thousand agents.
//
// A File and a World may be used by several goroutines at once.
//
// # Names of agents
//
// A name means the agent that World.lookup finds for the folder and the scope of the file
// in which it stands. Sources.files yields the files that may have it: the open ones, and
// those of the disk that the index [Names] has, which notes too many rather than too few.
// The func namings finds the places in one of them, by its tree and its prompt. References
// and renames are made from these same places, so that a rename changes what references
// show. A new place where a file may name agents has a case in both namingKey and namings.
//
// # To add a question
//
// Write a func of a World, a File and what the editor names, in a file of its own, and a
// func in handlers/language that puts its answer into the words of LSP. What it has to
// know beside the file is a field of World or [Sources], of which the zero value means
// that nothing is known. FuzzAnswers and TestAnswersAnywhere ask questions of broken
// files; their func ask has to know the new one.
//
// # Files
//
// language.go has what questions are asked of. Each question has a file: complete.go,
// values.go and placeholders.go (what may be typed), hover.go and describe.go, diagnose.go
// and validate.go, references.go, rename.go and named.go (agents by their names), nodes.go
// (nodes of a graph), structure.go (outline and folding), tokens.go, hints.go, links.go,
// colors.go, format.go, create.go and example.go; inline.go, inline_answer.go and
// inline_around.go are for lines of other documents. cursor.go says where a cursor is,
// names.go and namings.go where agents are named, locator.go turns offsets into positions.
package language
