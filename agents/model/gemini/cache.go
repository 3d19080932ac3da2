package gemini

import (
	"bytes"
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/model"
)

// The limits of a cache, of all conversations together. What was used longest
// ago goes first; a conversation that is larger is encoded each time.
const (
	maxHistories = 128
	maxHistory   = 16 << 20 // bytes
	maxTails     = 32
	maxTail      = 4 << 20 // bytes
)

// cache has what recent requests were on the wire, so that the next request of
// a conversation encodes only what is new. Nothing in it belongs to a session:
// a piece is used for what it is the encoding of, found by comparing all of it,
// whoever asks. The zero value is an empty cache. It is safe for concurrent
// use.
//
// A request takes the history that its conversation begins with out of the cache, encodes
// the messages behind it, and puts it back. Another request with the same beginning that
// comes meanwhile does not find it, and encodes all of its own.
type cache struct {
	mu        sync.Mutex
	histories []*history // the one used last is the last
	tails     []*tail    // the one used last is the last
}

// history is a conversation and its wire form. It belongs to one goroutine between take
// and put, and to the cache else.
type history struct {
	signs bool // calls of others get a signature
	said  []said
	calls []known
	// wire only grows: requests that are being sent read what was there before.
	wire []byte
}

// said is a message, and how long wire and calls are after it.
type said struct {
	model.Message
	wire, calls int
}

// known is a call: what we and what the API name it. The API names its own calls or
// none; results must go back under its names.
type known struct{ ours, theirs, name string }

// contents returns the contents of a request without the last bracket. They
// must not be modified. With an error they end before the message that cannot be
// encoded.
func (c *cache) contents(messages []model.Message, e model.Entry) ([]byte, error) {
	h := c.take(messages, e.Thinking == model.Level)
	err := h.encode(messages[len(h.said):])
	// Not to be appended to: what comes after is of the next request.
	contents := slices.Clip(h.wire)
	c.put(h)
	return contents, err
}

// take returns a history that is the beginning of a conversation, all of it at
// best. The caller has it alone until it puts it back. signs tells the two forms apart
// in which calls of other models are written. The comparisons are made with the lock
// held: they cost next to nothing ([sameMessage]).
func (c *cache) take(messages []model.Message, signs bool) *history {
	c.mu.Lock()
	defer c.mu.Unlock()
	best, common := -1, 0
	for i, h := range c.histories {
		if h.signs != signs {
			continue
		}
		if n := h.common(messages); n > common {
			best, common = i, n
		}
	}
	if best < 0 {
		return &history{signs: signs}
	}
	h := c.histories[best]
	if common < len(h.said)-1 {
		// Another conversation that began alike.
		return h.cut(common)
	}
	c.histories = slices.Delete(c.histories, best, best+1)
	if common < len(h.said) {
		return h.cut(common) // its last message is another now
	}
	return h
}

// put keeps a history, which must not be used any more. Of two requests that took the
// same beginning, both are kept: they may go on differently.
func (c *cache) put(h *history) {
	if len(h.said) == 0 || h.size() > maxHistory {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.histories = dropOld(append(c.histories, h), maxHistory, maxHistories)
}

// dropOld returns the last of a list that are not more than so many, nor larger together.
// The newest are at the end of the list.
func dropOld[T interface{ size() int }](list []T, largest, most int) []T {
	size, n := 0, 0
	for _, one := range list {
		size += one.size()
	}
	for ; size > largest || len(list)-n > most; n++ {
		size -= list[n].size()
	}
	return slices.Delete(list, 0, n)
}

// common returns how many messages the two begin with in common. It stops at the first
// difference, so other conversations cost one comparison.
func (h *history) common(messages []model.Message) int {
	n := 0
	for n < len(h.said) && n < len(messages) && sameMessage(h.said[n].Message, messages[n]) {
		n++
	}
	return n
}

// cut returns a copy of the first n messages, with room for more.
func (h *history) cut(n int) *history {
	end := h.said[n-1]
	return &history{
		signs: h.signs, said: slices.Clone(h.said[:n]), calls: slices.Clone(h.calls[:end.calls]),
		wire: append(make([]byte, 0, end.wire+end.wire/4), h.wire[:end.wire]...),
	}
}

// size returns roughly what a history holds in memory, in bytes: its wire form,
// and as much again of texts that only it may refer to.
func (h *history) size() int { return cap(h.wire) + len(h.wire) + 512*len(h.said) }

// keep returns a copy of a message whose parts are its own, so that one who
// changes a part in place is seen to have changed it. Bytes and strings are shared: who
// changes those in place breaks the contract of [Client.Generate].
func keep(m model.Message) model.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		if p.Call != nil {
			m.Parts[i].Call = new(*p.Call)
		}
		if p.Result != nil {
			m.Parts[i].Result = new(*p.Result)
			m.Parts[i].Result.Media = slices.Clone(p.Result.Media)
		}
		if p.Media != nil {
			m.Parts[i].Media = new(*p.Media)
		}
	}
	return m
}

