//go:build !linux && !darwin && !windows

package workspace

import "io/fs"

func identityOf(_ string, info fs.FileInfo) identity { return identity{Inode: inode(info)} }
