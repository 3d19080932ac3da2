//go:build !unix

package folder

// openFlags is empty where there are no pipes among files.
const openFlags = 0

// noFollow is empty where an open cannot be kept from following a link.
const noFollow = 0
