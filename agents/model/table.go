package model

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed models.json
var builtin string

// Entry is what the table knows of a model. Ids are data: no code names one.
//
// The JSON form is a row of models.json and of the setting model.table. An
// Entry is a value, but its slices are shared with the table and must not be
// modified. The zero Entry is a model of which nothing is known: no window, no
// price, no thinking.
type Entry struct {
	// ID is the provider's name of the model. In a row for all models that the
	// table does not name it ends in "*".
	ID      string   `json:"id"`
	Aliases []string `json:"aliases,omitempty"`
	// Window is how many tokens a request may have; MaxOutput, an answer.
	Window    int `json:"window"`
	MaxOutput int `json:"maxOutput"`
	// Prices by size of the request, smallest first; none = not known.
	Prices []Price `json:"prices,omitempty"`
	// Thinking is how the model is told to think; Levels, MinBudget and
	// MaxBudget are what it takes. MinBudget applies to a budget that is asked
	// for: it is 0 for a model that can be told not to think.
	Thinking  Thinking `json:"thinking,omitempty"`
	Levels    []string `json:"levels,omitempty"`
	MinBudget int      `json:"minBudget,omitempty"`
	MaxBudget int      `json:"maxBudget,omitempty"`
	// Sampling is whether the model takes a temperature and a top-p.
	Sampling bool `json:"sampling"`
	// Retired is the day (2006-01-02) from which the model does not answer any
	// more and Successor, an id or an alias, runs in its place.
	Retired   string `json:"retired,omitempty"`
	Successor string `json:"successor,omitempty"`
	// Checked is the day on which the row was compared with the provider's
	// pages; Note, what a reader of the row should know.
	Checked string `json:"checked,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Price is what tokens cost, in USD for a million of them.
type Price struct {
	UpTo int `json:"upTo,omitempty"` // for requests of at most so many input tokens; 0 = any
	// Of what was sent and was not cached.
	Input  float64 `json:"input"`
	Output float64 `json:"output"`           // thoughts too
	Cached float64 `json:"cached,omitempty"` // 0 = as Input
}

// Thinking is how a model is told how much to think.
type Thinking string

// The ways to tell. The empty one: the model does not think.
const (
	Budget Thinking = "budget" // a number of tokens
	Level  Thinking = "level"  // minimal, low, medium or high
)

// A Table says what is known of models. It is safe for concurrent use and costs
// nothing until it is first asked.
type Table struct {
	now func() time.Time

	mu    sync.Mutex
	extra []Entry
	rows  []Entry // those that came later first; never changed; nil: not read yet
	err   error   // of the rows in the binary: a bug that a test finds
}

// NewTable returns the table in the binary. Now says which models are retired;
// nil counts none as retired. Entries of extra (the setting model.table) come
// before those in the binary: one with the id of another replaces it, and an
// alias leads to the first that has it.
func NewTable(now func() time.Time, extra ...Entry) *Table {
	return &Table{now: now, extra: slices.Clone(extra)}
}

// Set replaces the entries that were added to the table: a person's settings
// are others than before. What was looked up stays as it was.
func (t *Table) Set(extra ...Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.extra, t.rows = slices.Clone(extra), nil
}

// ParseEntry reads a row of the setting model.table. What it does not say is as
// in the row of the binary with that id or, where there is none, in that of the
// pattern that fits: a person can correct a price and say no more. The error
// says what is wrong with the row, unknown fields too.
// The error is for the person who wrote the row.
func ParseEntry(row []byte) (Entry, error) {
	var own Entry
	if err := decodeStrictly(row, &own); err != nil {
		return Entry{}, fmt.Errorf("a model of the table cannot be read: %w", err)
	}
	if err := own.Check(); err != nil {
		return Entry{}, err
	}
	binary := NewTable(nil)
	e, known := binary.byID(bare(own.ID))
	if !known {
		e = binary.Describe(own.ID)
	}
	// A list that is given takes the place of the old one.
	aliases, prices, levels := e.Aliases, e.Prices, e.Levels
	e.Aliases, e.Prices, e.Levels = nil, nil, nil
	if err := decodeStrictly(row, &e); err != nil {
		return Entry{}, err
	}
	e.ID = bare(own.ID)
	if e.Aliases == nil {
		e.Aliases = aliases
	}
	if e.Prices == nil {
		e.Prices = prices
	}
	if e.Levels == nil {
		e.Levels = levels
	}
	return e, e.Check()
}

// decodeStrictly decodes one JSON value and refuses fields that into lacks.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("%s is a %s", cmp.Or(wrong.Field, "it"), wrong.Value)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// Check reports what is wrong with an entry of a person's settings: no id, a
// negative number, an unknown way to think, a date that is none. It returns
// nil if nothing is.
func (e Entry) Check() error {
	switch {
	case e.ID == "":
		return fmt.Errorf("a model of the table has no id")
	case reserved(e.ID) || slices.ContainsFunc(e.Aliases, reserved):
		return fmt.Errorf("the model %s has the name auto or inherit, or an empty one; these mean something else", e.ID)
	case e.MaxBudget > 0 && e.MinBudget > e.MaxBudget:
		return fmt.Errorf("the model %s has a minBudget of %d above its maxBudget of %d", e.ID,
			e.MinBudget, e.MaxBudget)
	case e.Window < 0 || e.MaxOutput < 0 || e.MinBudget < 0 || e.MaxBudget < 0:
		return fmt.Errorf("the model %s has a negative number of tokens", e.ID)
	case e.Thinking != "" && e.Thinking != Budget && e.Thinking != Level:
		return fmt.Errorf("the model %s thinks by %q; it is budget or level", e.ID, e.Thinking)
	}
	for _, l := range e.Levels {
		if !slices.Contains(levels(), l) {
			return fmt.Errorf("the model %s has the level %q; levels are %s", e.ID, l, strings.Join(levels(), ", "))
		}
	}
	for i, p := range e.Prices {
		if i > 0 && (e.Prices[i-1].UpTo == 0 || (p.UpTo != 0 && p.UpTo <= e.Prices[i-1].UpTo)) {
			return fmt.Errorf("the prices of the model %s are not by upTo, smallest first and the one without last",
				e.ID)
		}
		if p.Input < 0 || p.Output < 0 || p.Cached < 0 || p.UpTo < 0 {
			return fmt.Errorf("the model %s has a negative price", e.ID)
		}
	}
	if e.Retired != "" {
		if _, err := time.Parse(time.DateOnly, e.Retired); err != nil {
			return fmt.Errorf("the model %s is retired on %q; write 2006-01-02", e.ID, e.Retired)
		}
	}
	return nil
}

// reserved reports whether a name means something else than a model.
func reserved(name string) bool { return name == "" || name == "inherit" || name == Auto }

// load returns the rows, which it reads at the first call and after Set.
func (t *Table) load() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		var rows []Entry
		t.err = json.Unmarshal([]byte(builtin), &rows)
		t.rows = append(slices.Clone(t.extra), rows...)
	}
	return t.rows
}

// byID returns the first row of an id, patterns included.
func (t *Table) byID(id string) (Entry, bool) {
	for _, e := range t.load() {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}

// Lookup returns the row of a model that the table names. A prefix "models/",
// "gemini/" or "google/" is not part of an id.
func (t *Table) Lookup(idOrAlias string) (Entry, bool) {
	name := bare(idOrAlias)
	if name == "" || strings.HasSuffix(name, "*") {
		return Entry{}, false
	}
	if e, ok := t.byID(name); ok {
		return e, true
	}
	for _, e := range t.load() {
		if slices.Contains(e.Aliases, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// Describe returns what is known of a model: its row or, for an id that the
// table does not name, that of the longest pattern that fits, with the id in
// its place. The window is 0 if no row fits.
func (t *Table) Describe(id string) Entry {
	if e, ok := t.Lookup(id); ok {
		return e
	}
	name := bare(id)
	var best Entry
	for _, e := range t.load() {
		stem, pattern := strings.CutSuffix(e.ID, "*")
		if pattern && strings.HasPrefix(name, stem) && (best.ID == "" || len(stem) > len(best.ID)-1) {
			best = e
		}
	}
	best.ID, best.Aliases = name, nil
	return best
}

// Resolve turns what an agent or a person wrote into an id to ask for. Name ""
// and "inherit" stand for fallback, which may be an alias too. A retired model
// becomes its successor, which [Table.Successor] tells. Known is whether the
// table names the model; an unknown id is returned as it is, with what its
// pattern says (any gemini-* has one).
func (t *Table) Resolve(name, fallback string) (id string, e Entry, known bool) {
	if name == "" || name == "inherit" {
		name = fallback
	}
	e, known = t.Lookup(name)
	if !known {
		e = t.Describe(name)
		return e.ID, e, false
	}
	// A chain of successors is as long as the table at most.
	for range t.load() {
		next, ok := t.Lookup(e.Successor)
		if !t.retired(e) || !ok {
			break
		}
		e = next
	}
	return e.ID, e, true
}

// Successor reports whether a model is retired, and as what it runs then: the
// zero Entry if nothing is known to follow it.
func (t *Table) Successor(idOrAlias string) (successor Entry, retired bool) {
	e, ok := t.Lookup(idOrAlias)
	if !ok || !t.retired(e) {
		return Entry{}, false
	}
	id, next, _ := t.Resolve(e.ID, "")
	if id == e.ID {
		return Entry{}, true
	}
	return next, true
}

// retired reports whether a row's day has come.
func (t *Table) retired(e Entry) bool {
	if e.Retired == "" || t.now == nil {
		return false
	}
	day, err := time.Parse(time.DateOnly, e.Retired)
	return err == nil && !t.now().Before(day)
}

// Entries returns all rows that name a model, those of settings first.
// A row that settings replaced is there once. The slice is the caller's, what
// it points to is not.
func (t *Table) Entries() []Entry {
	var all []Entry
	seen := make(map[string]bool)
	for _, e := range t.load() {
		if !strings.HasSuffix(e.ID, "*") && !seen[e.ID] {
			seen[e.ID] = true
			all = append(all, e)
		}
	}
	return all
}

// bare returns an id without the prefixes that people copy from other tools.
func bare(id string) string {
	for _, prefix := range []string{"models/", "gemini/", "google/"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return rest
		}
	}
	return id
}

// Cost returns the price in USD of one answer of a model (not of a sum of
// answers: the price of a token may depend on the size of its request). It is
// not known if the table has no prices for the model or u is not a count.
// Cached tokens that are more than the input count as the input.
func Cost(e Entry, u Usage) (usd float64, known bool) {
	if len(e.Prices) == 0 || u.InputTokens < 0 || u.OutputTokens < 0 || u.ThoughtTokens < 0 || u.CachedTokens < 0 {
		return 0, false
	}
	p := e.Prices[len(e.Prices)-1]
	for _, q := range e.Prices {
		if q.UpTo == 0 || u.InputTokens <= q.UpTo {
			p = q
			break
		}
	}
	cachedPrice := p.Cached
	if cachedPrice == 0 {
		cachedPrice = p.Input
	}
	cached := min(u.CachedTokens, u.InputTokens)
	sum := float64(u.InputTokens-cached)*p.Input + float64(cached)*cachedPrice +
		float64(u.OutputTokens+u.ThoughtTokens)*p.Output
	return sum / 1e6, true
}

// EstimateTokens returns about how many tokens a text has, rounded up: a
// quarter of its characters, and one for each character of the scripts that
// are written without spaces, which models cut finer.
func EstimateTokens(text string) int {
	narrow, wide := 0, 0
	for _, r := range text {
		if r >= 0x2E80 {
			wide++
		} else {
			narrow++
		}
	}
	return (narrow+3)/4 + wide
}
