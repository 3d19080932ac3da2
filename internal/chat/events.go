package chat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// Shows reports whether a chat shows events of this kind itself; of the others it
// takes what belongs to the status, and somebody has to say them in words. It depends
// on the kind of the event and on whether it is of a run below.
func Shows(e Event) bool {
	switch e.Body.(type) {
	case activity.ContentDelta, activity.ThoughtDelta, activity.ToolDelta, activity.ToolState:
		return true
	case activity.ModelStarted, activity.ModelFinished, activity.TurnStarted, activity.FileChanged:
		return true
	case activity.ChangeResolved: // whoever did it was told
		return true
	case activity.RunStarted:
		return !e.Below
	}
	return false
}

// event takes what happened in a run. It draws nothing.
//
// Texts and thoughts of runs below are not shown, since several may speak at once; their
// calls are. Tokens are added up over all runs, costs over those that the person started.
func (m *screen) event(e Event) {
	switch b := e.Body.(type) {
	case activity.RunStarted:
		if !e.Below {
			m.status.Agent, m.status.Model = cmp.Or(e.Agent, m.status.Agent), cmp.Or(b.Model, m.status.Model)
			m.status.Mode = cmp.Or(b.Approval, m.status.Mode)
		}
	case activity.ApprovalChanged:
		m.status.Mode = b.To
	case activity.ContentDelta:
		if !e.Below {
			m.write(m.writing(answerItem, e.Run), b.Text)
		}
	case activity.ThoughtDelta:
		if !e.Below {
			m.showThought(e, b)
		}
	case activity.ModelFinished:
		m.usage = m.usage.Add(b.Usage)
		m.status.Model = cmp.Or(m.modelOf(e, b.Model), m.status.Model)
	// What is said in two turns is two items.
	case activity.TurnStarted:
		if !e.Below {
			m.endText()
		}
	case activity.Retry:
		if !e.Below {
			m.withdraw(b)
		}
	case activity.ToolState:
		m.call(e, b)
	case activity.ToolDelta:
		if i := m.find(b.Call); i != nil {
			m.write(i, b.Text)
		}
	case activity.FileChanged:
		m.change(b)
	case activity.RunFinished:
		if !e.Below {
			m.endText()
			if b.Cost != nil {
				m.cost += b.Cost.Amount
			}
		}
	}
}

// modelOf returns the model that answers the person: not one of a run below.
func (m *screen) modelOf(e Event, name string) string {
	if e.Below {
		return ""
	}
	return name
}

// part lets go of what is whole of an answer that is being written. A long answer so
// scrolls by while it is written, block by block.
//
// It is called by flush before anything is printed. The rest becomes an item of its own.
func (m *screen) part() {
	if len(m.items) == m.shown {
		return
	}
	i := m.items[len(m.items)-1]
	if i.whole || i.kind != answerItem {
		return
	}
	if n := stableEnd(i.text); n > 0 {
		rest := i.text[n:]
		i.text, i.whole = i.text[:n], true
		m.grow(i, -len(rest))
		m.begin(&item{kind: answerItem, run: i.run, text: rest})
	}
}

// writing returns the item of a kind that is being written, a new one where the last
// is another.
// Runs that answer side by side get a new item each time the other one speaks.
func (m *screen) writing(kind kindOfItem, run string) *item {
	if n := len(m.items); n > 0 {
		if last := m.items[n-1]; !last.whole && last.kind == kind && last.run == run {
			return last
		}
	}
	m.endText()
	return m.begin(&item{kind: kind, run: run})
}

// showThought adds a piece of thoughts; a new subject begins a paragraph, and is the item's title.
func (m *screen) showThought(e Event, b activity.ThoughtDelta) {
	i := m.writing(thoughtItem, e.Run)
	if b.Subject != "" && b.Subject != i.title {
		if i.text != "" {
			m.write(i, "\n\n")
		}
		i.title = b.Subject
		m.write(i, b.Subject+"\n")
	}
	m.write(i, b.Text)
}

// endText ends what is being written, if anything is.
func (m *screen) endText() {
	for _, i := range m.items[m.shown:] {
		if i.kind == answerItem || i.kind == thoughtItem {
			i.whole = true
		}
	}
}

// endRun ends all that goes on. A call whose end was not told is whole as well, and is
// marked as such.
func (m *screen) endRun() {
	for _, i := range m.items[m.shown:] {
		i.whole = true
	}
}

// withdraw takes back what a try has shown that does not count. What has scrolled by
// stays.
// It is for a retry that begins the answer anew; without Discard the answer goes on.
func (m *screen) withdraw(b activity.Retry) {
	if !b.Discard {
		return
	}
	rest := m.items[:m.shown:m.shown]
	for _, i := range m.items[m.shown:] {
		if i.kind != answerItem && i.kind != thoughtItem {
			rest = append(rest, i)
		} else {
			m.bytes -= i.size
		}
	}
	m.items = rest
}

// find returns the item of a call that goes on; nil where there is none. It looks only
// at what has not scrolled by.
func (m *screen) find(call string) *item {
	for _, i := range m.items[m.shown:] {
		if i.kind == callItem && i.call == call {
			return i
		}
	}
	return nil
}

