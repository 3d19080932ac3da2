package agenttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/condition"
)

// Came is what a run of a case came to. It is only read.
type Came struct {
	Events []activity.Event                 // of the session, in order
	Result activity.RunFinished             // of the run, or the last one of its chain
	File   func(path string) (string, bool) // a file of the workspace when it has ended
}

// place names an event of the session.
func place(e activity.Event) string {
	return fmt.Sprintf("event %d (%s of %s)", e.Seq, e.Body.Type(), e.Agent)
}

// Failure is what did not come as a test expects it.
type Failure struct {
	// Path leads to what the test says of it: keys, and indices in decimal, below the
	// test. It may lead further than the test does.
	Path []string
	// Text is what was expected, what came, and where in the session.
	Text string
}

// Check returns what did not come as it was expected. nil = all came. Each check is by
// itself, so that one failure hides no other; of lists the first place that differs is
// told.
func (c *Case) Check(came Came) []Failure {
	k := &checker{case_: c, came: came}
	k.reason()
	k.route()
	k.tools()
	k.handoffs()
	k.confirmations()
	k.output()
	k.files()
	return k.wrong
}

// checker holds one run to one case.
// Methods add to wrong and go on; each looks at one key of expect.
type checker struct {
	case_ *Case
	came  Came
	wrong []Failure
}

// differs notes that what a path below expect says did not come.
func (k *checker) differs(expected, came, where string, path ...string) {
	line := fmt.Sprintf("%s: expected %s, came %s", pathString(path), expected, came)
	if where != "" {
		line += ", at " + where
	}
	k.wrong = append(k.wrong, Failure{append([]string{"expect"}, path...), line})
}

