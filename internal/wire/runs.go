package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentls/agentls/agents/activity"
)

type (
	// RunParams starts a run.
	RunParams struct {
		Agent         string          `json:"agent,omitempty"`         // absent = the session's, else main, or who it is routed to where agents.autoRoute is on; auto = it is routed
		Strategy      string          `json:"strategy,omitempty"`      // of routing: rule, llm, hybrid; absent = the settings'
		Input         InputBlocks     `json:"input,omitempty"`         // a string, or content blocks; absent only where the agent has a query or runs a task
		Command       *CommandCall    `json:"command,omitempty"`       // a custom command, as agents/parse found it
		Session       string          `json:"session,omitempty"`       // absent = main
		Run           string          `json:"run,omitempty"`           // an id of the client's, so that it can cancel before any answer
		Mode          string          `json:"mode,omitempty"`          // chat, task; absent = the agent's
		Approval      string          `json:"approval,omitempty"`      // plan, ask, edits, auto; absent = the session's
		Model         string          `json:"model,omitempty"`         // instead of the agent's
		References    []string        `json:"references,omitempty"`    // URIs of files that ride along, and resources of MCP servers as @server:uri
		Inputs        json.RawMessage `json:"inputs,omitempty"`        // an object: values of the agent's inputs
		Context       *EditorContext  `json:"context,omitempty"`       // what the person has in the editor
		Queue         bool            `json:"queue,omitempty"`         // wait in order where the agent is busy in this session
		UseBuffers    bool            `json:"useBuffers,omitempty"`    // the agent file's unsaved buffer counts
		Trace         *bool           `json:"trace,omitempty"`         // whether it is traced, and the runs that it leads to; absent = as settings and agents say
		Wait          string          `json:"wait,omitempty"`          // end (default): answered with the result; accept: at once
		WorkDoneToken json.RawMessage `json:"workDoneToken,omitempty"` // progress is reported under it
	}

	// EditorContext is what the person has in the editor (spec 3.6). It rides along
	// in the run's first message, later only what changed since.
	EditorContext = activity.EditorContext

	// ChainParams asks for the chain of a run.
	ChainParams struct {
		Run string `json:"run"` // any of the chain, also one that has ended
	}

	// Chain is the runs of a chain of handoffs, in order.
	Chain []activity.Link

	// SteerParams adds a person's words to a run.
	SteerParams struct {
		// A run that goes on or waits.
		Run   string      `json:"run"`
		Input InputBlocks `json:"input"` // a string, or content blocks
	}

	// SteerResult says that the words will be told, and how many wait before them.
	SteerResult struct {
		// Always true: what cannot be taken is an error.
		Accepted bool `json:"accepted"`
		Position int  `json:"position"` // 0 = the next that is told
	}

	// ResumeParams lets a run go on that is paused or interrupted, or that ended TIMEOUT
	// or MAX_TURNS and is its agent's newest in the session.
	ResumeParams struct {
		// The id that it had.
		Run           string          `json:"run"`
		Session       string          `json:"session,omitempty"`       // where the run is; absent = it is looked for: in the sessions that are open, in main, then in those that a list shows as interrupted or paused
		Extend        *Extend         `json:"extend,omitempty"`        // without it, as much again of the limit that it came to
		Wait          string          `json:"wait,omitempty"`          // end (default), accept
		WorkDoneToken json.RawMessage `json:"workDoneToken,omitempty"` // progress is reported under it
	}

	// Extend is how much more a run may use.
	Extend struct {
		// More turns; like the others, absent or 0 = none, and never negative.
		Turns int `json:"turns,omitempty"`
		// More of run.max_time.
		Seconds int `json:"seconds,omitempty"`
		// More of run.max_tokens, and of the limit of input tokens.
		Tokens int `json:"tokens,omitempty"`
		// More of run.max_cost, in US dollars.
		USD float64 `json:"usd,omitempty"`
	}

	// RunAccepted answers a run with wait: accept.
	RunAccepted struct {
		// Where it runs; it may be main-2, where another window has main.
		Session string `json:"session"`
		// The id that events and agents/cancel name.
		Run string `json:"run"`
	}

	// RunResult is how a run ended (spec 3.5).
	RunResult struct {
		// Where it ran.
		Session string `json:"session"`
		// The run whose result it is: the last one of a chain of handoffs.
		Run string `json:"run"`
		// The agent of that run.
		Agent string `json:"agent"`
		activity.RunFinished
	}

	// CancelParams names what is to end: a run, or all runs of a session, or one call of a run.
	CancelParams struct {
		// The run; required with call.
		Run string `json:"run,omitempty"`
		// All runs of this session, where no run is named.
		Session string `json:"session,omitempty"`
		// One call of the run, which goes on.
		Call string `json:"call,omitempty"`
	}

	// CancelResult says whether there was anything to cancel.
	CancelResult struct {
		// False where nothing of that goes on, which is no error.
		Cancelled bool `json:"cancelled"`
	}

	// ActivityParams is one event (spec 2.4, 3.2). Data depends on Type. A
	// message that stands for several, merged or left out, covers FromSeq to Seq.
	ActivityParams struct {
		// The event's number in its session: from 1, without gaps.
		Seq uint64 `json:"seq"`
		// The first event that the message stands for; absent = seq alone.
		FromSeq uint64 `json:"fromSeq,omitzero"`
		// RFC 3339 with ms, in UTC.
		Time string `json:"time"`
		// The session that it happened in.
		Session string `json:"session"`
		// The run that it is about; absent for events of the session itself.
		Run string `json:"run,omitempty"`
		// The run that waits for this one, where it was delegated.
		ParentRun string `json:"parentRun,omitempty"`
		// From 1; absent outside of turns.
		Turn int `json:"turn,omitzero"`
		// The agent whose run it is.
		Agent string `json:"agent,omitempty"`
		// The same along a chain of handoffs.
		CorrelationID string `json:"correlationId,omitempty"`
		Context       string `json:"context,omitempty"` // of a delegated run: its own
		// The kind of event; says what data is.
		Type string `json:"type"`
		// The body; a client leaves out types and members that it does not know.
		Data json.RawMessage `json:"data"`
		// How long what ended took; absent where nothing ended.
		DurationMs int64  `json:"durationMs,omitzero"`
		Activity   string `json:"activity,omitempty"` // gemini-cli's name, where it has one

		IsSubagentActivityEvent bool   `json:"isSubagentActivityEvent,omitzero"` // with Activity
		AgentName               string `json:"agentName,omitempty"`              // with Activity
	}

	// StatusParams says how the daemon is.
	StatusParams struct {
		Health string `json:"health"` // ok, warning, error
		// What is wrong, in a sentence.
		Message string `json:"message,omitempty"`
		// Runs that go on in this daemon.
		ActiveRuns int `json:"activeRuns"`
		Waiting    int `json:"waiting"` // questions that wait for a person
		// What fixes it. It is absent in this version: the message says what to do.
		Command string `json:"command,omitempty"`
	}

	// FilesWrittenParams names files that a run wrote to disk.
	FilesWrittenParams struct {
		// The run that wrote.
		Run string `json:"run"`
		// The files; some may be gone.
		URIs []string `json:"uris"`
	}
)

