package loop_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/loop"
)

// made returns a call of a tool whose argument and result are given.
func made(tool string, arg, result int) loop.Call {
	return loop.Call{Name: tool, Args: json.RawMessage(fmt.Sprintf(`{"a":%d}`, arg)), Result: fmt.Sprint(result)}
}

// each gives the calls one by one and returns what was found after each.
func each(d *loop.Detector, calls ...loop.Call) [][]loop.Finding {
	var out [][]loop.Finding
	for _, c := range calls {
		out = append(out, d.Calls([]loop.Call{c}))
	}
	return out
}

// short returns findings as "call 3" or "cycle 3 end".
func short(list []loop.Finding) string {
	var out []string
	for _, f := range list {
		s := fmt.Sprintf("%s %d", f.Kind, f.Count)
		if f.End {
			s += " end"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestREL121TheSameCall(t *testing.T) {
	for what, c := range map[string]struct {
		calls []loop.Call
		want  []string
	}{
		"the same result":         {slices.Repeat([]loop.Call{made("ls", 1, 1)}, 6), []string{"", "", "call 3", "", "call 5 end", "call 6 end"}},
		"polling":                 {[]loop.Call{made("ls", 1, 1), made("ls", 1, 2), made("ls", 1, 3), made("ls", 1, 4), made("ls", 1, 5), made("ls", 1, 6)}, []string{"", "", "", "", "", ""}},
		"polling that flaps":      {slices.Repeat([]loop.Call{made("ls", 1, 1), made("ls", 1, 2)}, 8), slices.Repeat([]string{""}, 16)},
		"waiting, then news":      {[]loop.Call{made("ls", 1, 1), made("ls", 1, 1), made("ls", 1, 2), made("ls", 1, 2), made("ls", 1, 2)}, []string{"", "", "", "", "call 3"}},
		"another between":         {[]loop.Call{made("ls", 1, 1), made("ls", 1, 1), made("ls", 2, 1), made("ls", 1, 1), made("ls", 1, 1)}, []string{"", "", "", "", ""}},
		"another tool":            {[]loop.Call{made("ls", 1, 1), made("glob", 1, 1), made("grep", 1, 1)}, []string{"", "", ""}},
		"growing arguments":       {[]loop.Call{made("ls", 1, 1), made("ls", 2, 1), made("ls", 3, 1), made("ls", 4, 1), made("ls", 5, 1), made("ls", 6, 1)}, []string{"", "", "", "", "", ""}},
		"a failure is no success": {[]loop.Call{made("ls", 1, 1), made("ls", 1, 1), {Name: "ls", Args: json.RawMessage(`{"a":1}`), Result: "1", Failed: true}}, []string{"", "", ""}},
		"failures count":          {slices.Repeat([]loop.Call{{Name: "ls", Result: "refused", Failed: true}}, 5), []string{"", "", "call 3", "", "call 5 end"}},
	} {
		var d loop.Detector
		for i, got := range each(&d, c.calls...) {
			if short(got) != c.want[i] {
				t.Errorf("%s: call %d gave %q, want %q", what, i+1, short(got), c.want[i])
			}
		}
	}
}

func TestREL121ArgumentsAreComparedByMeaning(t *testing.T) {
	for _, c := range []struct {
		same bool
		args []string
	}{
		{true, []string{`{"a":1,"b":{"c":[1,2],"d":null}}`, ` {"b" : {"d":null,"c":[1.0,2e0]}, "a":1}`, `{"b":{"c":[1,20e-1],"d":null},"a":10e-1}`}},
		{true, []string{``, `{}`, `null`}},
		{true, []string{`{"a":"\u0041/"}`, `{"a":"A\/"}`, `{"a":"A/"}`}},
		{true, []string{`{"a":0}`, `{"a":0.0}`, `{"a":-0}`}},
		{true, []string{`no json`, ` no json`, "no json\n"}},
		{false, []string{`{"a":1}`, `{"a":"1"}`, `{"a":true}`}},
		{false, []string{`{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[1,2,3]}`}},
		{false, []string{`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740994}`}},
		{false, []string{`{"a":0.1}`, `{"a":0.10000000000000000001}`, `{"a":0.2}`}},
		{false, []string{`{"a":1e-999999999}`, `{"a":1e999999999}`, `{"a":0}`}},
		{false, []string{`{"a":1}`, `{"a":1}{}`, `{"a":1`}},
		{false, []string{`{"a":null}`, `{"b":null}`, `{}`}},
	} {
		var d loop.Detector
		var calls []loop.Call
		for _, a := range c.args {
			calls = append(calls, loop.Call{Name: "t", Args: json.RawMessage(a), Result: "r"})
		}
		if got := d.Calls(calls); (short(got) == "call 3") != c.same {
			t.Errorf("%q: %q, want the same: %v", c.args, short(got), c.same)
		}
	}
}

func TestREL121ABatchCountsInCallOrder(t *testing.T) {
	a, b := made("ls", 1, 1), made("ls", 2, 2)
	for what, c := range map[string]struct {
		batches [][]loop.Call
		want    string // of the last
	}{
		"three at once":         {[][]loop.Call{{a, a, a}}, "call 3"},
		"four at once":          {[][]loop.Call{{a, a, a, a}}, "call 3"},
		"five at once":          {[][]loop.Call{{a, a, a, a, a}}, "call 5 end"},
		"across batches":        {[][]loop.Call{{b, a}, {a, a}}, "call 3"},
		"told among others":     {[][]loop.Call{{a, a, a, b}}, "call 3"},
		"the end counts more":   {[][]loop.Call{{a, a, a, a, a, b, b, b}}, "call 5 end"},
		"a cycle in one":        {[][]loop.Call{{a, b, a, b, a, b}}, "cycle 3 end"},
		"a cycle across":        {[][]loop.Call{{a, b, a}, {b, a}, {b}}, "cycle 3 end"},
		"both":                  {[][]loop.Call{{a, a, a, b, a, b, a, b}}, "call 3, cycle 3 end"},
		"nothing":               {[][]loop.Call{{}}, ""},
		"it goes on until told": {[][]loop.Call{{a, b, a, b, a, b}, {a, b}}, "cycle 4 end"},
	} {
		var d loop.Detector
		var got []loop.Finding
		for _, batch := range c.batches {
			got = d.Calls(batch)
		}
		if short(got) != c.want {
			t.Errorf("%s: %q, want %q", what, short(got), c.want)
		}
	}
}

func TestREL121WhatIsSaidOfIt(t *testing.T) {
	var d loop.Detector
	got := d.Calls(slices.Repeat([]loop.Call{made("read_file", 1, 1)}, 3))
	if want := "read_file with the same arguments and the same result, 3 times in a row"; got[0].What != want {
		t.Errorf("got %q, want %q", got[0].What, want)
	}
	d.Reset()
	got = d.Calls(slices.Repeat([]loop.Call{made("bash", 1, 1), made("evil\n\x1b[2J\u202e", 2, 1)}, 3))
	if want := `a cycle of 2 calls (bash, evil\n\x1b[2J\u202e) with the same arguments and the same results, 3 times round`; got[0].What != want {
		t.Errorf("got %q, want %q", got[0].What, want)
	}
	d.Reset()
	got = d.Calls(slices.Repeat([]loop.Call{{Name: strings.Repeat("é", 100_000)}}, 3))
	if n := len(got[0].What); n > 1000 {
		t.Errorf("%d bytes about a long name", n)
	}
}

func TestREL121ResetBeginsAnew(t *testing.T) {
	a, b := made("ls", 1, 1), made("ls", 2, 2)
	var d loop.Detector
	for range 3 {
		if got := d.Calls([]loop.Call{a, a, a, a}); short(got) != "call 3" {
			t.Fatalf("got %q", short(got))
		}
		d.Reset()
		if got := d.Calls([]loop.Call{a, b, a, b, a}); got != nil {
			t.Fatalf("got %q", short(got))
		}
		d.Reset()
	}
}

// TestREL121EveryCycleIsFoundAtItsThirdRound plants cycles of two to seven calls
// behind anything.
func TestREL121EveryCycleIsFoundAtItsThirdRound(t *testing.T) {
	r := rand.New(rand.NewPCG(121, 1))
	cycles := 3000
	if testing.Short() {
		cycles = 300
	}
	for range cycles {
		p := 2 + r.IntN(6)
		round := make([]loop.Call, p)
		for i := range round {
			round[i] = made("t", r.IntN(4), 0)
		}
		if smaller(round) {
			continue
		}
		var d loop.Detector
		for range r.IntN(200) {
			d.Calls([]loop.Call{made("t", r.IntN(3), 0)})
		}
		// One that is in no round, so that the first is not begun already.
		d.Calls([]loop.Call{made("t", 1000, 0)})
		for i, got := range each(&d, slices.Repeat(round, 5)...) {
			ended := slices.ContainsFunc(got, func(f loop.Finding) bool { return f.Kind == loop.KindCycle && f.End })
			inner := innerCycle(slices.Repeat(round, 5)[:i+1])
			if want := i+1 >= 3*p || inner; ended != want {
				t.Fatalf("a cycle of %d, call %d: %q", p, i+1, short(got))
			}
		}
	}
}

// smaller reports whether a round is a smaller one several times over.
func smaller(round []loop.Call) bool {
	for q := 1; q < len(round); q++ {
		if len(round)%q == 0 && slices.EqualFunc(round[q:], round[:len(round)-q], equal) {
			return true
		}
	}
	return false
}

func equal(a, b loop.Call) bool {
	return a.Name == b.Name && string(a.Args) == string(b.Args) && a.Result == b.Result && a.Failed == b.Failed
}

// innerCycle reports whether calls end in three rounds of anything, by the
// definition: every length is tried on every call.
func innerCycle(calls []loop.Call) bool {
	for p := 2; p <= 7; p++ {
		if n := len(calls); n >= 3*p && !smaller(calls[n-p:]) && slices.EqualFunc(calls[n-3*p:n-p], calls[n-2*p:], equal) {
			return true
		}
	}
	return false
}

// TestREL121NoFalseAlarm gives sequences of many kinds in which nothing is
// repeated without getting on.
func TestREL121NoFalseAlarm(t *testing.T) {
	r := rand.New(rand.NewPCG(121, 2))
	for what, next := range map[string]func(i int) loop.Call{
		"all different":               func(i int) loop.Call { return made("t", i, 0) },
		"paging":                      func(i int) loop.Call { return made("read_file", i, i%2) },
		"polling":                     func(i int) loop.Call { return made("bash", 1, i) },
		"polling two in turn":         func(i int) loop.Call { return made("bash", i%2, i) },
		"waiting and polling":         func(i int) loop.Call { return made("bash", i%2, i%2*i) },
		"small edits and the same":    func(i int) loop.Call { return made([]string{"edit_file", "bash"}[i%2], i%2*i, 0) },
		"edit, test, see another way": func(i int) loop.Call { return made("t", i%3, i/3) },
		"a cycle of eight":            func(i int) loop.Call { return made("t", i%8, 0) },
		"twice each":                  func(i int) loop.Call { return made("t", i/2, 0) },
		"two rounds, then others":     func(i int) loop.Call { return made("t", i/4*2+i%2, 0) },
	} {
		var d loop.Detector
		for i := 0; i < 1000; {
			batch := make([]loop.Call, 0, 4)
			for range 1 + r.IntN(4) {
				batch = append(batch, next(i))
				i++
			}
			if got := d.Calls(batch); got != nil {
				t.Errorf("%s: call %d: %q: %s", what, i, short(got), got[0].What)
				break
			}
		}
	}
}

// TestREL121AgreesWithItsDefinition compares random sequences with a check that
// remembers all and tries every length.
func TestREL121AgreesWithItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(121, 3))
	sequences := 300
	if testing.Short() {
		sequences = 30
	}
	for range sequences {
		var d loop.Detector
		var all []loop.Call
		for range 300 {
			c := made("t", r.IntN(2), 0)
			if n := len(all); n > 7 && r.IntN(10) > 0 {
				c = all[n-1-r.IntN(7)] // likely to close a round
			}
			all = append(all, c)
			got := d.Calls([]loop.Call{c})
			row := 1
			for row < len(all) && equal(all[len(all)-1-row], c) {
				row++
			}
			var want []string
			if row == 3 {
				want = append(want, "call 3")
			} else if row >= 5 {
				want = append(want, fmt.Sprintf("call %d end", row))
			}
			if innerCycle(all) {
				want = append(want, "cycle")
			}
			seen := short(got)
			if i := strings.Index(seen, "cycle"); i >= 0 {
				seen = seen[:i+len("cycle")]
			}
			if w := strings.Join(want, ", "); seen != w {
				t.Fatalf("after %d calls: %q, want %q", len(all), seen, w)
			}
		}
	}
}

func FuzzCalls(f *testing.F) {
	f.Add("ls", `{"a":1e5}`, "x", true)
	f.Add("", `[1,{"b":-0.0}]`, "", false)
	f.Fuzz(func(t *testing.T, name, args, result string, failed bool) {
		var d loop.Detector
		c := loop.Call{Name: name, Args: json.RawMessage(args), Result: result, Failed: failed}
		if got := d.Calls(slices.Repeat([]loop.Call{c}, 5)); short(got) != "call 5 end" || strings.ContainsAny(got[0].What, "\n\r\x1b") {
			t.Errorf("%+v", got)
		}
	})
}

func BenchmarkCalls(b *testing.B) {
	var d loop.Detector
	result := strings.Repeat("line of a result\n", 2000)
	i := 0
	for b.Loop() {
		i++
		d.Calls([]loop.Call{{Name: "read_file", Args: json.RawMessage(fmt.Sprintf(`{"file_path":"a.go","offset":%d}`, i)), Result: result}})
	}
}

// TestHugeArgumentsAreNotRead: arguments that are refused for their size are
// compared as they are written, which costs little however many keys they have.
func TestHugeArgumentsAreNotRead(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"key%d":%[1]d`, i)
	}
	args := json.RawMessage("{" + b.String()[1:] + "}")
	var d loop.Detector
	call := []loop.Call{{Name: "ls", Args: args, Result: "too large", Failed: true}}
	if n := testing.AllocsPerRun(5, func() { d.Calls(call) }); n > 1000 {
		t.Errorf("%v allocations to compare a call", n)
	}
	if found := d.Calls(call); len(found) != 1 || !found[0].End {
		t.Errorf("found %+v", found)
	}
}
