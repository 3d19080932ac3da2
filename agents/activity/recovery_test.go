package activity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/internal/fault"
)

func clock() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 123e6, time.UTC) }

// inline runs the writer in place, so that the calls of the disk have one order.
func inline(f func()) { f() }

func memConfig(m *memFS) Config {
	return Config{Path: "d/s.jsonl", Session: "s", Workspace: "w", Version: "1", Now: clock, Files: m, start: inline}
}

// script is a session's events, in order.
func script(n int) []Body {
	var out []Body
	for i := range n {
		switch i % 7 {
		case 0:
			out = append(out, RunStarted{Input: []ContentBlock{{Type: "text", Text: fmt.Sprint("<b>ask & tell ", i, "\u2028 \xff</b>")}}, Mode: "chat"})
		case 3:
			out = append(out, ToolState{Call: fmt.Sprint("r#1-", i), Name: "bash", Args: []byte(`{"a": 1}`), State: Executing, Risk: "high"})
		case 5:
			out = append(out, ConfirmationAnswered{ID: fmt.Sprint(i), Outcome: "once", By: "user"})
		default:
			out = append(out, ContentDelta{Text: fmt.Sprint("delta ", i, "\n")})
		}
	}
	return out
}

// wires returns what a client would be sent of all that is announced.
func wires(t tester, l *Log) []string {
	t.Helper()
	var out []string
	entries, err := l.Read(0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, string(e.Wire("s", nil)))
	}
	return out
}

