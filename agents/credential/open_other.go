//go:build !unix

package credential

// openFlags is empty where there are no pipes among files.
const openFlags = 0
