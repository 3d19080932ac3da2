package compression

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/model"
)

// instruction is what the model that writes snapshots is told.
//
//go:embed instruction.md
var instruction string

// request comes after the record. It comes last so that nothing in the record is the
// last word.
const request = "That was the record. Write the two blocks now: <scratchpad>, then <state_snapshot> with overall_goal, key_knowledge, file_system_state, recent_actions and current_plan."

// Characters that are kept of what is long.
const (
	maxScratchpad = 20_000
	maxAnswer     = 20_000 // of an answer that could not be read, when it is asked for again
	// Of one result or one call's arguments, at first; of other words four times as many.
	maxEntry = 8_000
	minEntry = 250 // at last, before entries are left out
)

// ask returns the snapshot of the older messages; else the failure. The error
// is the cause of ctx's end. It asks twice at most: an answer that cannot be read is
// shown to the model once, with what is wrong. What was used and how often it asked is
// added to r in any case.
func (c *Config) ask(ctx context.Context, older []model.Message, r *Result) (snapshot, status string, err error) {
	req := &model.Request{Model: c.ModelID, System: instruction, Messages: []model.Message{
		{Role: model.User, Parts: []model.Part{{Text: record(older, c.room())}, {Text: request}}},
	}}
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return "", "", context.Cause(ctx)
		}
		r.Calls++
		answer, err := c.Ask(ctx, req)
		switch {
		case err != nil && ctx.Err() != nil:
			return "", "", context.Cause(ctx)
		case err == nil && answer == nil:
			err = errors.New("the model gave no answer")
		case err == nil && answer.Finish == model.Blocked:
			r.Usage = r.Usage.Add(answer.Usage)
			err = fmt.Errorf("the model's provider blocked the answer: %s %s", answer.Blocked, answer.Detail)
		}
		if err != nil {
			r.Err = err
			return "", NoAnswer, nil
		}
		r.Usage = r.Usage.Add(answer.Usage)
		said := textOf(answer)
		pad, snapshot, wrong := read(said)
		if pad != "" || try == 1 {
			r.Scratchpad = cutTo(pad, maxScratchpad)
		}
		if wrong == nil {
			return snapshot, "", nil
		}
		if try == 2 {
			return "", Unreadable, nil
		}
		req = again(req, said, wrong)
	}
}

// again returns the request that asks once more, and says why. An answer without words
// cannot be quoted, since models refuse an empty message.
func again(req *model.Request, said string, wrong error) *model.Request {
	next := *req
	why := fmt.Sprintf("That cannot be used: %v. Write both blocks again, whole. %s", wrong, request)
	if said = strings.TrimSpace(said); said == "" {
		first := req.Messages[0]
		first.Parts = append(first.Parts[:len(first.Parts):len(first.Parts)], model.Part{Text: why})
		next.Messages = []model.Message{first}
		return &next
	}
	next.Messages = []model.Message{
		req.Messages[0],
		{Role: model.Reply, Parts: []model.Part{{Text: cutTo(said, maxAnswer)}}},
		{Role: model.User, Parts: []model.Part{{Text: why}}},
	}
	return &next
}

