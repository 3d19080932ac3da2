package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/model"
)

// drawMessage draws a message, of results of the calls in it, of calls, or of
// anything.
func drawMessage(t *rapid.T, results []model.Part) model.Message {
	text := rapid.SampledFrom([]string{"", "a", "b <&>\u2028", "\xff", strings.Repeat("long ", 50)})
	media := func() *model.Media {
		return &model.Media{MimeType: "image/png", Data: rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "data")}
	}
	if len(results) > 0 && rapid.IntRange(0, 3).Draw(t, "answered") > 0 {
		return model.Message{Role: model.User, Parts: slices.Clone(results)}
	}
	m := model.Message{Role: rapid.SampledFrom([]model.Role{model.User, model.Reply}).Draw(t, "role")}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		id := rapid.SampledFrom([]string{"c1", "c2", "c3"})
		var p model.Part
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			p.Text = text.Draw(t, "text")
		case 1:
			p.Thought, p.Subject = text.Draw(t, "thought"), text.Draw(t, "subject")
		case 2, 3:
			p.Call = &model.Call{ID: id.Draw(t, "id"), Name: "f", Args: json.RawMessage(rapid.SampledFrom([]string{"", "{}", `{"a":"<"}`, "{"}).Draw(t, "args"))}
		case 4:
			p.Result = &model.Result{ID: id.Draw(t, "id"), Name: "g", Content: text.Draw(t, "content"), Error: rapid.Bool().Draw(t, "error")}
			for range rapid.IntRange(0, 2).Draw(t, "media") {
				p.Result.Media = append(p.Result.Media, *media())
			}
		case 5:
			p.Media = media()
		}
		m.Parts = append(m.Parts, p)
	}
	if m.Role == model.Reply {
		m.Raw = json.RawMessage(rapid.SampledFrom([]string{"", `[1]`, `{"role":"model","parts":[{"text":"raw"}]}`,
			`{"role":"model","parts":[{"functionCall":{"name":"f","id":"p1"}},{"functionCall":{"name":"h"}}]}`}).Draw(t, "raw"))
	}
	return m
}

// resultsOf answers the calls of a message.
func resultsOf(m model.Message) []model.Part {
	var parts []model.Part
	for _, p := range m.Parts {
		if p.Call != nil {
			parts = append(parts, model.Part{Result: &model.Result{ID: p.Call.ID, Name: p.Call.Name, Content: "r"}})
		}
	}
	return parts
}

func TestCachedContentsAreWhatIsEncodedAnew(t *testing.T) {
	levels := []model.Entry{{Thinking: model.Level}, {Thinking: model.Budget}}
	rapid.Check(t, func(t *rapid.T) {
		var shared cache
		conversations := [][]model.Message{nil, nil}
		type sent struct{ contents, copy []byte }
		var earlier []sent
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				messages := rapid.SampledFrom(conversations).Draw(t, "who")
				e := rapid.SampledFrom(levels).Draw(t, "entry")
				got, gotErr := shared.contents(messages, e)
				want, wantErr := new(cache).contents(messages, e)
				if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || (gotErr == nil && !bytes.Equal(got, want)) {
					t.Fatalf("cached:\n%s %v\nanew:\n%s %v", got, gotErr, want, wantErr)
				}
				if gotErr == nil && !json.Valid(append(bytes.Clone(got), ']')) {
					t.Fatalf("%s is not JSON", got)
				}
				earlier = append(earlier, sent{got, bytes.Clone(got)})
				for _, s := range earlier {
					if !bytes.Equal(s.contents, s.copy) {
						t.Fatalf("what was sent before changed from\n%s to\n%s", s.copy, s.contents)
					}
				}
			},
			"go on": func(t *rapid.T) {
				c := &conversations[rapid.IntRange(0, len(conversations)-1).Draw(t, "who")]
				var results []model.Part
				if n := len(*c); n > 0 {
					results = resultsOf((*c)[n-1])
				}
				*c = append(*c, drawMessage(t, results))
			},
			"change": func(t *rapid.T) {
				c := conversations[rapid.IntRange(0, len(conversations)-1).Draw(t, "who")]
				if len(c) > 0 {
					c[rapid.IntRange(0, len(c)-1).Draw(t, "at")] = drawMessage(t, nil)
				}
			},
			"change in place": func(t *rapid.T) {
				c := conversations[rapid.IntRange(0, len(conversations)-1).Draw(t, "who")]
				if len(c) == 0 {
					return
				}
				m := &c[rapid.IntRange(0, len(c)-1).Draw(t, "at")]
				for i := range m.Parts {
					switch p := &m.Parts[i]; {
					case p.Call != nil:
						p.Call.ID, p.Call.Name = "c9", "other"
					case p.Result != nil:
						p.Result.Content, p.Result.Error = "other", !p.Result.Error
						for j := range p.Result.Media {
							p.Result.Media[j].MimeType = "application/pdf"
						}
					case p.Media != nil:
						p.Media.Data = []byte("other")
					default:
						p.Text = "other"
					}
				}
			},
			"the last grows": func(t *rapid.T) {
				c := conversations[rapid.IntRange(0, len(conversations)-1).Draw(t, "who")]
				if n := len(c); n > 0 {
					c[n-1].Parts = append(c[n-1].Parts, model.Part{Text: "and"})
				}
			},
			"shrink": func(t *rapid.T) {
				c := &conversations[rapid.IntRange(0, len(conversations)-1).Draw(t, "who")]
				*c = (*c)[:rapid.IntRange(0, len(*c)).Draw(t, "to")]
			},
			"compress": func(t *rapid.T) {
				c := &conversations[rapid.IntRange(0, len(conversations)-1).Draw(t, "who")]
				from := rapid.IntRange(0, len(*c)).Draw(t, "from")
				*c = append([]model.Message{drawMessage(t, nil)}, (*c)[from:]...)
			},
			"fork": func(t *rapid.T) {
				if len(conversations) < 5 {
					conversations = append(conversations, slices.Clone(rapid.SampledFrom(conversations).Draw(t, "of")))
				}
			},
		})
	})
}

