// Package memorytest holds what every backend of memory must do.
package memorytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/internal/fault"
)

// Place is a place that tests keep memory at.
func Place(backend, agent string) memory.Place {
	return memory.Place{Backend: backend, Scope: memory.OfAgent, Agent: agent}
}

// Record is a record that was stored some seconds after a fixed time.
func Record(key, content string, seconds int) memory.Record {
	return memory.Record{
		Key: key, Content: content, Agent: "keeper", Session: "s1",
		Time: time.Date(2026, 11, 24, 2, 0, seconds, 0, time.UTC),
	}
}

// Test holds a backend to the contract. again opens the same stores a second time, as the
// next daemon would; what it returns is closed by the test.
func Test(t *testing.T, name string, again func(t *testing.T) memory.Backend) {
	ctx := context.Background()
	start := func(t *testing.T) memory.Backend {
		b := again(t)
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	open := func(t *testing.T, b memory.Backend, agent string, shape memory.Shape) memory.Store {
		t.Helper()
		s, err := b.Open(ctx, Place(name, agent), &shape)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	put := func(t *testing.T, s memory.Store, r memory.Record, vector []float32) string {
		t.Helper()
		id, err := s.Put(ctx, r, vector)
		if err != nil || id == "" {
			t.Fatalf("put %s: %q, %v", r.Key, id, err)
		}
		return id
	}
	keys := func(found []memory.Match) string {
		var all []string
		for _, m := range found {
			all = append(all, fmt.Sprintf("%s %.2f", m.Key, m.Score))
		}
		return strings.Join(all, ", ")
	}
	text := memory.Shape{Kind: memory.KeyValue}

	t.Run("records", func(t *testing.T) {
		b := start(t)
		s := open(t, b, "records", text)
		first := Record("colour", "The user's favourite colour is green.", 1)
		first.Metadata, first.Taint = json.RawMessage(`{"from":"chat"}`), "web"
		id := put(t, s, first, nil)
		put(t, s, Record("editor", "The user writes in Neovim.", 2), nil)
		all, n, err := s.List(ctx, 0, 10)
		if err != nil || n != 2 || len(all) != 2 || all[0].Key != "editor" || all[1].ID != id {
			t.Fatalf("%+v, %d, %v", all, n, err)
		}
		first.ID = id
		if got := all[1]; fmt.Sprint(got) != fmt.Sprint(first) {
			t.Errorf("got  %+v\nwant %+v", got, first)
		}
		if again := put(t, s, Record("colour", "It is blue now.", 3), nil); again != id {
			t.Errorf("replaced %s by %s", id, again)
		}
		all, n, err = s.List(ctx, 0, 1)
		if err != nil || n != 2 || len(all) != 1 || all[0].Content != "It is blue now." ||
			all[0].Metadata != nil || all[0].Taint != "" {
			t.Errorf("%+v, %d, %v", all, n, err)
		}
		found, err := s.Find(ctx, memory.Query{Words: memory.QueryWords("favourite green"), Limit: 5})
		if err != nil || len(found) != 0 {
			t.Errorf("what was replaced is found: %v, %v", found, err)
		}
		if all, _, err = s.List(ctx, 1, 5); err != nil || len(all) != 1 || all[0].Key != "editor" {
			t.Errorf("the second page: %v, %v", all, err)
		}
	})

	t.Run("words", func(t *testing.T) {
		s := open(t, start(t), "words", text)
		put(t, s, Record("db", "Migrations of the database run with goose.", 1), nil)
		put(t, s, Record("db2", "Databases are backed up at night.", 2), nil)
		put(t, s, Record("umlaut", "Die Größe steht in config.yaml", 3), nil)
		put(t, s, Record("kanji", "ユーザーは設定を保存します", 4), nil)
		put(t, s, Record(`quo"te`, `SELECT * FROM "x"; -- OR NOT AND`, 5), nil)
		for query, want := range map[string]string{
			"database":            "db2 1.00, db 1.00",
			"database goose":      "db 1.00, db2 0.50",
			"GRÖSSE größe":        "umlaut 0.50",
			"設定":                  "kanji 1.00",
			`"x" AND NOT OR *`:    `quo"te 1.00`,
			"config.yaml":         "umlaut 1.00",
			"nothing like it":     "",
			"":                    "",
			"' OR 1=1; --":        `quo"te 0.50`,
			"key:db* NEAR(a b) ^": "db 0.20",
		} {
			found, err := s.Find(ctx, memory.Query{Words: memory.QueryWords(query), Limit: 5})
			if err != nil || keys(found) != want {
				t.Errorf("%q: %s, %v; want %s", query, keys(found), err, want)
			}
		}
		if found, err := s.Find(ctx, memory.Query{Words: memory.QueryWords("database"), Limit: 1}); err != nil ||
			len(found) != 1 {
			t.Errorf("a limit of one: %v, %v", found, err)
		}
	})

	t.Run("vectors", func(t *testing.T) {
		b := start(t)
		shape := memory.Shape{Kind: memory.Vector, Embedder: "test/three", Dimension: 3}
		s := open(t, b, "vectors", shape)
		put(t, s, Record("zero", "nowhere", 0), []float32{0, 0, 0})
		put(t, s, Record("x", "along x", 1), []float32{2, 0, 0})
		put(t, s, Record("y", "along y", 2), []float32{0, 1, 0})
		put(t, s, Record("xy", "between", 3), []float32{1, 1, 0})
		put(t, s, Record("against", "the other way", 4), []float32{-1, 0, 0})
		find := func(q memory.Query) string {
			t.Helper()
			found, err := s.Find(ctx, q)
			if err != nil {
				t.Error(err)
			}
			return keys(found)
		}
		if got := find(memory.Query{Vector: []float32{1, 0, 0}, Limit: 5, Threshold: 0.5}); got != "x 1.00, xy 0.71" {
			t.Error(got)
		}
		if got := find(memory.Query{Vector: []float32{1, 0, 0}, Limit: 1}); got != "x 1.00" {
			t.Error(got)
		}
		if got := find(memory.Query{Words: []string{"between"}, Limit: 5}); got != "xy 1.00" {
			t.Error("by words:", got)
		}
		put(t, s, Record("x", "turned", 6), []float32{0, 0, 1})
		if got := find(memory.Query{Vector: []float32{1, 0, 0}, Limit: 5, Threshold: 0.9}); got != "" {
			t.Error("a vector that was replaced is found:", got)
		}
		if n, err := s.Delete(ctx, "xy"); n != 1 || err != nil {
			t.Error(n, err)
		}
		if got := find(memory.Query{Vector: []float32{1, 1, 0}, Limit: 5, Threshold: 0.9}); got != "" {
			t.Error("a vector that was deleted is found:", got)
		}
		for _, vector := range [][]float32{nil, {1}, {1, 2, 3, 4}} {
			if _, err := s.Put(ctx, Record("bad", "another size", 7), vector); fault.KindOf(err) != fault.Invalid {
				t.Errorf("a vector of %d: %v", len(vector), err)
			}
		}
		if _, err := s.Find(ctx, memory.Query{Vector: []float32{1}, Limit: 1}); fault.KindOf(err) != fault.Invalid {
			t.Error("a query of another size:", err)
		}
	})

	t.Run("shape", func(t *testing.T) {
		shape := memory.Shape{Kind: memory.Vector, Embedder: "test/three", Dimension: 3}
		first := start(t)
		put(t, open(t, first, "shape", shape), Record("k", "kept over a restart", 1), []float32{1, 0, 0})
		_ = first.Close()
		b := start(t)
		other := memory.Shape{Kind: memory.Vector, Embedder: "test/four", Dimension: 4}
		s := open(t, b, "shape", other) // what it is made for stays
		if s.Shape() != shape {
			t.Errorf("%+v", s.Shape())
		}
		for _, want := range []memory.Shape{{Kind: memory.KeyValue}, other, {Kind: memory.Vector, Dimension: 4}} {
			if err := s.Shape().Fits(want, Place(name, "shape")); fault.KindOf(err) != fault.Invalid ||
				!strings.Contains(err.Error(), "agentls memory delete") {
				t.Errorf("%+v: %v", want, err)
			}
		}
		if err := s.Shape().Fits(memory.Shape{Kind: memory.Vector}, Place(name, "shape")); err != nil {
			t.Error(err)
		}
		found, err := s.Find(ctx, memory.Query{Vector: []float32{1, 0, 0}, Limit: 1})
		if err != nil || keys(found) != "k 1.00" {
			t.Errorf("%v, %v", found, err)
		}
	})

	t.Run("stores", func(t *testing.T) {
		b := start(t)
		if _, err := b.Open(ctx, Place(name, "nobody"), nil); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a store that is not there: %v", err)
		}
		put(t, open(t, b, "one", text), Record("secret of one", "a", 1), nil)
		two := open(t, b, "two", text)
		put(t, two, Record("b", "b", 1), nil)
		found, err := two.Find(ctx, memory.Query{Words: []string{"secret"}, Limit: 5})
		if err != nil || len(found) > 0 {
			t.Errorf("one store sees another: %v, %v", found, err)
		}
		all, err := b.Stores(ctx)
		if err != nil {
			t.Fatal(err)
		}
		has := map[string]memory.Stored{}
		for _, s := range all {
			has[s.ID] = s
		}
		for _, agent := range []string{"one", "two"} {
			p := Place(name, agent)
			if s := has[p.ID()]; s.Place != p || s.Shape != text || s.Records != 1 || s.Problem != "" {
				t.Errorf("%s: %+v", agent, s)
			}
		}
		if err := two.Drop(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Open(ctx, Place(name, "two"), nil); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a store that was dropped: %v", err)
		}
		put(t, open(t, b, "two", memory.Shape{Kind: memory.Vector, Embedder: "e", Dimension: 2}),
			Record("b", "b", 1), []float32{1, 2})
	})

	t.Run("delete", func(t *testing.T) {
		s := open(t, start(t), "delete", text)
		for i := range 20 {
			put(t, s, Record(fmt.Sprintf("k%d", i), fmt.Sprintf("word%d common", i), i), nil)
		}
		if n, err := s.Delete(ctx, "k3", "k4", "not there"); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := s.Delete(ctx, "k3"); n != 0 || err != nil {
			t.Error("again:", n, err)
		}
		found, err := s.Find(ctx, memory.Query{Words: []string{"word3", "common"}, Limit: 30})
		if err != nil || len(found) != 18 {
			t.Errorf("%d found, %v", len(found), err)
		}
	})

	t.Run("together", func(t *testing.T) {
		one, two := start(t), start(t)
		var work conc.WaitGroup
		errs := make([]error, 2)
		for i, b := range []memory.Backend{one, two} { // as two daemons
			work.Go(func() {
				s, err := b.Open(ctx, Place(name, "together"), &text)
				for k := 0; k < 50 && err == nil; k++ {
					_, err = s.Put(ctx, Record(fmt.Sprintf("%d-%d", i, k), "written by two", k), nil)
				}
				errs[i] = err
			})
		}
		work.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		_, n, err := open(t, one, "together", text).List(ctx, 0, 1)
		if n != 100 || err != nil {
			t.Errorf("%d of 100 records, %v", n, err)
		}
	})

	t.Run("cancelled", func(t *testing.T) {
		s := open(t, start(t), "cancelled", text)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Put(gone, Record("k", "c", 1), nil); err == nil {
			t.Error("a cancelled put says that it was done")
		}
		if _, err := s.Find(gone, memory.Query{Words: []string{"c"}, Limit: 1}); err == nil {
			t.Error("a cancelled search says that it found nothing")
		}
	})
}

// Dimension is that of the vectors of [Fill].
const Dimension = 768

// vocabulary is how many words the records of [Fill] have among them; each also has "the".
const vocabulary = 5000

// Fill keeps n records with random vectors, as fast as the store takes them.
func Fill(tb testing.TB, s memory.Store, n int) {
	tb.Helper()
	by := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		words := make([]string, 12)
		for k := range words {
			words[k] = fmt.Sprintf("word%d", by.IntN(vocabulary))
		}
		r := Record(fmt.Sprintf("key-%d", i), "the "+strings.Join(words, " "), i)
		if _, err := s.Put(context.Background(), r, VectorOf(by)); err != nil {
			tb.Fatal(err)
		}
	}
}

