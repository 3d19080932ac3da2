//go:build !unix

package handlers

// openFlags is empty where there are no pipes among files.
const openFlags = 0
