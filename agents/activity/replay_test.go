package activity

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A log that begins with another's events has their lines, on stable storage, and
// goes on by itself; what is told of it is what the other one was told.
func TestLogThatBeginsWithAnother(t *testing.T) {
	for _, kept := range []bool{true, false} {
		m := newMemFS()
		cfg := Config{Session: "s", Now: clock}
		if kept {
			cfg = memConfig(m)
		}
		var was []Event
		cfg.Fold = func(e Event) { was = append(was, e) }
		from, _ := must(t, cfg)
		for _, b := range script(30) {
			from.Append(Origin{Run: "r", Agent: "a"}, b, 0)
		}
		const until = 20
		next := cfg
		next.Session, next.Title, next.Copy = "t", "T", &Copy{Of: from, Until: until}
		if kept {
			next.Path = "d/t.jsonl"
		}
		var folded []Event
		next.Fold = func(e Event) { folded = append(folded, e) }
		l, _ := must(t, next)
		if got, want := wires(t, l), wires(t, from)[:until]; !cmp.Equal(got, want) || l.Last() != until || l.Title() != "T" {
			t.Errorf("%d events: %s", l.Last(), cmp.Diff(want, got))
		}
		for i, e := range folded {
			if e.Seq != was[i].Seq || e.Seq > until || e.Body.Type() != was[i].Body.Type() || !e.Time.Equal(was[i].Time) {
				t.Errorf("told of %+v, was %+v", e, was[i])
			}
		}
		var again []Event
		if err := l.Replay(until, func(e Event) { again = append(again, e) }); err != nil || !cmp.Equal(again, folded) || len(again) == 0 {
			t.Errorf("%v: told again %d of %d", err, len(again), len(folded))
		}
		if kept {
			now, _, _ := m.state("d/s.jsonl")
			lines := bytes.SplitAfter([]byte(now), []byte("\n"))[1 : until+1]
			if _, safe, named := m.state("d/t.jsonl"); !named || !strings.HasSuffix(safe, string(bytes.Join(lines, nil))) {
				t.Errorf("on stable storage, by name %v:\n%s", named, safe)
			}
			after := m.crash(true, rand.New(rand.NewPCG(1, 1)))
			cut := memConfig(after)
			cut.Path, cut.Session = "d/t.jsonl", "t"
			found, recovery := must(t, cut)
			if found.Last() != until || recovery.Damaged() {
				t.Errorf("after a power cut %d events, %+v", found.Last(), recovery)
			}
		}
		if seq := l.Append(Origin{}, Note{Level: "info", Message: "on"}, 0); seq != until+1 || from.Last() != 30 {
			t.Errorf("goes on with %d", seq)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := from.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A log in memory that has let go of its beginning begins no other.
func TestLogWithoutItsBeginningBeginsNone(t *testing.T) {
	from, _ := must(t, Config{Session: "s", Now: clock})
	for range 40 {
		from.Append(Origin{}, Note{Level: "info", Message: strings.Repeat("x", 1<<20)}, 0)
	}
	if l, _, err := Open(Config{Session: "t", Now: clock, Copy: &Copy{Of: from, Until: 40}}); err == nil {
		t.Errorf("it has %d events", l.Last())
	}
	var names []string
	sha := strings.Repeat("ab", 32)
	from.Append(Origin{}, Note{Level: "info", Message: sha}, 0)
	if err := from.Names(func(name string) { names = append(names, name) }); err != nil || len(names) != 1 || names[0] != sha {
		t.Errorf("%v, %v", names, err)
	}
}