// VectorOf returns a random vector of length one.
func VectorOf(by *rand.Rand) []float32 {
	v := make([]float32, Dimension)
	var sum float64
	for i := range v {
		x := by.NormFloat64()
		v[i], sum = float32(x), sum+x*x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// Bench measures queries over 10,000 records: with an embedding given, by some words, and
// by words that all records have.
func Bench(b *testing.B, s memory.Store) {
	Fill(b, s, 10_000)
	by := rand.New(rand.NewPCG(3, 4))
	query := func(q memory.Query) {
		found, err := s.Find(context.Background(), q)
		if err != nil || len(found) == 0 {
			b.Fatal(len(found), err)
		}
	}
	for name, next := range map[string]func() memory.Query{
		"vector": func() memory.Query { return memory.Query{Vector: VectorOf(by), Limit: 5} },
		"text": func() memory.Query {
			return memory.Query{Words: []string{fmt.Sprintf("word%d", by.IntN(vocabulary)),
				fmt.Sprintf("word%d", by.IntN(vocabulary)), "word7"}, Limit: 5}
		},
		"common": func() memory.Query {
			return memory.Query{Words: []string{"the", fmt.Sprintf("word%d", by.IntN(vocabulary))}, Limit: 5}
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				query(next())
			}
		})
	}
}
