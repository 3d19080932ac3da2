//go:build !unix

package builtin

// openFlags is empty where there are no pipes among files.
const openFlags = 0