// talk is a conversation of n turns with a call each; who is in all of its texts
// but for the first message.
func talk(who string, n int) []model.Message {
	messages := []model.Message{{Role: model.User, Parts: []model.Part{{Text: "Do it."}}}}
	for i := range n {
		id := fmt.Sprintf("%s#%d-0", who, i)
		messages = append(messages,
			model.Message{Role: model.Reply, Parts: []model.Part{{Call: &model.Call{ID: id, Name: "read_file", Args: json.RawMessage(`{"path":"f.txt"}`)}}},
				Raw: json.RawMessage(fmt.Sprintf(`{"role":"model","parts":[{"functionCall":{"name":"read_file","args":{"path":"f.txt"},"id":"%s-%d"},"thoughtSignature":"c2ln"}]}`, who, i))},
			model.Message{Role: model.User, Parts: []model.Part{{Result: &model.Result{ID: id, Name: "read_file", Content: who + strings.Repeat(" line of text\n", 20)}}}})
	}
	return messages
}

func TestCacheOfManyAtOnce(t *testing.T) {
	var shared cache
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			who := fmt.Sprintf("run%d", i/2) // two say the same
			all := talk(who, 20)
			for n := 1; n <= len(all); n++ {
				got, err := shared.contents(all[:n], model.Entry{})
				want, _ := new(cache).contents(all[:n], model.Entry{})
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s, %d messages: %v\n%s\nwant\n%s", who, n, err, got, want)
					return
				}
			}
		})
	}
	work.Wait()
}

