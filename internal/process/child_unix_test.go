//go:build unix

package process

import (
	"bytes"
	"testing"
	"time"
)

// TestREL71WhatWasWrittenIsRead: what a command wrote before it ended is read although the
// machine was too busy to read it in time, and who still holds the pipe is not waited for.
func TestREL71WhatWasWrittenIsRead(t *testing.T) {
	var o outputs
	var got bytes.Buffer
	pipe, err := o.pipe(&got)
	if err != nil {
		t.Fatal(err)
	}
	defer o.closeTheirs()
	written := bytes.Repeat([]byte("0123456789"), 6_000) // a pipe has room for 64 KiB
	if _, err := pipe.Write(written); err != nil {
		t.Fatal(err)
	}
	if err := o.ours[0].SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	o.copy()
	o.copying.Wait()
	o.finish()
	if !bytes.Equal(got.Bytes(), written) {
		t.Errorf("%d bytes of %d", got.Len(), len(written))
	}
}