func must(t tester, cfg Config) (*Log, Recovery) {
	t.Helper()
	l, r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

// play opens a log, records what of the script it lacks and returns the highest
// number that was acknowledged, by Commit or by showing it to a reader.
func play(m *memFS, bodies []Body) (acked, shown uint64, err error) {
	l, _, err := Open(memConfig(m))
	if err != nil {
		return 0, 0, err
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i, b := range bodies[l.Last():] {
		seq := l.Append(Origin{Run: "r", Agent: "a"}, b, 0)
		if Synced(b) {
			if err := l.Commit(ctx, seq); err != nil {
				return acked, l.LastAnnounced(), err
			}
			acked = seq
		}
		if i == len(bodies)/2 {
			// Half-way the daemon is started anew.
			if err := l.Close(); err != nil {
				return acked, shown, err
			}
			a, s, err := play(m, bodies)
			return max(acked, a), s, err
		}
	}
	return acked, l.LastAnnounced(), l.Close()
}

// REL-93: whatever call of the disk is the last one, what was acknowledged is
// there, and the log is the beginning of what happened.
func TestREL93CrashAtEveryCall(t *testing.T) {
	bodies := script(24)
	whole := newMemFS()
	if _, _, err := play(whole, bodies); err != nil {
		t.Fatal(err)
	}
	l, _ := must(t, memConfig(whole))
	want := wires(t, l)
	if len(want) != len(bodies) {
		t.Fatalf("%d events, want %d", len(want), len(bodies))
	}
	plans := map[string]func() func(int, string, string) error{
		"healthy":     func() func(int, string, string) error { return nil },
		"sync fails":  func() func(int, string, string) error { return failing("sync", 3, 3, errIO) },
		"write fails": func() func(int, string, string) error { return failing("write", 6, 6, syscall.ENOSPC) },
	}
	crashes := 0
	for name, plan := range plans {
		for k := 1; ; k++ {
			var ended bool
			for seed := range uint64(8) {
				m := newMemFS()
				m.short = seed%2 == 0
				inner := plan()
				m.fault = func(op int, kind, file string) error {
					if op >= k {
						return errDead
					}
					if inner != nil {
						return inner(op, kind, file)
					}
					return nil
				}
				acked, shown, _ := play(m, bodies)
				if !m.dead {
					ended = true
					break
				}
				crashes++
				r := rand.New(rand.NewPCG(seed, uint64(k)))
				power := seed >= 2
				next := m.crash(power, r)
				l, found := must(t, memConfig(next))
				got := wires(t, l)
				if !slices.Equal(got, want[:min(len(got), len(want))]) {
					t.Fatalf("%s, call %d, seed %d: not a beginning of what happened:\n%s", name, k, seed, cmp.Diff(want[:min(len(got), len(want))], got))
				}
				if uint64(len(got)) < acked || (!power && uint64(len(got)) < shown) {
					t.Fatalf("%s, call %d, seed %d: %d events, of which %d were acknowledged and %d shown", name, k, seed, len(got), acked, shown)
				}
				if found.Damaged() {
					t.Fatalf("%s, call %d, seed %d: %+v", name, k, seed, found)
				}
				// The session goes on, and is whole in the end.
				if _, _, err := play(next, bodies); err != nil {
					t.Fatal(err)
				}
				l, _ = must(t, memConfig(next))
				if diff := cmp.Diff(want, wires(t, l)); diff != "" {
					t.Fatalf("%s, call %d, seed %d: after going on:\n%s", name, k, seed, diff)
				}
			}
			if ended {
				break
			}
		}
	}
	if crashes < 300 {
		t.Errorf("only %d crashes were tried", crashes)
	}
}

// saved returns a file system with a log of n events, and its lines (the first
// is the header).
func saved(t tester, n int) (*memFS, [][]byte) {
	t.Helper()
	m := newMemFS()
	l, _ := must(t, memConfig(m))
	for _, b := range script(n) {
		l.Append(Origin{Run: "r", Agent: "a", Turn: 1}, b, 0)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return m, bytes.SplitAfter(m.names["d/s.jsonl"].now, []byte("\n"))
}

// REL-94: the file cut at every byte of the last three records loses only what
// is not whole.
func TestREL94TornTailLosesNoWholeRecord(t *testing.T) {
	m, lines := saved(t, 12)
	data := m.names["d/s.jsonl"].now
	l, _ := must(t, memConfig(m))
	want := wires(t, l)
	from := len(data) - len(bytes.Join(lines[len(lines)-4:], nil))
	for cut := from; cut <= len(data); cut++ {
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: slices.Clone(data[:cut])}
		l, found := must(t, memConfig(m))
		whole := bytes.Count(data[:cut], []byte("\n")) - 1
		torn := int64(cut - bytes.LastIndexByte(data[:cut], '\n') - 1)
		if cut < len(data) && data[cut] == '\n' {
			whole, torn = whole+1, 0 // only the line feed is missing
		}
		if found.Cut != torn || found.Damaged() {
			t.Fatalf("cut at %d: %+v, want %d bytes cut", cut, found, torn)
		}
		if diff := cmp.Diff(want[:whole], wires(t, l)); diff != "" {
			t.Fatalf("cut at %d:\n%s", cut, diff)
		}
		if seq := l.Append(Origin{}, Note{Level: "info", Message: "on"}, 0); seq != uint64(whole+1) {
			t.Fatalf("cut at %d: goes on with %d, want %d", cut, seq, whole+1)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, found := must(t, memConfig(m)); found.Cut != 0 || found.Damaged() || int(l.Last()) != whole+1 {
			t.Fatalf("cut at %d, opened again: %+v, %d events", cut, found, l.Last())
		}
	}
}

// REL-95: a flipped bit or a page of zeros anywhere sets aside the lines that it
// hits, says which events are lost, and leaves all the others readable, without
// a gap in the numbers.
func TestREL95DamageIsSetAsideAndReported(t *testing.T) {
	m, lines := saved(t, 12)
	data := m.names["d/s.jsonl"].now
	l, _ := must(t, memConfig(m))
	want := wires(t, l)
	check := func(t *testing.T, what string, damaged []byte) {
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: damaged}
		l, found, err := Open(memConfig(m))
		if err != nil {
			if reason, _ := fault.ReasonOf(err); reason == fault.Config && bytes.Equal(m.names["d/s.jsonl"].now, damaged) {
				return // the header's format: refused and left as it is
			}
			t.Fatalf("%s: %v", what, err)
		}
		entries, err := l.Read(0, 1000)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		next := uint64(1)
		for _, e := range entries {
			if e.FromSeq != next {
				t.Fatalf("%s: a gap before %d", what, e.FromSeq)
			}
			next = e.Seq + 1
			lost := slices.ContainsFunc(found.Lost, func(s Span) bool { return s.From == e.FromSeq && s.To == e.Seq })
			got := string(e.Wire("s", nil))
			if !lost && (e.Seq > uint64(len(want)) || got != want[e.Seq-1]) {
				t.Fatalf("%s: event %d is %s, and not reported", what, e.Seq, got)
			}
			if lost && (e.Type != "note" || !strings.Contains(got, "s.bad")) {
				t.Fatalf("%s: lost event %d is shown as %s", what, e.Seq, got)
			}
		}
		gone := 0
		for _, s := range found.Lost {
			gone += int(s.To - s.From + 1)
		}
		// Of the last two lines one may hide the other's number.
		if left := int(next) - 1; left < len(want)-1 || (left < len(want) && found.Cut == 0 && found.Bad == 0) {
			t.Fatalf("%s: %d events are left, %+v", what, next-1, found)
		}
		if gone > 3 {
			t.Fatalf("%s: %d events lost, %+v", what, gone, found)
		}
		if bad := m.names["d/s.bad"]; found.Bad > 0 && (bad == nil || len(bad.now) == 0) {
			t.Fatalf("%s: nothing was set aside, %+v", what, found)
		}
		seq := l.Append(Origin{}, Note{Level: "info", Message: "on"}, 0)
		if err := l.Close(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if l, found := must(t, memConfig(m)); found.Damaged() || found.Cut > 0 || l.Last() != seq {
			t.Fatalf("%s: opened again: %+v, %d events, want %d", what, found, l.Last(), seq)
		}
	}
	whole := len(lines[0]) + len(lines[1]) // every bit of these, one of each other byte
	for i := range data {
		for bit := range 8 {
			if i >= whole && bit != i%8 {
				continue
			}
			damaged := slices.Clone(data)
			damaged[i] ^= 1 << bit
			check(t, fmt.Sprintf("bit %d of byte %d", bit, i), damaged)
		}
	}
	for i := 0; i < len(data)-100; i += 7 {
		damaged := slices.Clone(data)
		clear(damaged[i : i+100])
		check(t, fmt.Sprintf("zeros at %d", i), damaged)
	}
	for i := 1; i < len(lines)-2; i++ {
		check(t, fmt.Sprintf("line %d removed", i), bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
	}
}

// REL-95: a line that is there twice, or out of order, is set aside; nothing is
// lost by it.
func TestREL95RepeatedLinesLoseNothing(t *testing.T) {
	m, lines := saved(t, 8)
	l, _ := must(t, memConfig(m))
	want := wires(t, l)
	twice := slices.Insert(slices.Clone(lines), 6, lines[3])
	m = newMemFS()
	m.names["d/s.jsonl"] = &memData{now: bytes.Join(twice, nil)}
	l, found := must(t, memConfig(m))
	if found.Bad != 1 || len(found.Lost) != 0 {
		t.Errorf("%+v", found)
	}
	if diff := cmp.Diff(want, wires(t, l)); diff != "" {
		t.Error(diff)
	}
}

// REL-95: a line that reaches past where the next segment begins is set aside,
// and what the next segment has keeps its numbers.
func TestREL95LineThatReachesIntoTheNextSegment(t *testing.T) {
	const note = `"time":"2026-01-01T00:00:00.000Z","type":"note","data":{}`
	for _, c := range []struct {
		name  string
		one   []string // lines between event 1 and the end
		lost  []Span
		seen  []uint64
		twice bool // something is left in segment 1 that nobody reads
	}{
		{"at the end", []string{`{"seq":10,"fromSeq":2,`}, []Span{{2, 3}}, []uint64{1, 3, 4}, false},
		{"up to it", []string{`{"seq":4,"fromSeq":2,`}, []Span{{2, 3}}, []uint64{1, 3, 4}, false},
		{"before others", []string{`{"seq":10,"fromSeq":2,`, `{"seq":2,`, `{"seq":3,`}, nil, []uint64{1, 2, 3, 4}, false},
		{"after the last", []string{`{"seq":3,"fromSeq":2,`, `{"seq":10,"fromSeq":3,`}, nil, []uint64{1, 3, 4}, true},
	} {
		lines := []string{`{"seq":1,` + note}
		for _, l := range c.one {
			lines = append(lines, l+note)
		}
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: sealedLog(lines...)}
		m.names["d/s.2.jsonl"] = &memData{now: sealedLog(`{"seq":4,` + note)}
		l, found := must(t, memConfig(m))
		if diff := cmp.Diff(c.lost, found.Lost); diff != "" {
			t.Errorf("%s: lost %s", c.name, diff)
		}
		entries, err := l.Read(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		checkStream(t, entries, 0)
		var seen []uint64
		for _, e := range entries {
			seen = append(seen, e.Seq)
		}
		if diff := cmp.Diff(c.seen, seen); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if seq := l.Append(Origin{}, Note{Level: "info"}, 0); seq != 5 {
			t.Errorf("%s: goes on with %d", c.name, seq)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		reaches := `{"seq":10,`
		if c.name == "up to it" {
			reaches = `{"seq":4,`
		}
		if bad := m.names["d/s.bad"]; (!c.twice && (bad == nil || !bytes.Contains(bad.now, []byte(reaches)))) || (c.twice && !bytes.Contains(m.names["d/s.jsonl"].now, []byte(reaches))) {
			t.Errorf("%s: the line was not kept", c.name)
		}
		if l, found := must(t, memConfig(m)); found.Damaged() || found.Cut > 0 || l.Last() != 5 {
			t.Errorf("%s: opened again: %+v, %d events", c.name, found, l.Last())
		}
	}
}

// A log whose numbers are as high as a line may claim takes more events, which
// are read back, also from the next segment and around damage; a number that no
// log comes to is not believed.
func TestNumbersGoOnPastWhatIsBelieved(t *testing.T) {
	m := newMemFS()
	m.names["d/s.jsonl"] = &memData{now: sealedLog(fmt.Sprintf(`{"seq":%d,"fromSeq":1,"time":"t","type":"note","data":{}`, uint64(maxFound)))}
	for n := range 4 {
		l, found := must(t, memConfig(m))
		if want := uint64(maxFound + 3*n); found.Damaged() || found.Cut > 0 || l.Last() != want {
			t.Fatalf("opened %d times: %+v, last %d, want %d", n, found, l.Last(), want)
		}
		if n == 2 {
			m.mu.Lock()
			m.fault = failing("sync", 1, 1, errIO)
			m.mu.Unlock()
		}
		for range 3 {
			seq := l.Append(Origin{}, RunState{From: Running, To: Waiting}, 0)
			if err := l.Commit(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		m.mu.Lock()
		m.fault = nil
		m.mu.Unlock()
	}
	second := m.names["d/s.2.jsonl"]
	if second == nil {
		t.Fatal("no second segment")
	}
	// The second event of the next segment is damaged, and an absurd line follows.
	lines := bytes.SplitAfter(second.now, []byte("\n"))
	lines[2][20] ^= 1
	absurd := seal([]byte(`{"seq":9007199254740990,"type":"note","data":{}`), 0)
	second.now = append(bytes.Join(lines, nil), absurd...)
	l, found := must(t, memConfig(m))
	first := l.Last()
	lost := found.Lost
	if len(lost) != 2 || lost[0].From != lost[0].To || lost[1] != (Span{first, first}) || lost[0].From <= maxFound || found.Bad != 2 {
		t.Errorf("%+v, last %d", found, first)
	}
	if want := uint64(maxFound + 3*4 + 1); first != want {
		t.Errorf("last %d, want %d", first, want)
	}
	entries, err := l.Read(maxFound, 100)
	if err != nil {
		t.Fatal(err)
	}
	checkStream(t, entries, maxFound)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, found := must(t, memConfig(m)); found.Damaged() || l.Last() != first {
		t.Errorf("opened again: %+v, last %d", found, l.Last())
	}
}

// REL-97: after a failed sync the log goes on in a new segment, with all that
// was not known to be on disk, and the file that failed is not synced again
// (memFile panics if it is). What was acknowledged survives a power cut.
func TestREL97FailedSyncGoesOnInNewSegment(t *testing.T) {
	for n := 1; n <= 6; n++ {
		m := newMemFS()
		m.fault = failing("sync", n, n, errIO)
		bodies := script(40)
		l, _ := must(t, memConfig(m))
		for _, b := range bodies {
			seq := l.Append(Origin{Run: "r"}, b, 0)
			if err := l.Commit(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		}
		want := wires(t, l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if m.names["d/s.2.jsonl"] == nil {
			t.Fatalf("sync %d: no second segment", n)
		}
		m.mu.Lock()
		m.fault = nil
		m.mu.Unlock()
		after := m.crash(true, rand.New(rand.NewPCG(1, uint64(n))))
		l, found := must(t, memConfig(after))
		if diff := cmp.Diff(want, wires(t, l)); diff != "" || found.Damaged() {
			t.Errorf("sync %d: %+v\n%s", n, found, diff)
		}
		l.Close()
	}
}

// REL-35: a log of a newer format is refused with what to do, and not touched.
func TestREL35NewerFormatIsRefusedAndKept(t *testing.T) {
	m, lines := saved(t, 3)
	lines[0] = []byte(`{"format":2,"session":"s","workspace":"w","created":"2030-01-01T00:00:00.000Z","agentls":"9.1"}` + "\n")
	data := bytes.Join(lines, nil)
	m.names["d/s.jsonl"].now = data
	before := m.ops
	_, _, err := Open(memConfig(m))
	if reason, _ := fault.ReasonOf(err); fault.KindOf(err) != fault.Unavailable || reason != fault.Config || !strings.Contains(err.Error(), "9.1") {
		t.Errorf("got %v", err)
	}
	if m.ops != before || !bytes.Equal(m.names["d/s.jsonl"].now, data) {
		t.Error("the file was touched")
	}
}

// REL-106: types and members of a newer version are read, shown and kept as they are.
func TestREL106UnknownTypesAndMembersAreKept(t *testing.T) {
	m := newMemFS()
	head := `{"format":1,"session":"s","workspace":"w","created":"2026-01-01T00:00:00.000Z","agentls":"1","more":[1]}` + "\n"
	line := seal([]byte(`{"seq":1,"time":"2026-01-01T00:00:00.000Z","type":"graph.later","data":{"node":"n","x":[1,{"y":null}]},"color":{"a":"\u00e9"}`), 0)
	odd := seal([]byte(`{"seq":2,"time":"2026-01-01T00:00:00.000Z","type":"note","data":{"level":7}`), 0)
	m.names["d/s.jsonl"] = &memData{now: slices.Concat([]byte(head), line, odd)}
	cfg := memConfig(m)
	var folded []string
	cfg.Fold = func(e Event) { folded = append(folded, fmt.Sprintf("%d %T", e.Seq, e.Body)) }
	l, found := must(t, cfg)
	if found.Damaged() {
		t.Errorf("%+v", found)
	}
	want := []string{
		`{"session":"s","seq":1,"time":"2026-01-01T00:00:00.000Z","type":"graph.later","data":{"node":"n","x":[1,{"y":null}]},"color":{"a":"\u00e9"}}`,
		`{"session":"s","seq":2,"time":"2026-01-01T00:00:00.000Z","type":"note","data":{"level":7}}`,
	}
	if diff := cmp.Diff(want, wires(t, l)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 activity.Unknown", "2 activity.Unknown"}, folded); diff != "" {
		t.Error(diff)
	}
	l.Close()
	if !bytes.Contains(m.names["d/s.jsonl"].now, line) {
		t.Error("the line was changed")
	}
}

// REL-96: while the disk is full nothing is acknowledged or shown; the person is
// told once; nothing that was is cut; and all is there when there is room.
func TestREL96FullDisk(t *testing.T) {
	m := newMemFS()
	m.short = true
	full := false
	m.fault = func(_ int, kind, _ string) error {
		if full && kind == "write" {
			return syscall.ENOSPC
		}
		return nil
	}
	setFull := func(b bool) { m.mu.Lock(); defer m.mu.Unlock(); full = b }
	inBubble(t, func(t *testing.T) {
		cfg := memConfig(m)
		cfg.start = nil
		var told []error
		cfg.Health = func(err error) { told = append(told, err) }
		l, _ := must(t, cfg)
		seq := l.Append(Origin{Run: "r"}, RunStarted{}, 0)
		if err := l.Commit(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		setFull(true)
		old, _, _ := m.state("d/s.jsonl")
		for range 3 {
			seq = l.Append(Origin{Run: "r"}, RunState{From: Running, To: Waiting}, 0)
			if err := l.Commit(t.Context(), seq); !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Unavailable {
				t.Fatalf("acknowledged: %v", err)
			}
			time.Sleep(3 * time.Second)
		}
		if l.LastAnnounced() != 1 || l.Err() == nil || len(told) != 1 {
			t.Errorf("announced %d, error %v, told %d times", l.LastAnnounced(), l.Err(), len(told))
		}
		if now, _, _ := m.state("d/s.jsonl"); !strings.HasPrefix(now, old) {
			t.Error("an old file was cut")
		}
		l.GoUnsaved()
		if err := l.Commit(t.Context(), seq); err != nil || l.LastAnnounced() != 4 {
			t.Errorf("unsaved: %v, announced %d", err, l.LastAnnounced())
		}
		seq = l.Append(Origin{Run: "r"}, RunState{From: Waiting, To: Running}, 0)
		if err := l.Commit(t.Context(), seq); err != nil {
			t.Errorf("unsaved: %v", err)
		}
		setFull(false)
		if err := l.WaitWritable(t.Context()); err != nil {
			t.Error(err)
		}
		if len(told) != 2 || told[1] != nil {
			t.Errorf("told %v", told)
		}
		want := wires(t, l)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		after := m.crash(true, rand.New(rand.NewPCG(1, 1)))
		l, found := must(t, memConfig(after))
		if diff := cmp.Diff(want, wires(t, l)); diff != "" || found.Damaged() || len(want) != 5 {
			t.Errorf("%+v\n%s", found, diff)
		}
		l.Close()
	})
}
