// Package layering holds the code to the plan of the module, as tests: which
// package stands on which floor, who may see whom and who alone may import a
// library, what may be called only in one place, and that what is exported says
// what it is.
//
// The plan is data at the top of each test. A rule that has exceptions lists
// them by file, each with its reason, and an exception that nobody needs any
// more fails the test as well.
//
// The tests read the source with go/parser, under every build tag at once, so a
// file for another system is held to the plan too. The package imports nothing
// of this module.
package layering