// InputBlocks is a run's input: on the wire a string, or a list of content
// blocks.
type InputBlocks []activity.ContentBlock

// UnmarshalJSONFrom reads a string as one block of text. Its errors name the
// place in the input.
func (b *InputBlocks) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		var text string
		if err := jsonv2.UnmarshalDecode(dec, &text); err != nil {
			return err
		}
		*b = InputBlocks{{Type: "text", Text: text}}
		return nil
	case '[':
		return jsonv2.UnmarshalDecode(dec, (*[]activity.ContentBlock)(b))
	}
	if err := dec.SkipValue(); err != nil {
		return err
	}
	return errors.New("must be a string or a list of content blocks")
}

// Check implements the server's check of parameters.
func (p *RunParams) Check() (string, error) {
	for i := range p.Input {
		if at, err := checkBlock(&p.Input[i]); err != nil {
			return fmt.Sprintf("input[%d].%s", i, at), err
		}
	}
	if at, err := checkSession(p.Session); err != nil {
		return at, err
	}
	if p.Run != "" && !runForm.MatchString(p.Run) {
		return "run", fmt.Errorf("is %q, which cannot name a run; use 1 to 128 letters, digits, dots, dashes, underscores and colons", p.Run)
	}
	if at, err := p.Command.check(); err != nil {
		return at, err
	}
	if at, err := oneOf("strategy", p.Strategy, "", "rule", "llm", "hybrid"); err != nil {
		return at, err
	}
	if at, err := oneOf("mode", p.Mode, "", "chat", "task"); err != nil {
		return at, err
	}
	if at, err := oneOf("approval", p.Approval, "", "plan", "ask", "edits", "auto"); err != nil {
		return at, err
	}
	return oneOf("wait", p.Wait, "", "end", "accept")
}

// Check implements the server's check of parameters.
func (p *ChainParams) Check() (string, error) { return checkRequired("run", p.Run) }

