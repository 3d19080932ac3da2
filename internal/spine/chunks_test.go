package spine_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestChunks: an answer of 20,000 chunks, from the model's socket over the log
// to the client, is whole and in order everywhere.
func TestChunks(t *testing.T) {
	leaks(t)
	const n = 20_000
	w := newWorld(t, "<repeat 20000 w{} and more\\n\n")
	want := words(n, "w%d and more\n")
	h, e := w.open()
	r := e.finish(e.start("", "go"))
	if r.Text != want {
		t.Errorf("the result has %d bytes, want %d", len(r.Text), len(want))
	}
	told := e.Seen().Events
	if got := heard(told, ""); got != want {
		t.Errorf("the client had %d bytes, want %d", len(got), len(want))
	}
	if err := e.Close(); err != nil { // the ranges join, or it is an error
		t.Error(err)
	}
	h.wait()
	log := mustLog(t, w.log("main"))
	if got := joined(log); got != want {
		t.Errorf("the log has %d bytes of text, want %d", len(got), len(want))
	}
	if err := check(told, log); err != nil {
		t.Error(err)
	}
	if last := told[len(told)-1]; last.Seq != uint64(len(log)) {
		t.Errorf("the client had all up to %d, the log ends with %d", last.Seq, len(log))
	}
	t.Logf("%d chunks were %d events in the log and %d messages", n, len(log), len(told))
}

// TestREL41HundredStreams: a hundred sessions stream at once to one client. Each is whole
// and in order.
func TestREL41HundredStreams(t *testing.T) {
	leaks(t)
	w := newWorld(t, hundred(200))
	h, e := w.open()
	var ends [100]<-chan ended
	for i := range ends {
		ends[i] = e.start(fmt.Sprintf("s%02d", i), fmt.Sprintf("stream %02d.", i))
	}
	for i := range ends {
		e.finish(ends[i])
	}
	told := e.Seen().Events
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	h.wait()
	for i := range ends {
		session := fmt.Sprintf("s%02d", i)
		want := words(200, fmt.Sprintf("s%02d-%%d and more\n", i))
		if got := heard(told, session); got != want {
			t.Errorf("the client had %d bytes of %s, want %d", len(got), session, len(want))
		}
		log := mustLog(t, w.log(session))
		if got := joined(log); got != want {
			t.Errorf("the log of %s has %d bytes of text, want %d", session, len(got), len(want))
		}
	}
	if failed := w.model.Failures(); len(failed) > 0 {
		t.Error(failed)
	}
}

// hundred is a script that streams n chunks to each of a hundred sessions.
func hundred(n int) string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "# when input contains stream %02d.\n<repeat %d s%02d-{} and more\\n\n\n", i, n, i)
	}
	return b.String()
}
