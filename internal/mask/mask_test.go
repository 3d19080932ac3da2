package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// key is a value as a daemon holds it.
const key = "AQ.Ab8RN6K/x+y_zzzQ2w-39chars<>&01"

// keeper has a value of every kind.
func keeper() *Masker {
	return New(map[string]string{
		"GEMINI_API_KEY": key, "DB_PASSWORD": "12345678", "QUOTED_SECRET": "it's \"so\\\" 日本\nnew", "WORD_TOKEN": "executing", "SHORT_KEY": "short",
		"NAME_TOKEN": "API_KEY", "LONG_TOKEN": "abcdefgh-ijkl", "TAIL_TOKEN": "ijkl-mnopqrst",
		"PIN_TOKEN": "12345678[mask", "N_TOKEN": "nabcdefgh01", "HEX_TOKEN": "41abcdefgh02", "END_TOKEN": `abcdefgh03\`,
	})
}

func TestKnown(t *testing.T) {
	m := keeper()
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "hello", "hello"},
		{"text", "a " + key + " b", "a [masked:GEMINI_API_KEY] b"},
		{"twice", key + key, "[masked:GEMINI_API_KEY][masked:GEMINI_API_KEY]"},
		{"a value that is too short", "short", "short"},
		{"what a marker says", "API_KEY", "API_KEY"},
		{"digits in a text", "pin 12345678", "pin [masked:DB_PASSWORD]"},
		{"digits alone", "12345678", "[masked:DB_PASSWORD]"},
		{"a number of JSON", `{"time":1712345678901,"text":"12345678"}`, `{"time":1712345678901,"text":"[masked:DB_PASSWORD]"}`},
		{"a word in a text", "it is executing", "it is [masked:WORD_TOKEN]"},
		{"a word of a protocol", `{"state":"executing","executing":1,"text":"is executing"}`, `{"state":"executing","executing":1,"text":"is [masked:WORD_TOKEN]"}`},
		{"a member's name", `{"` + "abcdefgh-ijkl" + `":1}`, `{"[masked:LONG_TOKEN]":1}`},
		{"two that overlap", "abcdefgh-ijkl-mnopqrst.", "[masked:LONG_TOKEN]."},
		{"a value in which another begins", "12345678[masked:GEMINI_API_KEY]", "[masked:DB_PASSWORD][masked:GEMINI_API_KEY]"},
		{"a marker", "[masked:GEMINI_API_KEY]", "[masked:GEMINI_API_KEY]"},
		{"no marker of ours", "[masked:" + key + "]", "[masked:[masked:GEMINI_API_KEY]]"},
		{"an escape before it", `{"text":"\nabcdefgh-ijkl"}`, `{"text":"\n[masked:LONG_TOKEN]"}`},
		{"what begins in an escape", `{"text":"\nabcdefgh01"}`, `{"text":"[masked:N_TOKEN]"}`},
		{"what begins in a long escape", `{"text":"\u0041abcdefgh02"}`, `{"text":"[masked:HEX_TOKEN]"}`},
		{"what ends in an escape", `{"text":"abcdefgh03\"x"}`, `{"text":"[masked:END_TOKEN]x"}`},
		{"JSON that is cut", `{"text":"` + key, `{"text":"[masked:GEMINI_API_KEY]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(m.MaskKnown([]byte(c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestSEC115KnownHoweverJSONWritesIt: the usual encoders, and strings that hold JSON.
func TestSEC115KnownHoweverJSONWritesIt(t *testing.T) {
	for name, secret := range map[string]string{
		"plain": "abcdefgh01", "slashes": "ab/cd/ef/gh", "html": "a<b>c&d'e+f`g", "quotes": `a"b\c"d\\e`, "control": "a\nb\tc\x01d\be",
		"foreign": "käse-Ω-日本-😀", "separators": "a\u2028b\u2029cd",
	} {
		m := New(map[string]string{"S": secret})
		plain, _ := json.Marshal(secret)
		var bare bytes.Buffer
		enc := json.NewEncoder(&bare)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(secret)
		ways := map[string]string{"Go": string(plain), "bare": strings.TrimSpace(bare.String()), "text": secret}
		for i, e := range escapes {
			ways[fmt.Sprint("encoder ", i)] = `"` + e.of(secret) + `"`
		}
		for way, text := range ways {
			for depth := range 3 {
				got := string(m.MaskKnown([]byte(text)))
				if strings.Contains(got, text[1:len(text)-1]) || !strings.Contains(got, "[masked:S]") {
					t.Errorf("%s, %s, depth %d: %s became %s", name, way, depth, text, got)
				}
				if way == "text" {
					break
				}
				outer, _ := json.Marshal(text)
				text = string(outer)
			}
		}
	}
}

// TestMarkersStay: what a marker and the text behind it make up together is no
// value that was there.
func TestMarkersStay(t *testing.T) {
	m := New(map[string]string{"A": "the first one", "B": "]the second"})
	once := m.MaskKnown([]byte("the first onethe second"))
	if twice := m.MaskKnown(once); string(once) != "[masked:A]the second" || string(twice) != string(once) {
		t.Errorf("%s became %s", once, twice)
	}
}

// TestWhatMarkersSay is left out, of however many values: a part of a marker, and what
// has a marker in it.
func TestWhatMarkersSay(t *testing.T) {
	secrets := map[string]string{"A": "KEY-0000", "B": "keep [masked:KEY-00001] here", "C": "keep [masked:KEY-x] here"}
	for i := range 20_000 { // each value is not compared with each marker
		secrets[fmt.Sprintf("KEY-%05d", i)] = fmt.Sprintf("value-%05d", i)
	}
	m := New(secrets)
	const text = "KEY-0000 keep [masked:KEY-00001] here"
	if got := string(m.MaskKnown([]byte(text))); got != text {
		t.Errorf("it becomes %q", got)
	}
	if got := string(m.MaskKnown([]byte("value-00000 value-19999 keep [masked:KEY-x] here"))); got != "[masked:KEY-00000] [masked:KEY-19999] [masked:C]" {
		t.Errorf("values become %q", got)
	}
}

func TestShown(t *testing.T) {
	m := keeper()
	google := "AIza" + strings.Repeat("Sy0_-", 7)
	github := "ghp_" + strings.Repeat("a1B2", 9)
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA\n", 4) + "-----END RSA PRIVATE KEY-----"
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	const x = "[masked:credential]"
	for _, c := range []struct{ name, in, want string }{
		{"a value that is known", key, "[masked:GEMINI_API_KEY]"},
		{"an assignment", "export FOO_API_KEY=abc-123; ls", "export FOO_API_KEY=" + x + "; ls"},
		{"in quotes", `FOO_API_KEY="abc 123" x`, `FOO_API_KEY="` + x + `" x`},
		{"in YAML", "api_key: abcd1234\nother: 1", "api_key: " + x + "\nother: 1"},
		{"in JSON", `{"GEMINI_API_KEY": "abcd", "n": 1}`, `{"GEMINI_API_KEY": "` + x + `", "n": 1}`},
		{"in JSON in JSON", inJSON(`{"apiKey":"abcd","n":"m"}`), inJSON(`{"apiKey":"` + x + `","n":"m"}`)},
		{"in a text in JSON", inJSON("a\nDB_PASSWORD=hunter2\nb"), inJSON("a\nDB_PASSWORD=" + x + "\nb")},
		{"a number", `{"API_KEY":12345, "a":1}`, `{"API_KEY":12345, "a":1}`},
		{"a long number", `{"headers":{"Authorization":9876543210,"authorization": "9876543210"}}`, `{"headers":{"Authorization":9876543210,"authorization": "` + x + `"}}`},
		{"a name that ends a string", `{"raw":{"parts":[{"text":"api-key:"}]}}`, `{"raw":{"parts":[{"text":"api-key:"}]}}`},
		{"a name that ends a string, and others", `[["API_KEY=",12345,"API_KEY=abcd"],{"a":"API_KEY="}]`, `[["API_KEY=",12345,"API_KEY=` + x + `"],{"a":"API_KEY="}]`},
		{"a place to fill in", "API_KEY=$KEY TOKEN=<yours> API_KEY=${X}", "API_KEY=$KEY TOKEN=<yours> API_KEY=${X}"},
		{"code", "API_KEY = os.Getenv(\"X\"); const token = nextToken()", "API_KEY = os.Getenv(\"X\"); const token = nextToken()"},
		{"more code", "apiKey: process.env.KEY, maxTokens: 123456", "apiKey: process.env.KEY, maxTokens: 123456"},
		{"a header", "Authorization: Bearer abcdef123456", "Authorization: Bearer " + x},
		{"a header's value in a variable", "API_TOKEN=Bearer abcdef123456", "API_TOKEN=" + x + " " + x},
		{"a value that is a name", `API_KEY="DB_TOKEN": "abcd1234"`, `API_KEY="` + x + `": "` + x + `"`},
		{"a value that names another", inJSON(`DB_PASSWORD="A_TOKEN='abcd1234'"`), inJSON(`DB_PASSWORD="` + x + `'` + x + `'"`)},
		{"basic", `{"Authorization":"Basic dXNlcjpwYXNz"}`, `{"Authorization":"Basic dXNlcjpwYXNz"}`},
		{"basic with a digit", `{"Authorization":"Basic dXNlcjpwYXN1=="}`, `{"Authorization":"Basic ` + x + `"}`},
		{"curl", inJSON(`curl -H "authorization: bearer abcdef123456"`), inJSON(`curl -H "authorization: bearer ` + x + `"`)},
		{"English", "the bearer authentication", "the bearer authentication"},
		{"Google", "key=" + google + "&x", "key=" + x + "&x"},
		{"after a line feed", inJSON("a\n" + google), inJSON("a\n" + x)},
		{"GitHub", "x " + github, "x " + x},
		{"part of a word", "x" + github, "x" + github},
		{"sk", "sk-proj-9876543210abcdefghij", x},
		{"a name that begins as one", "sk-learn-documentation-and-links", "sk-learn-documentation-and-links"},
		{"a web token", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ-_8 x", x + " x"},
		{"no web token", "eyJhbGciOiJI.foo", "eyJhbGciOiJI.foo"},
		{"a private key", "a " + pem + " b", "a [masked:private key] b"},
		{"a private key in JSON", inJSON("a\n" + pem + "\nb"), inJSON("a\n[masked:private key]\nb")},
		{"a private key with a name", inJSON("K_PRIVATE_KEY=\"" + pem + "\""), inJSON("K_PRIVATE_KEY=\"[masked:private key]\"")},
		{"a private key that is cut", inJSON(pem[:len(pem)-20]), inJSON("[masked:private key]" + pem[len(pem)-29:len(pem)-20])},
		{"a private key, and a name", pem + "DB_TOKEN=abcd1234", "[masked:private key]DB_TOKEN=" + x},
		{"a private key, and other keys", pem + github + "\n" + pem + "sk-proj-9876543210abcdefghij", "[masked:private key]" + x + "\n[masked:private key]" + x},
		{"the name of one", "a -----BEGIN PRIVATE KEY----- b", "a -----BEGIN PRIVATE KEY----- b"},
		{"a public key", strings.ReplaceAll(pem, "PRIVATE", "PUBLIC"), strings.ReplaceAll(pem, "PRIVATE", "PUBLIC")},
		{"a letter that is an escape's", inJSON("\n" + "pm_" + strings.Repeat("a", 40)), inJSON("\n" + "pm_" + strings.Repeat("a", 40))},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(m.MaskAll([]byte(c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := string((*Masker)(nil).MaskAll([]byte(c.in))); c.in != key && got != c.want {
				t.Errorf("without values: %s", got)
			}
		})
	}
}

// TestZeroMasksNothing: a daemon that holds no value.
func TestZeroMasksNothing(t *testing.T) {
	for _, m := range []*Masker{nil, {}, New(nil), New(map[string]string{"A": "short"})} {
		if in := []byte(key); string(m.MaskKnown(in)) != key || string(m.Stream().Write(key)) != key {
			t.Error("something was masked")
		}
	}
}

// TestNothingIsAllocated: where nothing is found the argument comes back.
func TestNothingIsAllocated(t *testing.T) {
	m := keeper()
	event := []byte(`{"seq":17,"text":"a token, an api_key and a password; Bearer of news"}`)
	if n := testing.AllocsPerRun(100, func() { m.MaskAll(event) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got := m.MaskAll(event); &got[0] != &event[0] {
		t.Error("a copy")
	}
}

// texts draws texts in which values of some masker occur, whole, cut and escaped.
func texts(secrets map[string]string) *rapid.Generator[string] {
	pieces := []string{`"`, `\`, `\n`, `\u00`, "41", "{", "}", ":", ",", "[masked:", "]", "a", "credential", "\n", "=", " ", "API_KEY", "TOKEN", "Bearer ", "12345678", "-----BEGIN PRIVATE KEY-----"}
	for _, name := range slices.Sorted(maps.Keys(secrets)) { // the same each time
		s := secrets[name]
		pieces = append(pieces, s, s[:len(s)/2], s[len(s)/2:], marker(name), escapes[0].of(s))
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
	})
}

var drawn = rapid.MapOfN(rapid.StringMatching(`[A-C]_[a-z\]]{1,3}`), rapid.StringMatching(`[ab\\"n\[\]m:0-9u]{8,14}`), 1, 4)

// TestSEC115Masking holds what is promised of every text and every value.
func TestSEC115Masking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := drawn.Draw(t, "secrets")
		holds(t, New(secrets), []byte(texts(secrets).Draw(t, "text")))
	})
}

// holds checks what is promised: nothing that is held is left in a text, in JSON
// nothing in the strings; what is beside the markers was there; JSON stays; a
// second time changes nothing; pieces come to what the whole does, but for what a
// piece may not have yet: the rest of a marker or of an escape. Of JSON that is no UTF-8 the strings cannot be
// compared: Unmarshal makes the same sign of all bytes that are none.
func holds(t interface{ Errorf(string, ...any) }, m *Masker, text []byte) {
	before := string(text)
	if m.values != nil && !strings.Contains(before, `\`) && !strings.Contains(before, "[masked:") {
		whole := replace(text, m.knownPlaces(text, nil))
		for size := 1; size <= 9; size += 4 {
			if got := inPieces(m, before, func(rest int) int { return min(rest, size) }); !bytes.Equal(got, whole) {
				t.Errorf("%q became %q, in pieces of %d %q", before, whole, size, got)
			}
		}
	}
	for name, mask := range map[string]func([]byte) []byte{"known": m.MaskKnown, "shown": m.MaskAll} {
		once := mask(text)
		if string(text) != before {
			t.Errorf("%s changed its argument %q to %q", name, before, text)
		}
		if twice := mask(once); !bytes.Equal(once, twice) {
			t.Errorf("%s is not the same twice: %q, %q, %q", name, before, once, twice)
		}
		isJSON := json.Valid(text)
		if isJSON && literalsOf(text) != nil && !json.Valid(once) {
			t.Errorf("%s made %q of %q, which is no JSON", name, once, text)
		}
		rest := pieces(m, once)
		at := 0
		for _, piece := range rest {
			i := bytes.Index(text[at:], piece)
			if i < 0 {
				t.Errorf("%s made %q of %q: %q was not there", name, once, text, piece)
				break
			}
			at += i + len(piece)
		}
		for _, piece := range rest {
			for _, p := range m.patterns {
				if bytes.Contains(piece, []byte(p.text)) && literalsOf(text) == nil {
					t.Errorf("%s left %q in %q", name, p.text, once)
				}
			}
		}
		var value any
		if json.Unmarshal(once, &value) == nil && literalsOf(text) != nil && utf8.Valid(text) {
			leaves(value, func(s string) {
				for _, p := range m.patterns {
					if !p.word && len(pieces(m, []byte(s))) == 1 && strings.Contains(s, p.text) && !strings.ContainsAny(p.text, `\"`) && !strings.Contains(before, `\u`) {
						t.Errorf("%s left %q in %q", name, p.text, once)
					}
				}
			})
		}
	}
}

// pieces returns what is between the markers of a text.
func pieces(m *Masker, text []byte) [][]byte {
	var all [][]byte
	at := 0
	for _, p := range m.markers(text) {
		all = append(all, text[at:p.from])
		at = p.to
	}
	return append(all, text[at:])
}

// leaves calls see with each string of a JSON value.
func leaves(v any, see func(string)) {
	switch v := v.(type) {
	case string:
		see(v)
	case []any:
		for _, e := range v {
			leaves(e, see)
		}
	case map[string]any:
		for name, e := range v {
			see(name)
			leaves(e, see)
		}
	}
}

// inPieces returns what comes of a text through a stream. next says how much is
// written of a rest.
func inPieces(m *Masker, text string, next func(rest int) int) []byte {
	s := m.Stream()
	var out []byte
	for text != "" {
		n := next(len(text))
		out = append(out, s.Write(text[:n])...)
		text = text[n:]
	}
	return append(out, s.Flush()...)
}

// TestSEC115Stream: however a text is cut, what comes out together has no value.
func TestSEC115Stream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := drawn.Draw(t, "secrets")
		m := New(secrets)
		text := texts(secrets).Draw(t, "text")
		got := inPieces(m, text, func(rest int) int { return rapid.IntRange(1, rest).Draw(t, "cut") })
		for _, piece := range pieces(m, got) {
			for _, p := range m.patterns {
				if bytes.Contains(piece, []byte(p.text)) {
					t.Fatalf("%q is left in %q of %q", p.text, got, text)
				}
			}
		}
	})
	s := keeper().Stream()
	var out []string
	for _, chunk := range []string{"the key is " + key[:10], key[10:20], key[20:] + " and AQ.A", "bc", key[:3]} {
		out = append(out, s.Write(chunk))
	}
	out = append(out, s.Flush())
	want := []string{"the key is ", "", "[masked:GEMINI_API_KEY] and ", "AQ.Abc", "", "AQ."}
	if fmt.Sprint(out) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

func FuzzMasking(f *testing.F) {
	f.Add("12345678", "abcdefgh", `{"a":12345678,"b":"12345678\nabcdefgh"}`)
	f.Add(`a\"b\u0041c`, "]credentia", `FOO_API_KEY=[masked:credential]abc Bearer 123456789`)
	f.Add("[masked:", "pm_aaaaaa", "\\npm_"+strings.Repeat("a1", 20)+" AIza"+strings.Repeat("x", 35))
	// A quote or a number behind a name of a secret, in JSON.
	for _, text := range []string{
		`["API_KEY=",12345]`, `{"text":"Please paste your api-key:\n","raw":{"parts":[{"text":"api-key:"}]}}`, `{"args":{"env":{"list":["API_KEY="]}}}`,
		`{"headers":{"Authorization":1234567890}}`, `{"authorization":-12345678.5e+10,"a":["API_KEY=\\",12345]}`,
	} {
		f.Add("12345678", "abcdefgh", text)
	}
	f.Add("12345678[masked:", "12345678", "12345678[masked:masked:11234567812345678[masked:12345678[masked:credential]8[masked:")
	f.Add(`12345678","`, "12345678", `["12345678","12345678\",\"x"]`)
	// A name or a key right behind a private key.
	for _, begins := range []string{strings.Repeat("a", 32), strings.Repeat("A", 32)} {
		for _, ends := range []string{"-----END PRIVATE KEY-----", ""} {
			for _, next := range []string{"TOKEN=abcd1234", "_TOKEN=abcd1234", "ghp_" + strings.Repeat("a", 36), "sk-" + strings.Repeat("a1", 10), "eyJhbGci.eyJzdWI.Sflk"} {
				f.Add("12345678", "abcdefgh", "-----BEGIN PRIVATE KEY-----"+begins+ends+next)
			}
		}
	}
	f.Fuzz(func(t *testing.T, a, b, text string) {
		if len(a)+len(b) > 200 || len(text) > 2000 {
			t.Skip("what holds checks is quadratic")
		}
		holds(t, New(map[string]string{"A_KEY": a, "B_TOKEN": b}), []byte(text))
	})
}

// TestLongTextsAreReadOnce: the time for what a stranger can write grows with its
// length and not faster: these are 1 MB each.
func TestLongTextsAreReadOnce(t *testing.T) {
	m := keeper()
	for _, piece := range []string{"TOKEN", "_token_", "Bearer ", "authorization: ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "ghp_", "sk-", "-----sk-", "TOKEN= ", `API_KEY="TOKEN":`, "Bearer abcdefgh1", "-----BEGIN PRIVATE KEY-----" + strings.Repeat("a", 32) + "-----END PRIVATE KEY-----_TOKEN=abcd", "eyJh.", `\`, `\\npm_`, "[masked:", "API_KEY=a", key, `\n` + key, "[masked:GEMINI_API_KEY]"} {
		text := []byte(strings.Repeat(piece, 1<<20/len(piece)))
		if got := m.MaskAll(text); len(got) == 0 {
			t.Errorf("%q became nothing", piece)
		}
	}
}

func BenchmarkShown(b *testing.B) {
	m := keeper()
	prose := "The quick brown fox reads agents/run/act.go, finds a token of 39 letters and goes on; "
	for _, size := range []int{100, 16 << 10} {
		event := []byte(`{"text":"` + strings.Repeat(prose, size/len(prose)+1)[:size] + `"}`)
		for name, mask := range map[string]func([]byte) []byte{"known": m.MaskKnown, "shown": m.MaskAll} {
			b.Run(fmt.Sprint(name, "/", size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(event)))
				for b.Loop() {
					mask(event)
				}
			})
		}
	}
}
