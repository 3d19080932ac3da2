//go:build !linux

package main

// next waits until something is typed, and takes it if a question is open then.
func (t *terminal) next(buf []byte) {
	n, err := t.in.Read(buf)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.take(buf[:n], err != nil)
}
