package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/loop"
)

const sentence = "Let me look at the file once more. "

func TestREL121TheSameText(t *testing.T) {
	paragraph := "First I read the configuration and look for the key. Then I compare it with what the manual says! Is it the same? It is not, so the reader of the configuration has to be changed; that is done in one place. After that the tests are run again.\n\n"
	for what, c := range map[string]struct {
		text string
		want bool
	}{
		"a sentence":                       {strings.Repeat(sentence, 10), true},
		"nine times":                       {strings.Repeat(sentence, 9), false},
		"behind other text":                {"I will see.\n\n" + strings.Repeat(sentence, 10) + "\n\nDone.", true},
		"a line without an end":            {strings.Repeat("Let me look at the file once more\n", 10), true},
		"in one line without ends":         {strings.Repeat("let me look at the file once more and ", 11), true},
		"with blanks that differ":          {strings.Repeat("Let me  look\tat the file once more.\n", 5) + strings.Repeat(sentence, 5), true},
		"quoted":                           {strings.Repeat("> Let me look at the file once more.\n", 10), true},
		"a little between":                 {alternate(sentence, 10, 60), true},
		"much between":                     {alternate(sentence, 10, 400), false},
		"a paragraph":                      {strings.Repeat(paragraph, 11), true},
		"a paragraph, some times":          {strings.Repeat(paragraph, 5), false},
		"two paragraphs":                   {strings.Repeat(paragraph+strings.ToUpper(paragraph), 11), true},
		"one that has the same twice":      {strings.Repeat(paragraph+paragraph+strings.ToUpper(paragraph), 12), true},
		"words":                            {strings.Repeat("and the ", 60), true},
		"letters":                          {strings.Repeat("a", 500), true},
		"Chinese":                          {strings.Repeat("让我再检查一遍这个文件。", 10), true},
		"Russian":                          {strings.Repeat("Посмотрю ещё раз. ", 10), true},
		"Hindi":                            {strings.Repeat("मैं फिर से देखता हूँ। ", 10), true},
		"short ones":                       {strings.Repeat("Done. ", 10), false},
		"nothing":                          {"", false},
		"a code block":                     {"Here it is:\n```go\n" + strings.Repeat("\treturn the same value again and again\n", 30) + "```\n", false},
		"tildes, with a fence in it":       {"~~~~\n```\n~~~\n" + strings.Repeat(sentence+"\n", 30) + "~~~~\nThat is all.", false},
		"a code block that does not end":   {"```\n" + strings.Repeat(sentence+"\n", 30), false},
		"what comes after a code block":    {"```\nx\n```\n" + strings.Repeat(sentence+"\n", 10), true},
		"code in one line is no block":     {"```x``` is it.\n" + strings.Repeat(sentence+"\n", 10), true},
		"indented code":                    {"It says:\n\n" + strings.Repeat("    the same line of output\n", 30), false},
		"a table":                          {"| name | state |\n|---|---|\n" + strings.Repeat("| the parser of the file | is ready |\n", 30), false},
		"a table without a first bar":      {"name | state | more\n--- | --- | ---\n" + strings.Repeat("the parser | is ready | and fast\n", 30), false},
		"a list":                           {strings.Repeat("- no change is needed in this file\n", 30), false},
		"a list with numbers":              {strings.Repeat("1. no change is needed in this file\n   and it stays as it is\n\n   for now and for later\n", 30), false},
		"what belongs to an item":          {strings.Repeat("* a.go\nNo change is needed in this one.\n", 30), false},
		"what comes after a list":          {"- a\n- b\n\n" + strings.Repeat(sentence+"\n", 10), true},
		"headings":                         {strings.Repeat("## The same heading once more\n", 30), false},
		"headings in bold":                 {strings.Repeat("**What has to be changed here:**\n", 30), false},
		"headings that are underlined":     {strings.Repeat("The same heading once more\n-----\n", 30), false},
		"a sentence in bold":               {strings.Repeat("**Let me look at the file once more.**\n", 10), true},
		"rules between":                    {strings.Repeat(sentence+"\n\n***\n\n", 10), true},
		"steps with code":                  {strings.Repeat("Run this command in your shell:\n```\nnpm test\n```\n", 30), false},
		"steps with headings":              {strings.Repeat("### A step\nRun this command in your shell.\n", 30), false},
		"JSON":                             {strings.Repeat(`{"type":"object","properties":{"name":{"type":"string"}}}`+"\n", 30), false},
		"a bare row of dots":               {strings.Repeat(".", 5000) + "\n" + strings.Repeat("=", 5000), false},
		"words that are not UTF-8":         {strings.Repeat("\xff\xfe look at the file \x80.\n", 10), true},
		"carriage returns":                 {strings.Repeat("Let me look at the file once more.\r\n", 10), true},
		"far into a long answer":           {prose(7, 400_000) + "\n\n" + strings.Repeat(sentence, 10) + "\n\n" + prose(8, 100_000), true},
		"far into a long line":             {strings.ReplaceAll(prose(7, 400_000), "\n", " ") + strings.Repeat(sentence, 10) + prose(8, 1000), true},
		"a report with the same last word": {report(), false},
	} {
		var d loop.Detector
		got := d.Text(c.text)
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %+v, want %v", what, got, c.want)
			continue
		}
		if c.want && (got[0].Kind != loop.KindText || got[0].Count != 10 || got[0].End || strings.ContainsAny(got[0].What, "\n\r") || len(got[0].What) > 1000) {
			t.Errorf("%s: %+v", what, got[0])
		}
	}
}

