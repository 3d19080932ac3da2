package model_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/model"
)

// TestREL54Budget: so many further attempts at once, and then as many as time
// and answers bring.
func TestREL54Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := model.NewRetries(time.Now)
		taken := func() (n int) {
			for r.Take() {
				n++
			}
			return n
		}
		for range 100 {
			r.RecordAnswer() // no more than all
		}
		if n := taken(); n != 30 {
			t.Errorf("%d at first", n)
		}
		time.Sleep(14 * time.Second)
		if n := taken(); n != 2 {
			t.Errorf("%d after 14 s", n)
		}
		time.Sleep(time.Second)
		if n := taken(); n != 1 {
			t.Errorf("%d after 15 s: what had passed of a token is lost", n)
		}
		r.RecordAnswer()
		r.RecordAnswer()
		if n := taken(); n != 2 {
			t.Errorf("%d after two answers", n)
		}
		time.Sleep(time.Hour)
		if n := taken(); n != 30 {
			t.Errorf("%d after an hour", n)
		}
	})
}

// TestREL54Turns: nobody asks before the provider wants it, and then they ask
// one after the other, however many they are.
func TestREL54Turns(t *testing.T) {
	for _, many := range []int{1, 20, 400} {
		synctest.Test(t, func(t *testing.T) {
			r := model.NewRetries(time.Now)
			r.RecordRefusal("m", &model.Error{Class: model.Busy, Status: 429, RetryAfter: 7 * time.Second})
			r.RecordRefusal("m", &model.Error{Class: model.Busy, Status: 429, RetryAfter: time.Second}) // the longer counts
			turns := make([]time.Duration, many)
			for i := range turns {
				turns[i] = r.Turn("m")
			}
			slices.Sort(turns)
			if turns[0] < 7*time.Second || turns[many-1] > 17*time.Second {
				t.Errorf("%d ask from %s to %s", many, turns[0], turns[many-1])
			}
			// No second has many more than its part.
			for i := range turns {
				if j := i + many/4 + 15; j < many && turns[j]-turns[i] < time.Second {
					t.Errorf("%d of %d ask within %s", many/4+15, many, turns[j]-turns[i])
				}
			}
			time.Sleep(7 * time.Second)
			if wait := r.Turn("m"); wait != 0 {
				t.Errorf("who comes afterwards waits %s", wait)
			}
		})
	}
}

// TestREL54Holds: what is refused holds whom it is about.
func TestREL54Holds(t *testing.T) {
	type held struct{ same, other bool }
	for name, tt := range map[string]struct {
		err  model.Error
		want held
	}{
		"of the key":      {model.Error{Class: model.Busy, Status: 429, RetryAfter: time.Second}, held{true, true}},
		"of the model":    {model.Error{Class: model.Busy, Status: 429, RetryAfter: time.Second, PerModel: true}, held{true, false}},
		"overloaded":      {model.Error{Class: model.Busy, Status: 503, RetryAfter: time.Second}, held{true, false}},
		"without a hint":  {model.Error{Class: model.Busy, Status: 429}, held{}},
		"as long as may":  {model.Error{Class: model.Busy, Status: 429, RetryAfter: 3 * time.Minute}, held{true, true}},
		"longer":          {model.Error{Class: model.Busy, Status: 429, RetryAfter: 3*time.Minute + 1}, held{}},
		"refused at all":  {model.Error{Class: model.Fatal, Status: 429, RetryAfter: time.Second}, held{}},
		"an answer began": {model.Error{Class: model.Cut, Status: 429, RetryAfter: time.Second}, held{}},
	} {
		r := model.NewRetries(time.Now)
		r.RecordRefusal("m", &tt.err)
		if got := (held{r.Turn("m") > 0, r.Turn("other") > 0}); got != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	var none *model.Retries
	none.RecordRefusal("m", &model.Error{Class: model.Busy, Status: 429, RetryAfter: time.Second})
	none.RecordAnswer()
	if !none.Take() || none.Turn("m") != 0 {
		t.Error("none bounds something")
	}
}
