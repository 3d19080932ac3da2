package mcp

import (
	"strings"
	"sync"
)

// maxStderr is how much is kept of what a server prints, in bytes.
const maxStderr = 64 << 10

// ring keeps the end of what is written to it. It is safe for concurrent use.
// The zero ring is ready for use. It grows to twice [maxStderr] before it drops the older half.
type ring struct {
	mu   sync.Mutex
	data []byte
}

// Write implements [io.Writer]; it never fails.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.data = append(r.data, p[max(0, len(p)-maxStderr):]...)
	// Cut at twice the size, so that not each write moves all of it.
	if len(r.data) > 2*maxStderr {
		r.data = append(r.data[:0], r.data[len(r.data)-maxStderr:]...)
	}
	return len(p), nil
}

// last returns the last n lines.
// The caller owns them; nil where nothing was written. The first may be the end of a longer line.
func (r *ring) last(n int) []string {
	r.mu.Lock()
	text := strings.ToValidUTF8(string(r.data[max(0, len(r.data)-maxStderr):]), "\uFFFD")
	r.mu.Unlock()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if lines[0] == "" && len(lines) == 1 {
		return nil
	}
	return lines[max(0, len(lines)-n):]
}
