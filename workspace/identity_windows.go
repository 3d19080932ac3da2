package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// identityOf knows the birth time alone here: the system tells no inode without opening the
// directory.
func identityOf(_ string, info fs.FileInfo) identity {
	data, is := info.Sys().(*syscall.Win32FileAttributeData)
	if !is {
		return identity{}
	}
	return identity{Born: time.Unix(0, data.CreationTime.Nanoseconds()).UTC()}
}