// pathString is a path as a person writes it: tools[0].args.
func pathString(path []string) string {
	var b strings.Builder
	for i, step := range path {
		if _, err := strconv.Atoi(step); err == nil && i > 0 {
			b.WriteString("[" + step + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// last is the newest event, as a place.
func (k *checker) last() string {
	if n := len(k.came.Events); n > 0 {
		return place(k.came.Events[n-1])
	}
	return ""
}

// reason checks how the run ended.
func (k *checker) reason() {
	want, got := cmp.Or(k.case_.Expect.Reason, string(activity.Goal)), string(k.came.Result.Reason)
	if want == got {
		return
	}
	if k.came.Result.Error != nil {
		got += fmt.Sprintf(" (%s)", clip(k.came.Result.Error.Message))
	}
	k.differs(want, got, k.last(), "reason")
}

// route checks who was picked, by the first decision of the session.
// A session without a decision is a failure with what to change in the test.
func (k *checker) route() {
	if k.case_.Expect.Route == "" {
		return
	}
	for _, e := range k.came.Events {
		if b, ok := e.Body.(activity.RouteDecided); ok {
			if b.Agent != k.case_.Expect.Route {
				k.differs(k.case_.Expect.Route, cmp.Or(b.Agent, "nobody")+" ("+b.Text+")", place(e), "route")
			}
			return
		}
	}
	k.differs(k.case_.Expect.Route, "no routing; give the test agent: auto", "", "route")
}

// ended is a call that has ended.
type ended struct {
	activity.ToolState
	at activity.Event
}

// calls returns the calls that have ended, without those that end or pass on a run.
func (k *checker) calls() (list []ended) {
	for _, e := range k.came.Events {
		if b, ok := e.Body.(activity.ToolState); ok && b.State.Terminal() && b.Name != "complete_task" &&
			!strings.HasPrefix(b.Name, "transfer_to_") {
			list = append(list, ended{b, e})
		}
	}
	return list
}

// tools checks the calls, in the order in which they ended.
// no_tools is about calls that ran, also in vain: one that was refused did nothing. The list
// is exact where it is given, and an empty one expects no call.
func (k *checker) tools() {
	ran := make(map[string]bool)
	for _, e := range k.came.Events {
		if b, ok := e.Body.(activity.ToolState); ok && b.State == activity.Executing {
			ran[b.Call] = true
		}
	}
	calls := k.calls()
	for _, c := range calls {
		if slices.Contains(k.case_.Expect.NoTools, c.Name) && (ran[c.Call] || c.State == activity.Success) {
			k.differs(c.Name+" not to run", fmt.Sprintf("%s(%s)", c.Name, c.Args), place(c.at), "no_tools")
		}
	}
	if k.case_.Expect.Tools == nil {
		return
	}
	want := *k.case_.Expect.Tools
	for i := range max(len(want), len(calls)) {
		what := []string{"tools", strconv.Itoa(i)}
		switch {
		case i >= len(want):
			k.differs("no more calls", fmt.Sprintf("%s(%s)", calls[i].Name, calls[i].Args), place(calls[i].at), what...)
			return
		case i >= len(calls):
			k.differs(want[i].Name, "no call", k.last(), what...)
			return
		case want[i].Name != calls[i].Name:
			k.differs(want[i].Name, fmt.Sprintf("%s(%s)", calls[i].Name, calls[i].Args), place(calls[i].at), what...)
			return
		}
		k.call(what, want[i], calls[i])
	}
}

// call checks the arguments that are expected, the state and the result of one call.
//
// Arguments that are not named may be anything. The result is looked at only where the
// state is as expected.
func (k *checker) call(what []string, want ToolCall, got ended) {
	var args map[string]any
	_ = json.Unmarshal(got.Args, &args) // a call whose arguments are no object has none
	for _, name := range slices.Sorted(maps.Keys(want.Args)) {
		if !equal(want.Args[name], args[name]) {
			k.differs(show(want.Args[name]), show(args[name]), place(got.at), append(what, "args", name)...)
		}
	}
	if state := cmp.Or(want.State, string(activity.Success)); state != string(got.State) {
		k.differs(state, fmt.Sprintf("%s (%s)", got.State, clip(outputOf(got.ToolState))), place(got.at),
			append(what, "state")...)
	} else if !strings.Contains(outputOf(got.ToolState), want.Result) {
		k.differs(fmt.Sprintf("a text with %q", want.Result), fmt.Sprintf("%q", clip(outputOf(got.ToolState))),
			place(got.at), append(what, "result")...)
	}
}

// outputOf is what the model got of a call.
func outputOf(s activity.ToolState) string {
	switch {
	case s.Result != nil:
		return s.Result.Content
	case s.Error != nil:
		return s.Error.Message
	}
	return ""
}

// handoffs checks to whom control passed, in order.
func (k *checker) handoffs() {
	if k.case_.Expect.Handoffs == nil {
		return
	}
	want, where := *k.case_.Expect.Handoffs, ""
	var came []string
	for _, e := range k.came.Events {
		if b, ok := e.Body.(activity.HandoffStarted); ok {
			n := len(came)
			if wanted := n < len(want) && want[n] == b.To; !wanted && where == "" {
				where = place(e)
			}
			came = append(came, b.To)
		}
	}
	if !slices.Equal(came, want) {
		k.differs(joinNames(want), joinNames(came), cmp.Or(where, k.last()), "handoffs")
	}
}

// confirmations checks what the person was asked, and what they answered.
// A question that nobody answered has no outcome. Where more or fewer came than expected
// the comparison ends at the first.
func (k *checker) confirmations() {
	if k.case_.Expect.Confirmations == nil {
		return
	}
	type asked struct{ tool, outcome string }
	var came []*asked
	byID, at := make(map[string]*asked), make(map[int]activity.Event)
	for _, e := range k.came.Events {
		switch b := e.Body.(type) {
		case activity.ConfirmationAsked:
			at[len(came)] = e
			byID[b.ID] = &asked{tool: b.Tool}
			came = append(came, byID[b.ID])
		case activity.ConfirmationAnswered:
			if byID[b.ID] != nil {
				byID[b.ID].outcome = b.Outcome
			}
		}
	}
	want := *k.case_.Expect.Confirmations
	for i := range max(len(want), len(came)) {
		what := []string{"confirmations", strconv.Itoa(i)}
		switch {
		case i >= len(want):
			k.differs("no more questions", "one about "+came[i].tool, place(at[i]), what...)
			return
		case i >= len(came):
			k.differs("a question about "+want[i].Tool, "none", k.last(), what...)
			return
		case want[i].Tool != came[i].tool:
			k.differs("a question about "+want[i].Tool, "one about "+came[i].tool, place(at[i]), what...)
		case want[i].Outcome != "" && want[i].Outcome != came[i].outcome:
			k.differs(want[i].Outcome, cmp.Or(came[i].outcome, "no answer"), place(at[i]), append(what, "outcome")...)
		}
	}
}

// output checks what the run said at its end.
// The text is what was said, or the structured output where nothing was said.
func (k *checker) output() {
	want := k.case_.Expect.Output
	if want == nil {
		return
	}
	r := k.came.Result
	text := strings.TrimSpace(r.Text)
	if len(r.Output) > 0 && text == "" {
		text = string(r.Output)
	}
	if want.Equals != "" && strings.TrimSpace(want.Equals) != text {
		k.differs(fmt.Sprintf("%q", want.Equals), fmt.Sprintf("%q", clip(text)), k.last(), "output", "equals")
	}
	for _, part := range want.Contains {
		if !strings.Contains(text, part) && !strings.Contains(string(r.Output), part) {
			k.differs(fmt.Sprintf("a text with %q", part), fmt.Sprintf("%q", clip(text)),
				k.last(), "output", "contains")
		}
	}
	if want.Matches != "" && !regexp.MustCompile(want.Matches).MatchString(text) { // it compiled when it was read
		k.differs(want.Matches, fmt.Sprintf("%q", clip(text)), k.last(), "output", "matches")
	}
	if want.Schema != nil {
		if err := fits(want.Schema, r.Output, text); err != nil {
			k.differs("an output that fits", fmt.Sprintf("%s (%v)", clip(cmp.Or(string(r.Output), text)), err),
				k.last(), "output", "schema")
		}
	}
	if want.Expr != "" {
		k.expr(want.Expr, r, text)
	}
}

// expr checks a condition over the result. One that cannot be judged does not hold.
//
// It may ask for output, text, reason, turns, tools and agents. The failure shows what output and text were.
func (k *checker) expr(text string, r activity.RunFinished, said string) {
	var output any
	_ = json.Unmarshal(r.Output, &output) // none is nil
	tools, agents := []any{}, []any{}
	for _, c := range k.calls() {
		tools = append(tools, c.Name)
	}
	for _, link := range r.Chain {
		agents = append(agents, link.Agent)
	}
	holds, err := condition.Compile(text)
	if err == nil {
		var ok bool
		if ok, err = holds.Holds(map[string]any{"output": output, "text": said, "reason": string(r.Reason),
			"turns": r.Turns, "tools": tools, "agents": agents}); ok {
			return
		}
	}
	came := "false"
	if err != nil {
		came = err.Error()
	}
	k.differs(text, came+fmt.Sprintf(" with output %s and text %q", cmp.Or(string(r.Output), "null"), clip(said)),
		k.last(), "output", "expr")
}

// files checks what files of the workspace contain, by their paths.
// A null expects that there is no file.
func (k *checker) files() {
	for _, path := range slices.Sorted(maps.Keys(k.case_.Expect.Files)) {
		want := k.case_.Expect.Files[path]
		text, there := k.came.File(path)
		switch {
		case want == nil && there:
			k.differs("no file", fmt.Sprintf("%q", clip(text)), "", "files", path)
		case want != nil && !there:
			k.differs(fmt.Sprintf("a text with %q", *want), "no file", "", "files", path)
		case want != nil && !strings.Contains(text, *want):
			k.differs(fmt.Sprintf("a text with %q", *want), fmt.Sprintf("%q", clip(text)), "", "files", path)
		}
	}
}

// compileSchema compiles a JSON Schema; nil for none. It refers to no other document.
func compileSchema(schema map[string]any) (*jsonschema.Schema, error) {
	if schema == nil {
		return nil, nil
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
	if err := c.AddResource("output.json", document); err != nil {
		return nil, err
	}
	return c.Compile("output.json")
}

// fits holds an output, or the text where it is JSON, to a schema.
// The error says what does not fit, or that it is no JSON.
func fits(schema map[string]any, output json.RawMessage, text string) error {
	compiled, err := compileSchema(schema)
	if err != nil {
		return err
	}
	if len(output) == 0 {
		output = json.RawMessage(text)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(output))
	if err != nil {
		return fmt.Errorf("it is no JSON")
	}
	return compiled.Validate(value)
}

// equal compares values as JSON has them. 1 and 1.0 are one number.
func equal(a, b any) bool {
	var left, right any
	for _, pair := range []struct {
		from any
		to   *any
	}{{a, &left}, {b, &right}} {
		data, err := json.Marshal(pair.from)
		if err != nil || json.Unmarshal(data, pair.to) != nil {
			return false
		}
	}
	return reflect.DeepEqual(left, right)
}

// show is a value as JSON, cut for a message.
func show(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return clip(string(data))
}

// joinNames lists names; none for no name.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
