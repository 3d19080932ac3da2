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