// textOf is the text of an answer, without thoughts and calls.
func textOf(a *model.Answer) string {
	var b strings.Builder
	for _, p := range a.Message.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// room is how many tokens the record may have: what the window leaves for it
// when the instruction and an answer have theirs.
func (c *Config) room() int {
	window := c.Window
	if window <= 0 {
		window = defaultWindow
	}
	own := model.EstimateTokens(instruction) + model.EstimateTokens(request)
	// Estimates are rough; a fifth is left for that.
	return max(window*4/5-own-min(window/8, 10_000), 500)
}

// entry is one line of the record. Only members that say something are there.
type entry struct {
	By       string          `json:"by"`
	Says     string          `json:"says,omitempty"`
	Calls    string          `json:"calls,omitempty"`
	With     json.RawMessage `json:"with,omitempty"`
	Of       string          `json:"of,omitempty"`
	Returned string          `json:"returned,omitempty"`
	Failed   bool            `json:"failed,omitempty"`
}

// record returns messages as text in at most about room tokens: JSON, an entry
// a line, so that whatever an entry says stays inside it. What is too long is
// shortened in its middle, results and arguments first; then entries from the
// middle of the record are left out.
func record(messages []model.Message, room int) string {
	var all []entry
	for i, m := range messages {
		by := map[model.Role]string{model.User: "person", model.Reply: "agent"}[m.Role]
		if i == 0 && isSnapshot(m) {
			by = "memory"
		}
		if i == 1 && isSnapshot(messages[0]) {
			continue // what Apply lets the model say to it
		}
		for _, p := range m.Parts {
			switch {
			case by == "memory":
				all = append(all, entry{By: by, Says: strings.TrimPrefix(p.Text, opening)})
			case p.Text != "":
				all = append(all, entry{By: by, Says: p.Text})
			case p.Call != nil:
				all = append(all, entry{By: by, Calls: p.Call.Name, With: p.Call.Args})
			case p.Result != nil:
				all = append(all, entry{By: "tool", Of: p.Result.Name, Returned: p.Result.Content,
					Failed: p.Result.Error})
				for _, media := range p.Result.Media {
					all = append(all, entry{By: "tool", Of: p.Result.Name,
						Returned: "[data of the type " + media.MimeType + "]"})
				}
			case p.Media != nil:
				all = append(all, entry{By: by, Says: "[data of the type " + p.Media.MimeType + "]"})
			}
		}
	}
	results, words := maxEntry, 4*maxEntry
	lines, size := render(all, results, words)
	for size > room && (results > minEntry || words > minEntry) {
		if results > minEntry {
			results /= 2
		} else {
			words /= 2
		}
		lines, size = render(all, results, words)
	}
	if size > room {
		lines = leaveOut(lines, room)
	}
	return strings.Join(lines, "\n")
}

// render writes entries with at most so many characters of a result, or of
// arguments, and of anything else. A memory is whole: nothing else has it. size is an
// estimate in tokens, with one for each end of a line.
func render(all []entry, results, words int) (lines []string, size int) {
	lines = make([]string, len(all))
	for i, e := range all {
		if e.By != "memory" {
			e.Says = cutTo(e.Says, words)
		}
		e.Returned = cutTo(e.Returned, results)
		if len(e.With) > 0 && (utf8.RuneCount(e.With) > results || !json.Valid(e.With)) {
			e.With, _ = json.Marshal(cutTo(string(e.With), results)) // a string: cannot fail
		}
		lines[i] = e.line()
		size += model.EstimateTokens(lines[i]) + 1
	}
	return lines, size
}

// line is the entry as JSON on one line. < and > stay as they are: they cost tokens when they are
// escaped.
func (e entry) line() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e) // strings, and JSON that was checked
	return strings.TrimSuffix(b.String(), "\n")
}

// leaveOut takes lines from the middle until the rest has at most room tokens.
// The first line, which a memory is in, stays. The last line stays, too. Entries next
// to the newest go last.
func leaveOut(lines []string, room int) []string {
	sizes := make([]int, len(lines))
	size := 40 // of the line that says it
	for i, line := range lines {
		sizes[i] = model.EstimateTokens(line) + 1
		size += sizes[i]
	}
	// A third of what there is room for is from the beginning.
	from, used := 1, sizes[0]
	for from < len(lines)-1 && used+sizes[from] <= room/3 {
		used += sizes[from]
		from++
	}
	to := from
	for size > room && to < len(lines)-1 {
		size -= sizes[to]
		to++
	}
	if from == to {
		return lines
	}
	gap := entry{By: "tool", Says: fmt.Sprintf("[%d entries left out to make room]", to-from)}.line()
	out := append([]string{}, lines[:from]...)
	return append(append(out, gap), lines[to:]...)
}

// cutTo returns a text with at most about n characters: its beginning and its
// end, and between them how much is missing. Two thirds are of the beginning. What is
// no UTF-8 is replaced, since JSON has none.
func cutTo(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	count := utf8.RuneCountInString(s)
	if count <= n {
		return s
	}
	head, tail := 0, len(s)
	for range n * 2 / 3 {
		_, size := utf8.DecodeRuneInString(s[head:])
		head += size
	}
	for range n / 3 {
		_, size := utf8.DecodeLastRuneInString(s[:tail])
		tail -= size
	}
	return fmt.Sprintf("%s[… %d characters left out …]%s", s[:head], count-n*2/3-n/3, s[tail:])
}
