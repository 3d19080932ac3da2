package filelock

import "golang.org/x/sys/windows"

var unsupported = []error{windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_FUNCTION}
