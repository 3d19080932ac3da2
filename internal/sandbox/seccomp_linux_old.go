//go:build linux && (amd64 || ppc64le)

package sandbox

import "golang.org/x/sys/unix"

// oldAttributeCalls are those of attributeCalls that only older kinds of processors
// have.
var oldAttributeCalls = []uint32{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}