// call takes a step of a tool call. Its item begins when it asks or runs; one that is
// refused before is shown with its end.
// The first state that is shown makes the item.
func (m *screen) call(e Event, b activity.ToolState) {
	i := m.find(b.Call)
	if i == nil {
		switch {
		case b.State == activity.Validating, b.State == activity.Scheduled:
			return // it may be refused before anybody need know
		case b.Name == "complete_task" && b.State != activity.Failed:
			return // the end of a task is told as such
		}
		m.endText()
		i = m.begin(&item{kind: callItem, run: e.Run, call: b.Call})
		if e.Below {
			i.who = tool.Escape(e.Agent)
		}
	}
	i.title, i.state = Subject(b), b.State
	switch b.State {
	case activity.Executing:
		i.began = m.now()
		if b.Progress != "" {
			i.progress = b.Progress
		}
	case activity.Success:
		if b.Result != nil {
			m.result(i, b)
		}
		m.close(i)
	case activity.Failed, activity.Cancelled:
		if b.Error != nil {
			// An empty output does not say why the call failed.
			i.text = strings.NewReplacer("\nStdout: (empty)", "", "\nStderr: (empty)", "").Replace(b.Error.Message)
		}
		m.close(i)
	}
}

// close ends the item of a call.
func (m *screen) close(i *item) {
	i.whole, i.took = true, m.elapsedTime(i)
	m.grow(i, len(i.text))
}

// elapsedTime is how long a call has been executing: what a person takes to allow it is
// not its time.
func (m *screen) elapsedTime(i *item) time.Duration {
	if i.began.IsZero() {
		return 0
	}
	return m.now().Sub(i.began)
}

// result takes what a call came to. What only names the tool is not shown: the tools that
// end or pass on a run say no more.
func (m *screen) result(i *item, b activity.ToolState) {
	i.text = cmp.Or(b.Result.Display, b.Result.Content)
	switch {
	case b.Name == "bash":
		i.text = PrintedText(i.text)
	// A difference in the result is shown as one, where no FileChanged has brought it.
	case i.patch == "" && strings.Contains(i.text, "\n@@ "):
		i.patch = removeFence(i.text)
	}
	if b.Name == tool.Escape(strings.TrimSpace(i.text)) {
		i.text = "" // the tools that end or pass on a run say no more
	}
}

// change shows what a call did to a file with the call. A change that the question
// showed is folded, since the person has read it.
func (m *screen) change(b activity.FileChanged) {
	i := m.find(b.Call)
	if i == nil || b.Patch == "" {
		return
	}
	i.seen = (i.patch == "" || i.seen) && m.wasAsked(b.Patch)
	if i.patch != "" {
		i.patch += "\n"
	}
	i.patch += strings.TrimRight(b.Patch, "\n")
	m.grow(i, len(b.Patch))
}

// wasAsked reports whether a question that can still be looked at showed this change.
func (m *screen) wasAsked(patch string) bool {
	text := strings.TrimSpace(hunks(patch))
	for _, i := range slices.Backward(m.items) {
		if i.kind == askedItem && strings.Contains(i.text, text) {
			return true
		}
	}
	return false
}

// Subject names a call by its tool and the argument that tells most. It has the first
// line of the argument. Both are escaped: a model wrote them.
func Subject(b activity.ToolState) string {
	var args map[string]any
	_ = json.Unmarshal(b.Args, &args) // arguments that are no object have no subject
	for _, name := range []string{"agent_name", "file_path", "command", "pattern", "url", "dir_path", "question"} {
		if s, ok := args[name].(string); ok && s != "" {
			line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
			if rest != "" {
				line += " …"
			}
			if task, ok := args["query"].(string); ok && name == "agent_name" {
				task, _, _ = strings.Cut(strings.TrimSpace(task), "\n")
				line += ": " + task
			}
			return tool.Escape(b.Name + " " + line)
		}
	}
	return tool.Escape(b.Name)
}

// removeFence takes away the fence of a block of code that a text is. A text without one
// is returned without blanks at its ends.
func removeFence(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "```") {
		_, s, _ = strings.Cut(s, "\n")
		s = strings.TrimSuffix(strings.TrimSpace(s), "```")
	}
	return strings.TrimRight(s, "\n")
}

// PrintedText returns what a command that went well printed, without the lines that
// the tool says of it. What printed nothing says how it ended.
func PrintedText(display string) string {
	text := removeFence(display)
	const well = "Exit code: 0\n"
	rest, ok := strings.CutPrefix(text, well)
	if !ok {
		return text
	}
	rest = strings.TrimSuffix(rest+"\n", "Stderr: (empty)\n")
	for _, heading := range []string{"Stdout:\n", "Stdout: (empty)\n", "Stderr:\n"} {
		rest = strings.TrimPrefix(rest, heading)
	}
	return cmp.Or(strings.TrimSpace(rest), strings.TrimSpace(well))
}

// seconds shows how long something took; "" for what took no time to speak of. Below ten
// seconds it is to a tenth.
func seconds(d time.Duration) string {
	switch {
	case d < 500*time.Millisecond:
		return ""
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
