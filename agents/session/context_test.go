package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// What the editor has comes before the request, quoted: whole the first time,
// then what changed, and whole again after a compression or a clearing (spec
// 3.6).
func TestEditorContext(t *testing.T) {
	store := New(Config{Now: clock})
	defer store.Close()
	s := open(t, store, "x")
	o := activity.Origin{Run: "r", Agent: "a"}
	told := func(c *activity.EditorContext) string {
		t.Helper()
		s.Log.Append(o, activity.RunStarted{Input: text("do it"), Context: c}, 0)
		s.Log.Append(o, activity.ModelContent{Content: []model.Part{{Text: "done"}}}, 0)
		got := s.Context("a")
		parts := got[len(got)-2].Parts
		if last := parts[len(parts)-1].Text; last != "do it" {
			t.Errorf("the request is %q", last)
		}
		if len(parts) > 2 {
			t.Errorf("%d parts", len(parts))
		}
		if len(parts) == 1 {
			return ""
		}
		return parts[0].Text
	}
	at := func(line, from, end uint32) *definition.Range {
		return &definition.Range{Start: definition.Position{Line: line, Character: from}, End: definition.Position{Line: end}}
	}
	full := activity.EditorContext{
		URI: "file:///w/src/app.ts", Selection: at(8, 2, 11), Text: "if (a) {\n\tb()\r\n> c\n", Cursor: &definition.Position{Line: 11},
		Diagnostics: json.RawMessage(`[{"range":{"start":{"line":9,"character":1},"end":{"line":9,"character":2}},"severity":1,"message":"b is\nnot defined"}]`),
		Open:        []string{"file:///w/src/app.ts", "untitled:1"},
	}
	whole := "In the person's editor now:\n> file: /w/src/app.ts\n> selection, lines 9-11:\n>  9 | if (a) {\n> 10 | \tb()\n> 11 | > c\n> cursor: line 12, column 1\n" +
		"> Diagnostics of /w/src/app.ts:\n> - line 10, column 2: error: b is\n> not defined\n> open documents:\n> - /w/src/app.ts\n> - untitled:1\n"
	changed := "In the person's editor, changed since you were last told:\n"
	step := func(name, want string, c *activity.EditorContext) {
		t.Helper()
		if got := told(c); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	step("the first time", whole, &full)
	step("nothing changed", "", &full)
	step("nothing came along", "", nil)
	next := full
	next.Cursor = &definition.Position{Line: 3, Character: 4}
	step("the cursor moved", changed+"> cursor: line 4, column 5\n", &next)
	next.Selection, next.Text = at(4, 4, 4), ""
	next.Selection.End.Character = 4
	step("the selection is gone", changed+"> nothing is selected any more\n", &next)
	next.Diagnostics = json.RawMessage(`[]`)
	next.Open = nil
	step("all is mended", changed+"> no diagnostics there any more\n> no other documents are open\n", &next)
	next.URI, next.Text, next.Selection = "file:///w/b.go", "x", nil
	step("another file", changed+"> file: /w/b.go\n> selection:\n> 1 | x\n> cursor: line 4, column 5\n", &next)
	step("no file", changed+"> no file is shown\n> no diagnostics there any more\n"[:len("> no file is shown\n")], &activity.EditorContext{})
	step("back", changed+whole[strings.Index(whole, "> file"):], &full)

	s.Log.Append(o, activity.ContextCompressed{Agent: "a", Status: compression.Compressed, Cut: 2, Snapshot: "S", After: 5}, 0)
	step("after a compression", whole, &full)
	s.Log.Append(o, activity.ContextCompressed{Agent: "a", Status: compression.Inflated}, 0)
	step("after one that failed", "", &full)
	s.Log.Append(o, activity.RunFinished{}, 0)
	if _, err := s.Clear("a", false); err != nil {
		t.Fatal(err)
	}
	step("after clearing", whole, &full)

	long := activity.EditorContext{Text: strings.Repeat(strings.Repeat("x", 5_000)+"\n", 30)}
	for i := range 80 {
		long.Open = append(long.Open, fmt.Sprint("file:///w/", i))
	}
	got := told(&long)
	if len(got) > 30_000 || !strings.Contains(got, "26 more lines are selected") || !strings.Contains(got, "- and 30 more") {
		t.Errorf("%d characters of %.300s", len(got), got)
	}
}

// What a context counts: the provider's word for what it has answered, an
// estimate for the rest.
func TestREL69Tokens(t *testing.T) {
	store := New(Config{Now: clock})
	defer store.Close()
	s := open(t, store, "x")
	o := activity.Origin{Run: "r", Agent: "a"}
	say := func(bodies ...activity.Body) {
		for _, b := range bodies {
			s.Log.Append(o, b, 0)
		}
	}
	counts := func(in, out, thought int) activity.ModelFinished {
		return activity.ModelFinished{Usage: model.Usage{InputTokens: in, OutputTokens: out, ThoughtTokens: thought, TotalTokens: in + out + thought}}
	}
	words := activity.ModelContent{Content: []model.Part{{Text: strings.Repeat("word", 10)}}}
	check := func(name string, want int, estimated bool) {
		t.Helper()
		if n, e := s.Tokens("a"); n != want || e != estimated {
			t.Errorf("%s: %d, %v; want %d, %v", name, n, e, want, estimated)
		}
	}
	check("nothing", 0, true)
	say(activity.RunStarted{Input: text(strings.Repeat("word", 20))})
	check("a question", 20, true)
	say(counts(1_000, 50, 30), words)
	check("an answer", 1_080, false)
	say(counts(100_000, 100, 0)) // a compressor's: no answer of the agent follows
	check("another model's answer", 1_080, false)
	say(counts(2_000, 1, 0), activity.ModelContent{Content: words.Content, Invalid: true})
	check("an invalid answer", 1_080, false)
	say(activity.Input{Input: text(strings.Repeat("word", 5))})
	check("input that waits", 1_080, false)
	say(activity.TurnStarted{Turn: 2})
	check("and was taken", 1_085, true)
	say(counts(0, 0, 0), words)
	check("REL-69: an answer without a count", 1_095, true)
	say(counts(5_000_000_000, 1, 1), words, counts(-5, 1, 1), words)
	// Each answer after an answer is asked for with a few words.
	check("REL-69: counts that cannot be", 1_115+2*model.EstimateTokens(GoOn), true)
	say(counts(3_000, 10, 0), calls("1"))
	check("counted anew", 3_010, false)
	say(ended("1", strings.Repeat("word", 100)))
	check("a result", 3_010+100+1, true)
	say(activity.ContextCompressed{Agent: "a", Status: compression.Unreadable, Before: 1, After: 1})
	check("a compression that failed", 3_111, true)
	if !s.CompressionFailed("a") || s.CompressionFailed("b") {
		t.Error("the failure is not known")
	}
	say(counts(9, 9, 9), activity.ContextCompressed{Agent: "a", Status: compression.Compressed, Before: 3_111, After: 700, Cut: 1, Snapshot: "S"})
	check("a compression", 700, true)
	if s.CompressionFailed("a") {
		t.Error("the failure is not forgotten")
	}
	say(words)
	check("the compressor's count is not the answer's", 710+0, true)
	say(counts(800, 10, 0), words)
	check("counted again", 810, false)
	say(activity.ContextCompressed{Agent: "a", Status: compression.Inflated}, activity.RunFinished{})
	if _, err := s.Clear("a", false); err != nil {
		t.Fatal(err)
	}
	check("cleared", 0, true)
	if s.CompressionFailed("a") {
		t.Error("clearing does not forget the failure")
	}
	s = open(t, store, "y")
	search := counts(5, 1, 0)
	search.Purpose = "search"
	say(activity.RunStarted{Input: text(strings.Repeat("word", 20))}, search, words)
	check("a hook's answer after a search", 30, true)
}

// A compression that was computed from a context gives the context that was
// computed.
func TestCompressedContextIsTheOneThatWasMeant(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	defer store.Close()
	s := open(t, store, "x")
	for i := range 6 {
		o := activity.Origin{Run: fmt.Sprint(i), Agent: "a"}
		s.Log.Append(o, activity.RunStarted{Input: text("read it again")}, 0)
		id := fmt.Sprint(i, "#1-0")
		s.Log.Append(o, activity.ModelContent{Content: []model.Part{{Call: &model.Call{ID: id, Name: "read_file", Args: json.RawMessage(`{"file_path": "a.go"}`)}}}}, 0)
		result := &activity.ToolResult{Content: strings.Repeat("line\n", 1_000*i)}
		if err := s.Spill(result); err != nil {
			t.Fatal(err)
		}
		s.Log.Append(o, activity.ToolState{Call: id, Name: "read_file", State: activity.Success, Result: result}, 0)
		s.Log.Append(o, activity.ModelContent{Content: []model.Part{{Text: "done"}}}, 0)
		s.Log.Append(o, activity.RunFinished{}, 0)
	}
	before := s.Context("a")
	r, err := compression.Compress(t.Context(), before, compression.Config{Target: compression.Tokens(before) / 2})
	if err != nil || r.Status != compression.Compressed || len(r.Reduced) != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	s.Log.Append(activity.Origin{Agent: "a"}, activity.ContextCompressed{Agent: "a", Status: r.Status, After: r.After, Reduced: r.Reduced}, 0)
	if diff := cmp.Diff(compression.Apply(before, r.Cut, r.Snapshot, r.Reduced), s.Context("a")); diff != "" {
		t.Error(diff)
	}
}

// Images of a result come back from their blobs, and what is lost is named.
func TestMediaOfResults(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	defer store.Close()
	s := open(t, store, "x")
	kept, err := s.PutBlob([]byte("png"))
	if err != nil {
		t.Fatal(err)
	}
	lost, err := s.PutBlob([]byte("gif"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "blobs", lost)); err != nil {
		t.Fatal(err)
	}
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	s.Log.Append(o, calls("1"), 0)
	s.Log.Append(o, activity.ToolState{Call: "1", State: activity.Success, Result: &activity.ToolResult{Content: "two images", Media: []model.Media{
		{MimeType: "image/png", Blob: kept, Data: []byte("png")}, {MimeType: "image/gif", Blob: lost}}}}, 0)
	for range 2 { // what is read is not kept in the view
		got := s.Context("a")[2].Parts[0].Result
		want := &model.Result{ID: "1", Name: "ls", Content: "two images\n[data of the type image/gif was lost: " + lost + "]",
			Media: []model.Media{{MimeType: "image/png", Blob: kept, Data: []byte("png")}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// A long result lies once, beside the log, and everybody gets it whole.
func TestLongResultsLieBesideTheLog(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	long := "start" + strings.Repeat("\nmore \xff", maxInline/5)
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	for i, content := range []string{long, long, long[:maxInline]} {
		id := fmt.Sprint(i)
		r := &activity.ToolResult{Content: content, Bytes: len(content)}
		if err := s.Spill(r); err != nil {
			t.Fatal(err)
		}
		if (r.Content == "") != (len(content) > maxInline) || (r.Blob != "") != (len(content) > maxInline) {
			t.Errorf("%d: %d characters, blob %q", i, len(r.Content), r.Blob)
		}
		s.Log.Append(o, calls(id), 0)
		s.Log.Append(o, activity.ToolState{Call: id, Name: "ls", State: activity.Success, Result: r}, 0)
	}
	cut := &activity.ToolResult{Content: long, Blob: strings.Repeat("ab", 32)}
	if err := s.Spill(cut); err != nil || cut.Content != long {
		t.Errorf("a result that was cut: %v, %d characters", err, len(cut.Content))
	}
	check := func(s *Session) {
		t.Helper()
		messages := s.Context("a")
		entries, err := read(t, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{valid(long), valid(long), valid(long[:maxInline])} {
			if got := messages[2+2*i].Parts[0].Result.Content; got != want {
				t.Errorf("the model gets %d characters of %d", len(got), len(want))
			}
			event, err := entries[2+2*i].Event("x")
			if err != nil {
				t.Fatal(err)
			}
			if got := event.Body.(activity.ToolState).Result.Content; got != want {
				t.Errorf("a client gets %d characters of %d", len(got), len(want))
			}
		}
	}
	check(s)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	blobs, err := os.ReadDir(filepath.Join(dir, "blobs"))
	if err != nil || len(blobs) != 1 {
		t.Errorf("%d blobs, %v", len(blobs), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "x.jsonl")); err != nil || info.Size() > 3*maxInline {
		t.Errorf("the log: %+v, %v", info, err)
	}
	store = New(Config{Dir: dir, Now: clock})
	s = open(t, store, "x")
	check(s)
	store.Close()
}

// What must not be recorded is in no file, whatever it came with; a checkpoint's
// content is the person's own (spec 7.2).
func TestMaskedInEveryFile(t *testing.T) {
	const key = "swordfish"
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock, Mask: func(data []byte) []byte { return bytes.ReplaceAll(data, []byte(key), []byte("[masked:KEY]")) }})
	s, err := store.New("about "+key, "")
	if err != nil {
		t.Fatal(err)
	}
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("use " + key)}, 0)
	long := &activity.ToolResult{Content: key + strings.Repeat(" long", maxInline)}
	if err := s.Spill(long); err != nil {
		t.Fatal(err)
	}
	whole, err := s.PutText([]byte("all of it: " + key))
	if err != nil {
		t.Fatal(err)
	}
	s.Log.Append(o, calls("1", "2"), 0)
	s.Log.Append(o, activity.ToolState{Call: "1", State: activity.Success, Result: long}, 0)
	s.Log.Append(o, activity.ToolState{Call: "2", State: activity.Success, Result: &activity.ToolResult{Content: "cut " + key, Blob: whole}}, 0)
	f, err := store.Fork(t.Context(), s, s.Log.Last())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Session{s, f} {
		if got := fmt.Sprint(says(s.Context("a"))); strings.Contains(got, key) || strings.Count(got, "[masked:KEY]") != 3 {
			t.Errorf("the model is told %.200s", got)
		}
	}
	if found := below(t, dir, key); len(found) != 0 {
		t.Errorf("in %v", found)
	}
	before, err := s.PutBlob([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := s.GetBlob(before); err != nil || string(data) != key {
		t.Errorf("a file's content is %q, %v", data, err)
	}
	store.Close()
}

// Clearing begins a context anew; while a run goes on it is refused.
func TestClear(t *testing.T) {
	store := New(Config{Now: clock})
	defer store.Close()
	s := open(t, store, "x")
	if seq, err := s.Clear("a", true); seq != 0 || err != nil {
		t.Errorf("an agent that never ran: %d, %v", seq, err)
	}
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	s.Log.Append(activity.Origin{Run: "s", Agent: "b"}, activity.RunStarted{Input: text("ho")}, 0)
	_, err := s.Clear("a", false)
	if reason, data := fault.ReasonOf(err); reason != fault.Busy || data["run"] != "r" {
		t.Errorf("got %v", err)
	}
	s.Log.Append(o, activity.RunFinished{}, 0)
	seq, err := s.Clear("a", false)
	if err != nil || seq != s.Log.Last() || len(s.Context("a")) != 0 || len(s.Context("b")) != 1 {
		t.Errorf("%d, %v", seq, err)
	}
	if started, last := s.ActiveAt("a"); !started.IsZero() || !last.IsZero() {
		t.Errorf("active from %v to %v", started, last)
	}
	if again, err := s.Clear("a", false); again != 0 || err != nil {
		t.Errorf("cleared again: %d, %v", again, err)
	}
	if s.Info().Title != "hi" {
		t.Error("the title went without a purge")
	}
}

// below returns the files below a folder that hold a text.
func below(t *testing.T, dir, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A purge takes an agent's words from every file, blobs that nobody else has
// and the title; the rest of the session, and of others, is as it was. What a
// crash left, the next opening takes.
func TestPurgeErases(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			dir := t.TempDir()
			now := clock()
			cfg := Config{Dir: dir, Now: func() time.Time { now = now.Add(time.Second); return now }}
			store := New(cfg)
			const secret = "swordfish"
			secrets, shared := secret+strings.Repeat(" own", maxInline), secret+strings.Repeat(" shared", maxInline)
			say := func(s *Session, agent, words string, contents ...string) {
				o := activity.Origin{Run: s.ID + agent + words[:2], Agent: agent}
				s.Log.Append(o, activity.RunStarted{Input: text(words), Model: "m"}, 0)
				for i, content := range contents {
					r := &activity.ToolResult{Content: content, Bytes: len(content)}
					if err := s.Spill(r); err != nil {
						t.Fatal(err)
					}
					s.Log.Append(o, calls(fmt.Sprint(agent, i)), 0)
					s.Log.Append(o, activity.ToolState{Call: fmt.Sprint(agent, i), State: activity.Success, Result: r}, 0)
				}
				s.Log.Append(o, activity.ModelFinished{Usage: model.Usage{InputTokens: 7}}, 0)
				s.Log.Append(o, activity.RunFinished{Reason: activity.Goal, Text: words}, 0)
			}
			other := open(t, store, "other")
			say(other, "b", "of another", shared)
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			s := open(t, store, "x")
			say(s, "a", secret, secrets, shared)
			say(s, "b", "of b")
			if err := s.Close(); err != nil { // keeps the title beside the log
				t.Fatal(err)
			}
			s = open(t, store, "x")
			want := s.Context("b")
			if s.Info().Title != secret {
				t.Fatalf("title %q", s.Info().Title)
			}
			var seq uint64
			if crash {
				// As if it ended before a file was replaced.
				seq = s.Log.Append(activity.Origin{Agent: "a"}, activity.ContextCleared{Agent: "a", Purged: true}, 0)
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				store = New(cfg)
				s = open(t, store, "x")
			} else {
				var err error
				if seq, err = s.Clear("a", true); err != nil {
					t.Fatal(err)
				}
			}
			if found := below(t, dir, secret); len(found) != 1 || !strings.HasPrefix(found[0], "blobs") {
				t.Errorf("still in %v", found)
			}
			check := func(s *Session, runs int) {
				t.Helper()
				info := s.Info()
				if info.Title != "of b" || info.Runs != runs || info.Usage.InputTokens != 7*runs || info.State != Idle {
					t.Errorf("info %+v", info)
				}
				if diff := cmp.Diff(want, s.Context("b")); diff != "" || len(s.Context("a")) != 0 {
					t.Error(diff)
				}
				entries, err := read(t, s, 0)
				if err != nil || uint64(len(entries)) < seq || entries[0].Type != "run.started" || !strings.Contains(string(entries[0].Wire("x", nil)), `"model":"m"`) {
					t.Errorf("%d events, %v", len(entries), err)
				}
			}
			check(s, 2)
			say(s, "a", "anew")
			if got := says(s.Context("a")); len(got) != 1 || got[0] != "user: anew" {
				t.Errorf("context %q", got)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = New(cfg)
			s = open(t, store, "x")
			if got := says(s.Context("a")); len(got) != 1 || got[0] != "user: anew" {
				t.Errorf("loaded context %q", got)
			}
			// Purged again, only what came since is erased.
			if _, err := s.Clear("a", true); err != nil {
				t.Fatal(err)
			}
			check(s, 3)
			other = open(t, store, "other")
			if got := other.Context("b")[2].Parts[0].Result.Content; got != shared {
				t.Errorf("another session lost %.20q", got)
			}
			store.Close()
		})
	}
}