// TestREL121TextIsJudgedAsItComes holds a stream to what is found in the whole
// answer, however it is cut.
func TestREL121TextIsJudgedAsItComes(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want bool
	}{
		"a sentence":                    {strings.Repeat(sentence, 10), true},
		"lines":                         {strings.Repeat("Let me look at the file once more\n", 10), true},
		"one line":                      {strings.Repeat("let me look at the file once more and ", 300), true},
		"Chinese, one line":             {strings.Repeat("让我再检查一遍这个文件。", 300), true},
		"words without a blank":         {strings.Repeat("abcdefghijklmno", 1000), true},
		"prose":                         {prose(1, 100_000), false},
		"prose, one line":               {strings.ReplaceAll(prose(1, 100_000), "\n", " "), false},
		"far into a long line":          {strings.ReplaceAll(prose(7, 100_000), "\n", " ") + " " + strings.Repeat(sentence, 10), true},
		"a code block":                  {"```go\n" + strings.Repeat("\treturn the same value again and again\n", 300) + "```\n", false},
		"a list":                        {strings.Repeat("- no change is needed in this file\n", 300), false},
		"a long item of a list":         {"- " + strings.Repeat("no change is needed in this file, ", 300), false},
		"JSON, one line":                {strings.Repeat(`{"type":"object","properties":{"name":{"type":"string"}}}`, 300), false},
		"headings that are underlined":  {strings.Repeat("The same heading once more\n-----\n", 300), false},
		"a table, one line at a time":   {strings.Repeat("| the parser of the file | is ready |\n", 300), false},
		"what comes after a long table": {strings.Repeat("| the parser | is ready |\n", 300) + "\n" + strings.Repeat(sentence, 10), true},
	} {
		text := prose(5, 3000) + "\n\n# A heading\n\n" + c.text + "\n\nThat is all.\n"
		for _, size := range []int{1, 7, 100, 5000, len(text)} {
			var d loop.Detector
			stream, got := d.Stream(), false
			for piece := range slices.Chunk([]rune(text), size) {
				got = got || stream.Add(string(piece))
			}
			if whole := len(d.Text(text)) == 1; got != c.want || whole != c.want {
				t.Errorf("%s in pieces of %d: %v as it comes, %v as a whole, want %v", what, size, got, whole, c.want)
			}
		}
	}
}

// TestREL121ARunawayAnswerIsFoundEarly counts how much of it is read.
func TestREL121ARunawayAnswerIsFoundEarly(t *testing.T) {
	var d loop.Detector
	stream, n := d.Stream(), len(prose(5, 50_000))
	if stream.Add(prose(5, 50_000)) {
		t.Fatal("prose is found")
	}
	read := 0
	for !stream.Add(sentence) && read < n {
		read += len(sentence)
	}
	if read > 2<<10+12*len(sentence) { // the line that is open is judged when it is long
		t.Errorf("found after %d bytes", read)
	}
}