// Check implements the server's check of parameters.
func (p *SteerParams) Check() (string, error) {
	if at, err := checkRequired("run", p.Run); err != nil {
		return at, err
	}
	if len(p.Input) == 0 {
		return "input", fmt.Errorf("is required: a string or content blocks")
	}
	for i := range p.Input {
		if at, err := checkBlock(&p.Input[i]); err != nil {
			return fmt.Sprintf("input[%d].%s", i, at), err
		}
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *ResumeParams) Check() (string, error) {
	if at, err := checkRequired("run", p.Run); err != nil {
		return at, err
	}
	if at, err := checkSession(p.Session); err != nil {
		return at, err
	}
	if e := p.Extend; e != nil {
		for _, n := range []struct {
			at       string
			negative bool
		}{{"turns", e.Turns < 0}, {"seconds", e.Seconds < 0}, {"tokens", e.Tokens < 0}, {"usd", e.USD < 0}} {
			if n.negative {
				return "extend." + n.at, fmt.Errorf("is negative")
			}
		}
		if most := 1_000_000_000; e.Seconds > most { // more would not fit into a time with what there is
			return "extend.seconds", fmt.Errorf("is more than %d, which is 31 years", most)
		}
	}
	return oneOf("wait", p.Wait, "", "end", "accept")
}

// Check implements the server's check of parameters.
func (p *CancelParams) Check() (string, error) {
	if p.Run == "" && p.Session == "" {
		return "run", fmt.Errorf("is required, or session")
	}
	if p.Call != "" && p.Run == "" {
		return "run", fmt.Errorf("is required with call")
	}
	return "", nil
}

// The forms of ids that a client chooses. That of a session is the one of
// agents/session.CheckID, since it names the files of the session's log.
var (
	// A count in the pattern would be compiled at each start of the process, which
	// costs a quarter of a millisecond.
	sessionForm = bounded{regexp.MustCompile(`^[A-Za-z0-9._-]+$`), 64}
	sessionPart = regexp.MustCompile(`\.[0-9]+$`)
	runForm     = bounded{regexp.MustCompile(`^[A-Za-z0-9._:-]+$`), 128}
	imageForm   = bounded{regexp.MustCompile(`^image/[A-Za-z0-9.+_-]+$`), 127}
)

// bounded is a pattern with a limit of length, in bytes.
type bounded struct {
	form *regexp.Regexp
	most int
}

// MatchString reports whether s fits the pattern and is not too long.
func (b bounded) MatchString(s string) bool { return len(s) <= b.most && b.form.MatchString(s) }

// checkBlock refuses a block that lacks what its type is about (spec 2.2). The
// path is within the block.
func checkBlock(b *activity.ContentBlock) (string, error) {
	if at, err := oneOf("type", b.Type, "text", "image", "resource_link", "resource", "diagnostics"); err != nil {
		return at, err
	}
	type member struct{ path, value string }
	var needed []member
	switch b.Type {
	case "text":
		needed = []member{{"text", b.Text}}
	case "image":
		needed = []member{{"data", b.Data}, {"mimeType", b.MimeType}}
	case "resource_link":
		needed = []member{{"uri", b.URI}}
	case "resource":
		if b.Resource == nil {
			return "resource", fmt.Errorf("is required in a block of type resource")
		}
		needed = []member{{"resource.uri", b.Resource.URI}}
	case "diagnostics":
		needed = []member{{"uri", b.URI}, {"items", string(b.Items)}}
	}
	for _, m := range needed {
		if m.value == "" {
			return m.path, fmt.Errorf("is required in a block of type %s", b.Type)
		}
	}
	switch {
	case b.Type == "image" && !isBase64(b.Data):
		return "data", fmt.Errorf("is no base64")
	case b.Type == "image" && !imageForm.MatchString(b.MimeType):
		return "mimeType", fmt.Errorf("is %q, which is no type of images; use image/png, for example", b.MimeType)
	}
	return "", nil
}

// isBase64 reports whether data is base64 of RFC 4648, padded. Nothing is kept
// of what it decodes to: images are large.
func isBase64(data string) bool {
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	return err == nil
}

// checkRequired refuses an empty value at a path.
func checkRequired(path, value string) (string, error) {
	if value == "" {
		return path, fmt.Errorf("is required")
	}
	return "", nil
}

// oneOf refuses a value that is none of the allowed ones. "" among them means
// that the member may be absent, which the message need not offer.
func oneOf(path, value string, allowed ...string) (string, error) {
	if slices.Contains(allowed, value) {
		return "", nil
	}
	var names []string
	for _, a := range allowed {
		if a != "" {
			names = append(names, a)
		}
	}
	last := len(names) - 1
	choice := names[last]
	if last > 0 {
		choice = strings.Join(names[:last], ", ") + " or " + choice
	}
	if value == "" {
		return path, fmt.Errorf("is required: %s", choice)
	}
	return path, fmt.Errorf("is %q, want %s", value, choice)
}
