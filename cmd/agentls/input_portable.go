//go:build !linux

package main

// next waits until something is typed, and takes it if somebody wants it then.
func (t *terminal) next(buf []byte) {
	n, err := t.in.Read(buf)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.take(buf[:n], err != nil)
}

// drain takes nothing: a read that waits takes whole lines as soon as they are
// typed.
func (t *terminal) drain() {}
