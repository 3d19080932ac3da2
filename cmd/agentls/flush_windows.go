package main

import "golang.org/x/sys/windows"

// flushInput drops what was typed at a console and not read yet. On anything
// else it does nothing.
func flushInput(fd int) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(fd)) // no console: nobody typed
}
