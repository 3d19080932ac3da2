//go:build linux && !(amd64 || ppc64le)

package sandbox

// oldAttributeCalls are those of attributeCalls that only older kinds of processors
// have.
var oldAttributeCalls []uint32
