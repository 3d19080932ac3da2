package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

func identityOf(_ string, info fs.FileInfo) identity {
	data, is := info.Sys().(*syscall.Win32FileAttributeData)
	if !is {
		return identity{}
	}
	return identity{Born: time.Unix(0, data.CreationTime.Nanoseconds()).UTC()}
}
