package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapBinary unmaps the pages of the binary that have been used so far, most of
// them by the start alone: hundreds of packages initialize, and the kernel maps 16
// pages for each that is touched. They stay in the kernel's cache and are mapped
// again, without the disk, when they are used.
func unmapBinary() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = smaps.Close() }() // it was read only
	for _, m := range cleanMappings(smaps, exe) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start,
			unix.MADV_DONTNEED) // it saves memory or does not
	}
}

// mapping is a part of the address space.
type mapping struct{ start, end uintptr }

// cleanMappings returns where a file is mapped and can be read again: not where the
// process may write, nor where the loader did (relocations), which would be lost.
func cleanMappings(smaps io.Reader, file string) (found []mapping) {
	var at mapping
	ours, clean := false, false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Bytes()
		if size, ok := bytes.CutPrefix(line, []byte("Anonymous:")); ok {
			clean = string(bytes.TrimSpace(size)) == "0 kB"
			continue
		}
		if size, ok := bytes.CutPrefix(line, []byte("Swap:")); ok { // behind Anonymous, which does not count it
			if ours && clean && string(bytes.TrimSpace(size)) == "0 kB" {
				found = append(found, at)
			}
			continue
		}
		// Lines with a size belong to the mapping. Those without come behind Swap, when
		// it is judged already, or begin the next.
		if ours = ours && bytes.Contains(line, []byte(" kB")); ours || !bytes.HasSuffix(line, []byte(" "+file)) {
			continue
		}
		var rights string
		_, err := fmt.Sscanf(string(line), "%x-%x %s", &at.start, &at.end, &rights)
		ours = err == nil && !strings.Contains(rights, "w")
	}
	return found
}