func TestCacheEncodesWhatIsNew(t *testing.T) {
	var c cache
	all := talk("r", 50)
	first, err := c.contents(all[:99], model.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(10, func() {
		if again, _ := c.contents(all[:99], model.Entry{}); &again[0] != &first[0] {
			t.Error("the same conversation was encoded again")
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	// Only the last message differs: the rest is copied, and the old form goes.
	other := slices.Clone(all[:99])
	other[98].Parts = append(slices.Clip(other[98].Parts), model.Part{Text: "Stop."})
	if _, err := c.contents(other, model.Entry{}); err != nil || len(c.histories) != 1 {
		t.Errorf("%d conversations, %v", len(c.histories), err)
	}
	// Another that began alike does not take it away.
	if _, err := c.contents(talk("s", 3), model.Entry{}); err != nil || len(c.histories) != 2 {
		t.Errorf("%d conversations, %v", len(c.histories), err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c cache
	held := func() (n int) {
		for _, h := range c.histories {
			n += h.size()
		}
		return n
	}
	big := strings.Repeat("x", maxHistory/9)
	for i := range 40 {
		messages := []model.Message{{Role: model.User, Parts: []model.Part{{Text: fmt.Sprint(i)}, {Text: big}}}}
		if _, err := c.contents(messages, model.Entry{}); err != nil {
			t.Fatal(err)
		}
		if n := held(); n > maxHistory || len(c.histories) == 0 {
			t.Fatalf("%d conversations, %d bytes", len(c.histories), n)
		}
	}
	if _, err := c.contents([]model.Message{{Role: model.User, Parts: []model.Part{{Text: strings.Repeat("x", maxHistory)}}}}, model.Entry{}); err != nil || held() > maxHistory {
		t.Errorf("%d bytes, %v", held(), err)
	}
	for i := range 2 * maxHistories {
		_, _ = c.contents([]model.Message{{Role: model.User, Parts: []model.Part{{Text: fmt.Sprint("t", i)}}}}, model.Entry{})
	}
	if len(c.histories) != maxHistories {
		t.Errorf("%d conversations", len(c.histories))
	}
	for i := range 2 * maxTails {
		c.keepTail(&model.Request{System: fmt.Sprint(i)}, model.Entry{}, make([]byte, maxTail/20))
	}
	if n := len(c.tails); n == 0 || n*maxTail/10 > maxTail {
		t.Errorf("%d tails", n)
	}
	if _, ok := c.tail(&model.Request{System: "0"}, model.Entry{}); ok {
		t.Error("the oldest tail is there")
	}
}

func TestCachedTailIsOfTheSameRequest(t *testing.T) {
	half, one := 0.5, 1.0
	few, many := 10, 20
	base := func() *model.Request {
		return &model.Request{Model: "m", System: "s", Tools: []model.Declaration{{Name: "f", Description: "d", Parameters: json.RawMessage(`{}`)}},
			Options: model.Options{Temperature: &half, TopP: &half, ThinkingBudget: &few, ThinkingLevel: "low", MaxOutput: 1}}
	}
	entry := model.Entry{Thinking: model.Budget, Levels: []string{"low"}, MinBudget: 1, MaxBudget: 2, Sampling: true}
	var c cache
	c.keepTail(base(), entry, []byte("tail"))
	if got, ok := c.tail(base(), entry); !ok || string(got) != "tail" {
		t.Errorf("%q, %v", got, ok)
	}
	for name, change := range map[string]func(*model.Request){
		"model":       func(r *model.Request) { r.Model = "n" },
		"system":      func(r *model.Request) { r.System = "" },
		"no tools":    func(r *model.Request) { r.Tools = nil },
		"name":        func(r *model.Request) { r.Tools[0].Name = "g" },
		"description": func(r *model.Request) { r.Tools[0].Description = "" },
		"parameters":  func(r *model.Request) { r.Tools[0].Parameters = json.RawMessage(`{"a":1}`) },
		"temperature": func(r *model.Request) { r.Options.Temperature = &one },
		"top-p":       func(r *model.Request) { r.Options.TopP = nil },
		"budget":      func(r *model.Request) { r.Options.ThinkingBudget = &many },
		"level":       func(r *model.Request) { r.Options.ThinkingLevel = "" },
		"output":      func(r *model.Request) { r.Options.MaxOutput = 2 },
	} {
		r := base()
		change(r)
		if _, ok := c.tail(r, entry); ok {
			t.Errorf("%s: another request's tail", name)
		}
	}
	for name, change := range map[string]func(*model.Entry){
		"thinking":   func(e *model.Entry) { e.Thinking = model.Level },
		"levels":     func(e *model.Entry) { e.Levels = nil },
		"min budget": func(e *model.Entry) { e.MinBudget = 0 },
		"max budget": func(e *model.Entry) { e.MaxBudget = 3 },
		"sampling":   func(e *model.Entry) { e.Sampling = false },
	} {
		e := entry
		change(&e)
		if _, ok := c.tail(base(), e); ok {
			t.Errorf("%s: the tail of what the table said before", name)
		}
	}
	half = 1
	if _, ok := c.tail(base(), entry); ok {
		t.Error("a tail of what an option was")
	}
}

// TestCacheComparesAll fails when the model's types get a field: cache.go must
// then compare and keep it, if it is sent.
func TestCacheComparesAll(t *testing.T) {
	for v, want := range map[any]string{
		model.Part{}.Media:     "MimeType Blob Data",
		new(model.Part):        "Text Thought Subject Call Result Media",
		new(model.Call):        "ID Name Args",
		new(model.Result):      "ID Name Content Error Blob Media",
		new(model.Message):     "Role Parts Raw",
		new(model.Declaration): "Name Description Parameters",
		new(model.Options):     "Temperature TopP ThinkingBudget ThinkingLevel MaxOutput Search",
		new(model.Request):     "Model System Messages Tools Options Asker",
	} {
		var names []string
		for f := range reflect.TypeOf(v).Elem().Fields() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%T has the fields %s", v, got)
		}
	}
}

// BenchmarkContents encodes each request of a conversation of n turns: with
// what the one before had encoded, and without.
func BenchmarkContents(b *testing.B) {
	for _, n := range []int{10, 90, 200} {
		all := talk("r", n)
		for name, keeps := range map[string]bool{"anew": false, "cached": true} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var c cache
					for i := 1; i <= len(all); i += 2 {
						if !keeps {
							c = cache{}
						}
						if _, err := c.contents(all[:i], model.Entry{}); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*(n+1)), "us/turn")
			})
		}
	}
}
