package modelserver

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	for script, want := range map[string]string{
		"hello":                                 "line 1: a line begins with",
		"\n> only asked\n":                      "the step has no answer",
		"<what x":                               "unknown answer <what",
		">what x\n< a":                          "unknown expectation >what",
		">tool\n< a":                            "want >tool NAME",
		">result f has x\n< a":                  "want >result NAME contains TEXT",
		">result\n< a":                          "want >result NAME contains TEXT",
		">messages many\n< a":                   "want >messages N",
		"< a\\":                                 `ends with a single \`,
		"< \\q":                                 `unknown escape \q`,
		"< \\u12":                               "four hexadecimal digits",
		"< \\ud800":                             "four hexadecimal digits",
		"< a\n\n<call":                          "line 3: want <call NAME",
		"<call f {]":                            "not a JSON object",
		"<call f {} x":                          `what is "x"?`,
		"<signature !!\n< a":                    "want <signature BASE64",
		"< a\n<signature c2ln":                  "no part after it",
		"<media image/png ?":                    "want <media",
		"<repeat 0 a":                           "want <repeat",
		"<repeat 99999999 a":                    "want <repeat",
		"<finish":                               "want <finish",
		"<usage":                                "want <usage",
		"<usage in=x":                           `what is "in=x"?`,
		"<usage up=1":                           `what is "up=1"?`,
		"<block":                                "want <block",
		"<raw {":                                "not JSON",
		"<bytes x":                              "a Go string",
		"<status":                               "want <status CODE",
		"<status 200":                           "want <status CODE",
		"<status 429 {":                         "not JSON",
		"<status 429\n< a":                      "a status and an answer",
		"<status 429\n<status 500":              "a status already",
		"<cut here":                             "want <cut",
		"<cut\n< a":                             "nothing can follow",
		"<hang\n<pause 1s":                      "nothing can follow",
		"<pause soon":                           "want <pause DURATION",
		"<heartbeat -1s":                        "want <heartbeat DURATION",
		"<gate":                                 "want <gate NAME",
		"< a\n<gzip":                            "first line",
		"< a\n<cut at 5":                        "first line",
		"<cut at end\n< a":                      "want <cut at BYTES",
		"<stall at -1\n< a":                     "want <stall at BYTES",
		"<stall\n< a":                           "want <stall at BYTES",
		"<wire thin\n< a":                       "unknown style \"thin\"",
		"<cut at 5":                             "no answer",
		"<cut at 5\n<status 500":                "a status and an answer",
		"<long 0":                               "want <long BYTES",
		"# when moon contains x\n< a":           "unknown condition",
		"# when system is x\n< a":               "contains TEXT",
		"# when tool \n< a":                     "no text",
		"# when tool f\n\n# when tool g\n\n< a": "line 1: the section has no steps",
	} {
		_, err := Parse(script)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "script line ") {
			t.Errorf("%q: %v; want %q", script, err, want)
		}
	}
}

func TestParseSteps(t *testing.T) {
	// A > after < begins a step too, and CRLF is nothing special.
	s := parse(t, "> a\r\n> b\r\n< 1\r\n> c\r\n< 2\r\n\r\n<finish MAX_TOKENS\r\n")
	if s.Steps() != 3 || len(s.sections[0].steps[0].expects) != 2 || s.sections[0].steps[1].line != 4 {
		t.Errorf("%+v", s.sections)
	}
	if all := Join(s, parse(t, "< 4\n\n# when tool f\n< 5\n"), s); all.Steps() != 8 || len(all.sections) != 2 {
		t.Errorf("%+v", all)
	}
	calls := parse(t, "<call f\n<signature YQ==\n<call g {}\n< text\n<call h {}\n").sections[0].steps[0].actions
	if len(calls) != 3 || len(calls[0].parts) != 2 || !strings.Contains(string(calls[0].parts[1]), `"YQ=="`) ||
		!strings.Contains(string(calls[0].parts[0]), `"thoughtSignature"`) || strings.Contains(string(calls[2].parts[0]), "thoughtSignature") {
		t.Errorf("%+v", calls)
	}
	if a := parse(t, "<signature none\n<call f {}\n").sections[0].steps[0].actions; strings.Contains(string(a[0].parts[0]), "thoughtSignature") {
		t.Errorf("%s", a[0].parts)
	}
	cut := parse(t, "< a\n<usage in=5\n<finish STOP\n<cut\n").sections[0].steps[0].actions
	if len(cut) != 2 || cut[0].finish != "STOP" || cut[0].usage == nil {
		t.Errorf("%+v", cut)
	}
	if a := parse(t, "<block SAFETY\n").sections[0].steps[0].actions; a[0].feedback != "SAFETY" || a[0].finish != "" {
		t.Errorf("%+v", a)
	}
	if a := parse(t, "< a\n<finish none\n<usage none\n").sections[0].steps[0].actions; a[0].finish != "" || a[0].usage != nil {
		t.Errorf("%+v", a)
	}
}

func TestExampleOfTheDoc(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(doc), "//\t> Find all TODO comments\n")
	example, _, ok := strings.Cut(example, "// In texts")
	if !ok {
		t.Fatal("the example is not where it was")
	}
	example = strings.ReplaceAll(strings.ReplaceAll(example, "//\t", ""), "//", "")
	s := parse(t, "> Find all TODO comments\n"+example)
	if s.Steps() != 2 || len(s.sections[0].steps[0].expects) != 4 || len(s.sections[0].steps[0].actions) != 3 {
		t.Errorf("%+v", s.sections)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"> a\n>system b\n<thought S: t\n< text\\n\n<call f {\"a\":1} id=x\n<finish STOP\n<usage in=1\n",
		"<status 429 {\"message\":\"m\"} retry-after=2\n\n<cut\n\n<hang\n\n<pause 1s\n< a\n",
		"# when system contains x\n# when no tool y\n<raw {}\n\n# comment\n<bytes \"\\xff\"\n",
		"<repeat 3 n{}\n<block OTHER\n<signature YQ==\n<media image/png AAAA\n<gate g\n<heartbeat 1s\n",
		"<gzip\n< \\u6027\\\\\n", ">!result f contains x\n>result-error g\n>messages 3\n< \xff\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "script line ") {
				t.Errorf("an error without a line: %v", err)
			}
			return
		}
		// Each chunk that a script makes is JSON.
		p := &player{request: &Request{Model: "m"}}
		for _, sec := range s.sections {
			for _, st := range sec.steps {
				for _, a := range st.actions {
					if a.kind == chunk && !json.Valid(p.encode(a)) {
						t.Errorf("not JSON: %s", p.encode(a))
					}
				}
			}
		}
	})
}
