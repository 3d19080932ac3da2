//go:build !unix

package folder

// openFlags is empty where there are no pipes among files.
const openFlags = 0
