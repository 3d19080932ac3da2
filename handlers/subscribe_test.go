package handlers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// kept is a session with what a function puts into its log, and handlers that
// serve it.
func kept(t *testing.T, fill func(*activity.Log)) (*Handlers, *activity.Log) {
	t.Helper()
	store := session.New(session.Config{Dir: t.TempDir(), Now: time.Now})
	s, err := store.Open("main")
	if err != nil {
		t.Fatal(err)
	}
	fill(s.Log)
	if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
		t.Fatal(err)
	}
	h := New(t.Context(), connect(t, nil).h.Peer, Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	h.setDaemon(&Daemon{Daemon: language.Daemon{Agents: agents.NewService(t.Context(), agents.Config{Sessions: store, Now: time.Now, Log: h.Log})}})
	t.Cleanup(func() {
		if err := h.daemon.Agents.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, s.Log
}

// pages returns all pages from an event up to another, each checked: of one size
// at most, joining the one before it.
func pages(t *testing.T, h *Handlers, log *activity.Log, from, until uint64) (events []wire.ActivityParams, count int) {
	t.Helper()
	for at := from; ; {
		page, err := h.page(log, "main", at, until)
		if err != nil {
			t.Fatal(err)
		}
		count++
		size := 0
		for _, e := range page.Events {
			first := e.FromSeq
			if first == 0 {
				first = e.Seq
			}
			if first != at || e.Seq < first || e.Seq > until {
				t.Fatalf("a page has %d–%d where %d is next, until %d", first, e.Seq, at, until)
			}
			at = e.Seq + 1
			size += len(e.Data)
		}
		if len(page.Events) > maxPage || (size > maxPageBytes && len(page.Events) > 1) || page.NextSeq < at || (page.More && len(page.Events) == 0) {
			t.Fatalf("a page of %d events, %d bytes, goes on from %d after %d, more: %v", len(page.Events), size, page.NextSeq, at-1, page.More)
		}
		events = append(events, page.Events...)
		if at = page.NextSeq; !page.More {
			if want := min(until, log.LastAnnounced()) + 1; at != max(want, from) {
				t.Fatalf("the last page goes on from %d, want %d", at, want)
			}
			return events, count
		}
	}
}

// TestPages: whatever types a client opted out of and wherever it begins, pages
// join, and have each event that it takes once, with its text.
func TestPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var types []string
	var text strings.Builder
	h, log := kept(t, func(log *activity.Log) {
		for i := range 3000 {
			o := activity.Origin{Run: fmt.Sprint("r", i/200), Agent: "a", Turn: i / 20}
			var b activity.Body = activity.ContentDelta{Text: fmt.Sprint(i, ";")}
			switch r.IntN(5) {
			case 0:
				b = activity.Note{Level: "info", Message: strings.Repeat("n", r.IntN(3000))}
			case 1:
				b = activity.ThoughtDelta{Text: "t"}
			case 2:
				b = activity.ToolState{Call: "c", State: activity.Executing}
			}
			if d, ok := b.(activity.ContentDelta); ok {
				text.WriteString(d.Text)
			}
			types = append(types, b.Type())
			log.Append(o, b, 0)
		}
	})
	for round, optOut := range [][]string{nil, {"note"}, {"content.delta", "thought.delta"}, {"note", "content.delta", "thought.delta", "tool.state"}} {
		h.caps.Activity = &wire.ActivityCapability{OptOut: optOut}
		for _, from := range []uint64{1, 2, 1500, 2999, 3000, 3001} {
			for _, until := range []uint64{math.MaxUint64, 3000, 2500, 1, 0} {
				events, _ := pages(t, h, log, from, until)
				got, want := 0, 0
				for i, name := range types {
					seq := uint64(i + 1)
					if seq >= from && seq <= until && !slices.Contains(optOut, name) && !strings.HasSuffix(name, ".delta") {
						want++
					}
				}
				said := ""
				for _, e := range events {
					if slices.Contains(optOut, e.Type) {
						t.Fatalf("round %d has a %s", round, e.Type)
					}
					if !strings.HasSuffix(e.Type, ".delta") {
						got++
					}
					if e.Type == "content.delta" {
						body, err := activity.Decode(e.Type, e.Data)
						if err != nil {
							t.Fatal(err)
						}
						said += body.(activity.ContentDelta).Text
					}
				}
				if got != want {
					t.Errorf("round %d, %d to %d: %d events, want %d", round, from, until, got, want)
				}
				if from == 1 && until >= 3000 && !slices.Contains(optOut, "content.delta") && said != text.String() {
					t.Errorf("round %d: the text is another one: %d bytes of %d", round, len(said), text.Len())
				}
			}
		}
	}
}

// TestPageSize: a page has 500 events and about a megabyte at most, but for an
// event that is larger by itself.
func TestPageSize(t *testing.T) {
	for _, c := range []struct{ events, size, pages int }{{500, 10, 1}, {501, 10, 2}, {1001, 10, 3}, {10, 300 << 10, 4}, {3, 2 << 20, 3}, {0, 0, 1}} {
		h, log := kept(t, func(log *activity.Log) {
			for range c.events {
				log.Append(activity.Origin{}, activity.Note{Message: strings.Repeat("x", c.size)}, 0)
			}
		})
		if events, n := pages(t, h, log, 1, math.MaxUint64); len(events) != c.events || n != c.pages {
			t.Errorf("%d events of %d bytes are %d on %d pages, want %d", c.events, c.size, len(events), n, c.pages)
		}
	}
}

// TestSubscribeErrors: who asks for what is not there is told so, and follows
// nothing.
func TestSubscribeErrors(t *testing.T) {
	h, _ := kept(t, func(log *activity.Log) { log.Append(activity.Origin{}, activity.Note{}, 0) })
	for p, want := range map[*wire.SubscribeParams]fault.Kind{
		{Session: "main", FromSeq: 3}: fault.Invalid,
		{Session: "nobody"}:           fault.NotFound,
	} {
		if _, err := h.subscribe(t.Context(), struct{}{}, p); fault.KindOf(err) != want {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if len(h.followers) > 0 {
		t.Errorf("followed: %v", h.followers)
	}
	// One after the last event is what comes next.
	answer, err := h.subscribe(t.Context(), struct{}{}, &wire.SubscribeParams{Session: "main", FromSeq: 2})
	if err != nil || len(h.followers) != 1 || answer.Then == nil || answer.Result.(*wire.SubscribeResult).NextSeq != 2 {
		t.Errorf("got %+v, %v", answer, err)
	}
	// Left before it began: it ends at once.
	answer.Then()
	if _, err := h.unsubscribe(t.Context(), struct{}{}, &wire.UnsubscribeParams{Session: "main"}); err != nil || len(h.followers) != 0 {
		t.Errorf("still followed: %v, %v", h.followers, err)
	}
	h.work.Wait()
}

// TestUnsubscribedWhileARunEnds: who leaves a session while the end of their own
// run is on its way is still told of it.
func TestUnsubscribedWhileARunEnds(t *testing.T) {
	h, _ := kept(t, func(log *activity.Log) {
		for _, b := range []activity.Body{activity.Note{Message: "one"}, activity.RunFinished{Reason: activity.Goal}} {
			log.Append(activity.Origin{Run: "r"}, b, 0)
		}
	})
	h.caps.Activity = &wire.ActivityCapability{}
	over, cancel := context.WithCancel(t.Context())
	cancel() // the follower, which asks here, cannot wait for its own end
	var left error
	h.daemon.Mask = func(event []byte) []byte {
		if bytes.Contains(event, []byte("run.finished")) {
			_, left = h.unsubscribe(over, struct{}{}, &wire.UnsubscribeParams{Session: "main"})
		}
		return event
	}
	f, err := h.follow(&agents.Live{Session: "main", ID: "r", First: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.reach(t.Context(), 2)
	if f.lastQueued() != 2 || left != nil {
		t.Errorf("told up to event %d of 2; left: %v", f.lastQueued(), left)
	}
	h.work.Wait() // nobody wants more
}

// BenchmarkPage is a page of a long session.
func BenchmarkPage(b *testing.B) {
	store := session.New(session.Config{Dir: b.TempDir(), Now: time.Now})
	s, err := store.Open("main")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 20_000 {
		s.Log.Append(activity.Origin{Run: "r", Turn: i}, activity.ToolState{Call: fmt.Sprint(i), Name: "read_file", State: activity.Executing}, 0)
	}
	if err := s.Log.Commit(b.Context(), s.Log.Last()); err != nil {
		b.Fatal(err)
	}
	h := &Handlers{}
	for i := 0; b.Loop(); i++ {
		if _, err := h.page(s.Log, "main", uint64(i%19_000)+1, math.MaxUint64); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}