// alternate returns a text n times, with about so many other bytes after each.
func alternate(text string, n, between int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text)
		b.WriteString(prose(uint64(100+i), between))
		b.WriteString(" ")
	}
	return b.String()
}

// report returns what an agent says of many files in the same few words.
func report() string {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("In " + prose(uint64(i), 150) + " No changes needed.\n\n")
	}
	return b.String()
}

var words = strings.Fields("the a this each parser reader value file line test call agent model tool reads writes finds takes returns keeps when where that which before after again not only also first last new old open closed large small")

// prose returns sentences of which none is like another, about n bytes.
func prose(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 121))
	var b strings.Builder
	for b.Len() < n {
		for range 6 + r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		fmt.Fprintf(&b, "%x.", r.Uint32())
		b.WriteString([]string{" ", " ", "\n", "\n\n"}[r.IntN(4)])
	}
	return strings.TrimSpace(b.String())
}

func TestREL121TextIsToldOnceThenEnds(t *testing.T) {
	var d loop.Detector
	text := strings.Repeat(sentence, 30)
	first := d.Text(text)
	if len(first) != 1 || first[0].End || first[0].What != "the same text, 10 times: Let me look at the file once more." {
		t.Fatalf("the first time: %+v", first)
	}
	d.Calls([]loop.Call{made("ls", 1, 1)}) // that it does something new does not take the telling back
	if got := d.Text("Something else is said now."); got != nil {
		t.Fatalf("another text: %+v", got)
	}
	if second := d.Text(strings.Repeat("The other file has to be read, too. ", 10)); len(second) != 1 || !second[0].End {
		t.Fatalf("the second time: %+v", second)
	}
	d.Reset()
	if got := d.Text(text); len(got) != 1 || got[0].End {
		t.Fatalf("after a person spoke: %+v", got)
	}
}

func TestREL121TextCountsOnUntilACallBringsSomethingNew(t *testing.T) {
	var stuck loop.Detector
	stuck.Calls([]loop.Call{made("a", 1, 1), made("b", 1, 1), made("c", 1, 1)})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 10 {
		got := stuck.Text(sentence)
		if (len(got) == 1) != (i == 9) {
			t.Fatalf("answer %d: %+v", i+1, got)
		}
		stuck.Calls([]loop.Call{made([]string{"a", "b", "c"}[r.IntN(3)], 1, 1)})
	}
	var busy loop.Detector
	for i := range 100 {
		if got := busy.Text(sentence); got != nil {
			t.Fatalf("answer %d: %+v", i+1, got)
		}
		busy.Calls([]loop.Call{made("edit_file", i, 1)})
	}
}

// TestREL121NoFalseAlarmInProse reads text in which no sentence comes again,
// whole and in pieces.
func TestREL121NoFalseAlarmInProse(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		var d loop.Detector
		text := prose(seed, 100_000)
		if got := d.Text(text); got != nil {
			t.Fatalf("seed %d: %+v", seed, got)
		}
		for part := range slices.Chunk([]byte(text[:40_000]), 300) {
			if got := d.Text(string(part)); got != nil {
				t.Fatalf("seed %d, in pieces: %+v", seed, got)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(sentence, uint8(12))
	f.Add("# h\n\n- a\n```\nx\n", uint8(3))
	f.Add("\xff|\u202e。", uint8(255))
	f.Add("~~~\n", uint8(0))
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		var d loop.Detector
		told := false
		for range 3 {
			for _, found := range d.Text(strings.Repeat(text, int(n))) {
				if found.Kind != loop.KindText || found.End != told || strings.ContainsAny(found.What, "\n\r\x1b") || len(found.What) > 2000 {
					t.Errorf("%+v", found)
				}
				told = true
			}
		}
	})
}

// BenchmarkText shows a cost that is linear: MB/s is the same for each length,
// also for text that is made to be expensive.
func BenchmarkText(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		for what, text := range map[string]string{
			"prose": prose(3, n), "nearly": strings.Repeat(strings.Repeat("ab ", 30)+"c", n/91), "lists": strings.Repeat("text of a line\n- item\n", n/22), "dots": strings.Repeat(". ", n/2), "lines": strings.Repeat("\n", n),
		} {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					var d loop.Detector
					d.Text(text)
				}
			})
		}
	}
}
