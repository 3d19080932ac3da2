package daemon

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestUnchanged: only what can be read from the file again is given back.
func TestUnchanged(t *testing.T) {
	const smaps = `00400000-01a2e000 r-xp 00000000 fe:01 1234                   /opt/a b/agentls
Size:              22712 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
01a2e000-02a2e000 r--p 0162e000 fe:01 1234                   /opt/a b/agentls
Anonymous:             4 kB
Swap:                  0 kB
02a2e000-02b2e000 rw-p 0262e000 fe:01 1234                   /opt/a b/agentls
Anonymous:             0 kB
Swap:                  0 kB
02b2e000-02c2e000 r--p 0272e000 fe:01 1234                   /opt/a b/agentls
Anonymous:             0 kB
Swap:                  0 kB
c000000000-c000400000 rw-p 00000000 00:00 0 
Anonymous:             0 kB
Swap:                  0 kB
02c2e000-02c2f000 r--p 0282e000 fe:01 1234                   /opt/a b/agentls
Anonymous:             0 kB
Swap:                  4 kB
7f0000000000-7f0000001000 r--p 00000000 fe:01 99             /usr/lib/agentls
Anonymous:             0 kB
Swap:                  0 kB
`
	want := []mapping{{0x400000, 0x1a2e000}, {0x2b2e000, 0x2c2e000}}
	if got := cleanMappings(strings.NewReader(smaps), "/opt/a b/agentls"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestUnmapBinary: what the start alone needed is not in memory afterwards, and
// what is used is there again.
func TestUnmapBinary(t *testing.T) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	before := resident(t, exe)
	unmapBinary()
	if after := resident(t, exe); before == 0 || after >= before {
		t.Errorf("%d KiB of the binary are in memory, %d before", after, before)
	}
}

// resident returns how much of a file is mapped and in memory, in KiB.
func resident(t *testing.T, file string) (sum int) {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	ours := false
	for line := range strings.Lines(string(smaps)) {
		switch fields := strings.Fields(line); {
		case strings.Contains(fields[0], "-"):
			ours = strings.HasSuffix(line, " "+file+"\n")
		case ours && fields[0] == "Rss:":
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