// sameMessage reports whether two messages are encoded the same. The comparisons are of all that is
// encoded. They cost next to nothing where texts and bytes are the same memory, as those of a
// conversation are.
func sameMessage(a, b model.Message) bool {
	return a.Role == b.Role && bytes.Equal(a.Raw, b.Raw) && slices.EqualFunc(a.Parts, b.Parts, samePart)
}

// samePart is sameMessage of a part.
func samePart(a, b model.Part) bool {
	return a.Text == b.Text && a.Thought == b.Thought && a.Subject == b.Subject && // a part of thoughts is none of text
		same(a.Call, b.Call, func(a, b *model.Call) bool {
			return a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Args, b.Args)
		}) &&
		same(a.Result, b.Result, func(a, b *model.Result) bool {
			return a.ID == b.ID && a.Name == b.Name && a.Content == b.Content && a.Error == b.Error &&
				slices.EqualFunc(a.Media, b.Media, sameMedia)
		}) &&
		same(a.Media, b.Media, func(a, b *model.Media) bool { return sameMedia(*a, *b) })
}

// sameMedia is sameMessage of data.
func sameMedia(a, b model.Media) bool {
	return a.MimeType == b.MimeType && bytes.Equal(a.Data, b.Data)
}

// same compares what two pointers point to; nil is like nil alone.
func same[T any](a, b *T, equal func(a, b *T) bool) bool {
	return (a == nil && b == nil) || (a != nil && b != nil && equal(a, b))
}

// tail is what a request is beside its contents. System instruction and tools are the
// larger part of a first request, and the same in each one after it.
type tail struct {
	// id is that of the model, and wire ends with the last brace of the request.
	id, system string
	tools      []model.Declaration
	options    model.Options
	entry      model.Entry // what the table said of the model, which settings may change
	wire       []byte
}

// tail returns what follows the contents of a request, if a request was like it
// in all but the messages, and its model too. It must not be modified.
func (c *cache) tail(req *model.Request, e model.Entry) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.tails, func(t *tail) bool { return t.is(req, e) })
	if i < 0 {
		return nil, false
	}
	t := c.tails[i]
	c.tails = append(slices.Delete(c.tails, i, i+1), t)
	return t.wire, true
}

// keepTail keeps what follows the contents of a request. wire must not be modified any
// more.
func (c *cache) keepTail(req *model.Request, e model.Entry, wire []byte) {
	t := &tail{req.Model, req.System, slices.Clone(req.Tools), keepOptions(req.Options), e, wire}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tails = dropOld(append(c.tails, t), maxTail, maxTails)
}

// size returns roughly what a tail holds in memory, in bytes.
func (t *tail) size() int { return 2*len(t.wire) + 512 }

// is reports whether a request is like that of the tail.
func (t *tail) is(req *model.Request, e model.Entry) bool {
	return t.id == req.Model && t.system == req.System && sameOptions(t.options, req.Options) && sameEntry(t.entry, e) &&
		slices.EqualFunc(t.tools, req.Tools, func(a, b model.Declaration) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
		})
}

// sameOptions compares all options that are encoded. A new one must be added here
// (TestCacheComparesAll).
func sameOptions(a, b model.Options) bool {
	return same(a.Temperature, b.Temperature, func(a, b *float64) bool { return *a == *b }) &&
		same(a.TopP, b.TopP, func(a, b *float64) bool { return *a == *b }) &&
		same(a.ThinkingBudget, b.ThinkingBudget, func(a, b *int) bool { return *a == *b }) &&
		a.ThinkingLevel == b.ThinkingLevel && a.MaxOutput == b.MaxOutput && a.Search == b.Search
}

// sameEntry compares what [configure] reads of an entry.
func sameEntry(a, b model.Entry) bool {
	return a.Sampling == b.Sampling && a.Thinking == b.Thinking && slices.Equal(a.Levels, b.Levels) &&
		a.MinBudget == b.MinBudget && a.MaxBudget == b.MaxBudget
}

// keepOptions copies what options point to.
func keepOptions(o model.Options) model.Options {
	if o.Temperature != nil {
		o.Temperature = new(*o.Temperature)
	}
	if o.TopP != nil {
		o.TopP = new(*o.TopP)
	}
	if o.ThinkingBudget != nil {
		o.ThinkingBudget = new(*o.ThinkingBudget)
	}
	return o
}
