package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// team is agents that pass control on, over daemons that follow each other.
type team struct {
	t       testing.TB
	folder  string
	dir     string // of the sessions
	catalog *registry.Registry

	limits settings.Limits

	mu       sync.Mutex
	acts     map[string]func(ctx context.Context, req *model.Request) (model.Answer, error) // by what the system prompt begins with
	requests map[string]*model.Request                                                      // the newest, by the same
	answered time.Time                                                                      // when the one before had answered
	switched []time.Duration
}

// newTeam returns agents by their names, each with the lines of its file besides the name.
func newTeam(t testing.TB, agents map[string]string) *team {
	w := &team{t: t, limits: settings.Limits{ModelCalls: 1000, Depth: 2, Live: 8, Runs: 1000, InputTokens: 1 << 30}, folder: t.TempDir(), dir: t.TempDir(), acts: make(map[string]func(context.Context, *model.Request) (model.Answer, error)), requests: make(map[string]*model.Request)}
	w.catalog = registry.New(registry.Config{Places: []registry.Place{{Scope: definition.Project, Dir: w.folder, Folder: w.folder}}})
	for name, front := range agents {
		w.write(name, front)
	}
	return w
}

func (w *team) write(name, front string) {
	text := "---\nkind: agent\nname: " + name + "\ntitle: " + name + "\ndescription: d\nmodel: flash\n" + front + "\n---\n" + name + " works.\n"
	if err := os.WriteFile(filepath.Join(w.folder, name+".md"), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.load()
}

func (w *team) load() {
	if _, err := w.catalog.Load(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// daemon is the next one.
func (w *team) daemon() *Service {
	s := NewService(context.Background(), Config{
		Agents: w.catalog.Snapshot, Sessions: session.New(session.Config{Dir: w.dir, Now: time.Now}),
		Table: model.NewTable(time.Now), Folders: func() []string { return []string{w.folder} }, Trusted: func(string) bool { return true },
		Settings: func(string) *Settings {
			return &Settings{Values: settings.Values{Limits: w.limits, MaxHandoffDepth: 5}}
		},
		Provider: func(string) (model.Model, *model.Retries, error) { return w, nil, nil },
		Approval: guard.Asks, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// Generate implements model.Model.
func (w *team) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		who, _, _ := strings.Cut(req.System, " works.")
		w.mu.Lock()
		if !w.answered.IsZero() {
			w.switched = append(w.switched, time.Since(w.answered))
		}
		w.requests[who] = req
		act := w.acts[who]
		w.mu.Unlock()
		answer, err := act(ctx, req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		w.mu.Lock()
		w.answered = time.Now()
		w.mu.Unlock()
		yield(model.Chunk{Answer: &answer}, nil)
	}
}

func (w *team) request(who string) *model.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[who]
}

// says has an agent answer with a text.
func (w *team) says(who, text string) {
	w.acts[who] = func(context.Context, *model.Request) (model.Answer, error) {
		return model.Answer{Message: model.Message{Role: model.Reply, Parts: []model.Part{{Text: text}}}, Finish: model.Stop, Usage: model.Usage{InputTokens: 10, OutputTokens: 1, TotalTokens: 11}, Counted: true}, nil
	}
}

// passes has an agent pass control to another one.
func (w *team) passes(who, to, said string) {
	w.acts[who] = func(context.Context, *model.Request) (model.Answer, error) {
		args := json.RawMessage(`{"reason":"r of ` + who + `"}`)
		return model.Answer{Message: model.Message{Role: model.Reply, Parts: []model.Part{{Text: said}, {Call: &model.Call{Name: "transfer_to_" + to, Args: args}}}}, Finish: model.Stop, Usage: model.Usage{InputTokens: 10, OutputTokens: 1, TotalTokens: 11}, Counted: true}, nil
	}
}

// stalls has an agent never answer; the channel is closed when it is asked.
func (w *team) stalls(who string) <-chan struct{} {
	asked := make(chan struct{})
	var once sync.Once
	w.acts[who] = func(ctx context.Context, _ *model.Request) (model.Answer, error) {
		once.Do(func() { close(asked) })
		<-ctx.Done()
		return model.Answer{}, ctx.Err()
	}
	return asked
}

func (w *team) start(s *Service, agent, id string) *Live {
	w.t.Helper()
	live, err := s.Start(context.Background(), Start{Agent: agent, Run: id, Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: away{}, Client: context.Background()})
	if err != nil {
		w.t.Fatal(err)
	}
	return live
}

// links is a chain in short: agent<from:reason.
func links(chain []activity.Link) string {
	var all []string
	for _, l := range chain {
		all = append(all, strings.TrimSuffix(l.Agent+"<"+l.From+":"+l.Reason, "<:")+fmt.Sprintf(" %d", l.Usage.TotalTokens))
	}
	return strings.Join(all, ", ")
}

// three is a chain of three agents.
func three(t testing.TB) *team {
	return newTeam(t, map[string]string{"one": "handoffs: [{to: two}]", "two": "handoffs: [{to: three}]", "three": ""})
}

const wholeChain = "one 11, two<one:r of one 11, three<two:r of two 11"

// TestChainIsAnsweredByItsLast: the request has the last agent's result with the
// chain, and the runs share the correlation id, each with a context of its own.
func TestChainIsAnsweredByItsLast(t *testing.T) {
	w := three(t)
	w.passes("one", "two", "I begin.")
	w.passes("two", "three", "I go on.")
	w.says("three", "All done.")
	s := w.daemon()
	live := w.start(s, "one", "first")
	<-live.Done()
	got := live.Result()
	if run, agent := live.By(); agent != "three" || run == "first" || got.Reason != activity.Goal || got.Text != "All done." || links(got.Chain) != wholeChain {
		t.Errorf("%s of %s: %s %q, %s", run, agent, got.Reason, got.Text, links(got.Chain))
	}
	chain, err := s.Chain(got.Chain[1].Run)
	if err != nil || links(chain) != wholeChain {
		t.Errorf("%v %s", err, links(chain))
	}
	seen := make(map[string]bool)
	conv, _, _ := s.open("")
	for _, r := range conv.Runs() {
		seen[r.Run] = true
	}
	if len(seen) != 3 || len(s.Live()) != 0 {
		t.Errorf("%d runs, %d go on", len(seen), len(s.Live()))
	}
	if text := w.request("three").Messages[0].Parts[0].Text; text != "go" || len(w.request("three").Messages) != 1 {
		t.Errorf("the third is told %q", text)
	}
	// Also when nobody has the session open, and when another daemon has it.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if chain, err := w.daemon().Chain("first"); err != nil || links(chain) != wholeChain {
			t.Errorf("%v %s", err, links(chain))
		}
	}
}

// TestNobodyHearsWhatIsNotPassedOver: twenty secrets that are told to one agent are not
// in the requests of the others, unless the conversation is passed over.
func TestNobodyHearsWhatIsNotPassedOver(t *testing.T) {
	var secrets []string
	for i := range 20 {
		secrets = append(secrets, fmt.Sprintf("secret-%02d-kestrel", i))
	}
	for _, whole := range []bool{false, true} {
		w := newTeam(t, map[string]string{"one": fmt.Sprintf("handoffs: [{to: two, include_context: %t}]", whole), "two": "handoffs: [{to: three, include_context: false}]", "three": ""})
		w.passes("one", "two", strings.Join(secrets, " "))
		w.passes("two", "three", "I go on.")
		w.says("three", "All done.")
		live := w.start(w.daemon(), "one", "first")
		<-live.Done()
		for who, want := range map[string]bool{"two": whole, "three": false} {
			data, err := json.Marshal(w.request(who))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if got := strings.Contains(string(data), secret); got != want {
					t.Errorf("passed over %t: %s hears %s: %t", whole, who, secret, got)
				}
			}
		}
	}
}

// TestSuccessorsAreTainted: what the first agent got of the web counts for all that
// follow it, since they are told of it.
func TestSuccessorsAreTainted(t *testing.T) {
	w := three(t)
	w.passes("one", "two", "I begin.")
	w.passes("two", "three", "I go on.")
	w.says("three", "All done.")
	s := w.daemon()
	live, err := s.Start(t.Context(), Start{Agent: "one", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Taint: tool.Web, Frontend: away{}, Client: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	conv, _, _ := s.open("")
	tainted := make(map[string]string)
	for _, link := range live.Result().Chain {
		tainted[link.Agent] = conv.Taints()[link.Run]
	}
	if want := map[string]string{"one": "web", "two": "web", "three": "web"}; !maps.Equal(tainted, want) {
		t.Errorf("%v", tainted)
	}
}

// TestChainSharesTheLimits: who takes over may use what the runs before it left of the
// limits of the tree, and not as much again.
func TestChainSharesTheLimits(t *testing.T) {
	w := three(t)
	w.limits.ModelCalls = 2
	w.passes("one", "two", "I begin.")
	w.passes("two", "three", "I go on.")
	w.says("three", "All done.")
	s := w.daemon()
	live := w.start(s, "one", "first")
	for s.Waiting() == 0 { // it is paused, and asks
		time.Sleep(time.Millisecond)
	}
	s.Cancel("first", "")
	<-live.Done()
	if got := live.Result(); got.Reason == activity.Goal || len(got.Chain) != 3 || got.Usage.TotalTokens != 0 {
		t.Errorf("%s %s", got.Reason, links(got.Chain))
	}
}

// TestSuccessorHasWhatAPersonAdded: who takes over is not charged for calls that a person
// allowed on top.
func TestSuccessorHasWhatAPersonAdded(t *testing.T) {
	w := newTeam(t, map[string]string{"one": "handoffs: [{to: two}]", "two": ""})
	w.limits.ModelCalls = 2
	w.says("two", "All done.")
	n := 0
	w.acts["one"] = func(ctx context.Context, req *model.Request) (model.Answer, error) {
		if n++; n < 3 {
			return calls("nothing", fmt.Sprintf(`{"n":%d}`, n)), nil
		}
		w.passes("one", "two", "I begin.")
		return w.acts["one"](ctx, req)
	}
	s := w.daemon()
	live := w.start(s, "one", "first")
	for s.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := s.Resume(t.Context(), Resume{Run: "first", Frontend: away{}, Client: context.Background()}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-live.Done():
	case <-time.After(time.Minute):
		s.Cancel("first", "")
		<-live.Done()
	}
	if got := live.Result(); got.Reason != activity.Goal || got.Text != "All done." {
		t.Errorf("%s %q", got.Reason, got.Text)
	}
}

// TestSEC09UnreviewedTargetsAreNotTold: a model is told nothing of the file of an agent
// that has to be looked at first.
func TestSEC09UnreviewedTargetsAreNotTold(t *testing.T) {
	w := newTeam(t, map[string]string{"one": "handoffs: [{to: two}]\nsubagents: [two]", "two": ""})
	w.says("one", "Done.")
	for _, reviewed := range []bool{true, false} {
		s := w.apart()
		s.Reviewed = func(d *definition.Definition) error {
			if d.Name == "two" && !reviewed {
				return errors.New("two is new")
			}
			return nil
		}
		<-w.start(s, "one", "first").Done()
		told := fmt.Sprint(w.request("one").Tools)
		for _, name := range []string{"transfer_to_two", tool.Delegate} {
			if strings.Contains(told, name) != reviewed {
				t.Errorf("reviewed %t: %s", reviewed, told)
			}
		}
	}
}

// TestChildThatHandsOver: who delegated gets the result of who took over.
func TestChildThatHandsOver(t *testing.T) {
	w := newTeam(t, map[string]string{"caller": "subagents: [one]", "one": "handoffs: [{to: two}]", "two": ""})
	w.passes("one", "two", "I begin.")
	w.says("two", "The child's chain is done.")
	w.acts["caller"] = func(ctx context.Context, req *model.Request) (model.Answer, error) {
		if len(req.Messages) == 1 {
			return calls("delegate_to_agent", `{"agent_name":"one","query":"do it"}`), nil
		}
		w.says("caller", "Thanks.")
		return w.acts["caller"](ctx, req)
	}
	live := w.start(w.daemon(), "caller", "first")
	<-live.Done()
	result := w.request("caller").Messages[2].Parts[0].Result
	if got := live.Result(); got.Text != "Thanks." || result == nil || result.Error || !strings.Contains(result.Content, "The child's chain is done.") || len(got.Chain) != 1 {
		t.Errorf("%s %q, %+v", got.Reason, got.Text, result)
	}
	if text := w.request("two").Messages[0].Parts[0].Text; text != "do it" {
		t.Errorf("who took over is asked %q", text)
	}
}

// TestCancelInTheThirdAgent: any id of the chain ends who has control.
func TestCancelInTheThirdAgent(t *testing.T) {
	for _, which := range []int{0, 1, 2} {
		w := three(t)
		w.passes("one", "two", "I begin.")
		w.passes("two", "three", "I go on.")
		asked := w.stalls("three")
		s := w.daemon()
		live := w.start(s, "one", "first")
		<-asked
		chain, err := s.Chain("first")
		if err != nil || len(chain) != 3 {
			t.Fatalf("%v %s", err, links(chain))
		}
		if said, err := s.Steer("first", []activity.ContentBlock{{Type: "text", Text: "hurry"}}); err != nil || said == nil {
			t.Errorf("who has control is told nothing: %v", err)
		}
		if !s.Cancel(chain[which].Run, "") {
			t.Errorf("%d: nothing to cancel", which)
		}
		<-live.Done()
		if got := live.Result(); got.Reason != activity.Aborted || len(got.Chain) != 3 {
			t.Errorf("%d: %s %s", which, got.Reason, links(got.Chain))
		}
		if n := len(s.Live()); n != 0 {
			t.Errorf("%d runs go on", n)
		}
	}
}

// TestTargetThatIsGone: an agent whose file was deleted while its predecessor worked is
// not found, and the run goes on.
func TestTargetThatIsGone(t *testing.T) {
	w := three(t)
	turns := 0
	w.acts["one"] = func(ctx context.Context, req *model.Request) (model.Answer, error) {
		if turns++; turns > 1 {
			w.says("one", "I do it myself.")
			return w.acts["one"](ctx, req)
		}
		if err := os.Remove(filepath.Join(w.folder, "two.md")); err != nil {
			t.Error(err)
		}
		w.load()
		return calls("transfer_to_two", `{"reason":"r"}`), nil
	}
	live := w.start(w.daemon(), "one", "first")
	<-live.Done()
	got := live.Result()
	result := w.request("one").Messages[2].Parts[0].Result
	if got.Reason != activity.Goal || got.Text != "I do it myself." || result == nil || !strings.Contains(result.Content, "AGENT_NOT_FOUND") {
		t.Errorf("%s %q, %+v", got.Reason, got.Text, result)
	}
}

// cutOff ends a daemon while the third agent of the chain "first" waits for its model.
func (w *team) cutOff() {
	w.t.Helper()
	w.passes("one", "two", "I begin.")
	w.passes("two", "three", "I go on.")
	asked := w.stalls("three")
	s := w.daemon()
	live := w.start(s, "one", "first")
	<-asked
	if err := s.Close(); err != nil {
		w.t.Fatal(err)
	}
	<-live.Done()
}

// TestSuccessorIsResumed: a chain that the end of a daemon cut off goes on by the id of
// the run that began it, and its agent knows how it came to have control.
func TestSuccessorIsResumed(t *testing.T) {
	w := three(t)
	w.cutOff()
	before := w.request("three").System
	w.says("three", "All done.")
	live, err := w.daemon().Resume(t.Context(), Resume{Run: "first", Frontend: away{}, Client: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	if live.start.from.project != w.folder {
		t.Errorf("who took over is held to the project %q", live.start.from.project)
	}
	if got := live.Result(); got.Reason != activity.Goal || got.Text != "All done." || len(got.Chain) != 3 || !strings.HasPrefix(links(got.Chain), "one 11, two<one:r of one 11, three<two:r of two") {
		t.Errorf("%s %q %s", got.Reason, got.Text, links(got.Chain))
	}
	if after := w.request("three").System; after != before || !strings.Contains(after, "> two: I go on.") || strings.Contains(after, "I begin.") {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// pend leaves a session in which a daemon ended between a handoff of one to two and the
// run that follows it.
func (w *team) pend() {
	t := w.t
	store := session.New(session.Config{Dir: w.dir, Now: time.Now})
	conv, err := store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	blob, err := conv.PutBlob([]byte("> one: I begin."))
	if err != nil {
		t.Fatal(err)
	}
	o := activity.Origin{Run: "first", Agent: "one", CorrelationID: "first"}
	for _, b := range []activity.Body{
		activity.RunStarted{Input: []activity.ContentBlock{{Type: "text", Text: "the request"}}, Mode: "chat", Approval: "ask", Chain: []string{"one"}, Folder: tool.URI(w.folder)},
		activity.TurnStarted{Turn: 1}, activity.TurnFinished{Turn: 1},
		activity.HandoffStarted{From: "one", To: "two", Reason: "r of one", Chain: []string{"one", "two"}, Depth: 1, Run: "second", History: blob, Taint: "foreign", Project: "/p"},
		activity.RunState{From: activity.Running, To: activity.Finished, Why: "HANDOFF"},
		activity.RunFinished{Reason: activity.HandedOff, Chain: []activity.Link{{Run: "first", Agent: "one"}}},
	} {
		conv.Log.Append(o, b, 0)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPendingHandoffIsResumed: a daemon that ended between the handoff and the run that
// follows it: the next one begins that.
func TestPendingHandoffIsResumed(t *testing.T) {
	w := three(t)
	w.pend()
	if err := os.Remove(filepath.Join(w.folder, "one.md")); err != nil { // which says what it may
		t.Fatal(err)
	}
	w.load()
	w.passes("two", "three", "I go on.")
	w.says("three", "All done.")
	s := w.daemon()
	if info, _, err := s.Sessions.Peek("main"); err != nil || info.State != session.Interrupted {
		t.Errorf("the session is %s, %v", info.State, err)
	}
	live, err := s.Resume(t.Context(), Resume{Run: "first", Frontend: away{}, Client: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	if got := live.Result(); live.ID != "second" || got.Reason != activity.Goal || links(got.Chain) != "one 0, two<one:r of one 11, three<two:r of two 11" {
		t.Errorf("%s: %s %s", live.ID, got.Reason, links(got.Chain))
	}
	if live.start.from.project != "/p" {
		t.Errorf("the second is held to the project %q", live.start.from.project)
	}
	if req := w.request("two"); req.Messages[0].Parts[0].Text != "the request" || !strings.Contains(req.System, "> one: I begin.") {
		t.Errorf("the second is told %q\n%s", req.Messages[0].Parts[0].Text, req.System)
	}
	if opened, _, err := s.open(""); err != nil || opened.gate.TaintOf("x") != tool.Foreign {
		t.Errorf("what the first had read is forgotten: %v", err)
	}
	if _, err := s.Resume(t.Context(), Resume{Run: "first", Frontend: away{}, Client: context.Background()}); err == nil || !strings.Contains(err.Error(), "has finished (GOAL)") {
		t.Errorf("once more: %v", err)
	}
}

// TestPendingHandoffIsCancelled: what never began ends with the run that passed control
// to it, for good, by the person's wish or with the run that delegated to it.
func TestPendingHandoffIsCancelled(t *testing.T) {
	w := three(t)
	w.pend()
	s := w.daemon()
	if !s.Cancel("first", "") || s.Cancel("first", "") {
		t.Error("it is not cancelled once")
	}
	for range 2 { // also after a restart
		if info, _, err := s.Sessions.Peek("main"); err != nil || info.State != session.Idle {
			t.Errorf("the session is %s, %v", info.State, err)
		}
		if _, err := s.Resume(t.Context(), Resume{Run: "first", Frontend: away{}, Client: context.Background()}); err == nil || !strings.Contains(err.Error(), "has finished (HANDOFF)") {
			t.Errorf("it is resumed: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = w.daemon()
	}
}

// TestPendingHandoffEndsWithItsCaller: so does one of an agent that another one waits for.
func TestPendingHandoffEndsWithItsCaller(t *testing.T) {
	w := newTeam(t, map[string]string{"caller": "subagents: [one]", "one": "handoffs: [{to: two}]", "two": ""})
	w.passes("one", "two", "I begin.")
	w.acts["caller"] = func(context.Context, *model.Request) (model.Answer, error) {
		return calls("delegate_to_agent", `{"agent_name":"one","query":"do it"}`), nil
	}
	asked := w.stalls("two")
	s := w.daemon()
	live := w.start(s, "caller", "first")
	<-asked
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-live.Done()
	path := filepath.Join(w.dir, "main.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := strings.Index(string(data), `"reason":"HANDOFF"`)
	end += strings.Index(string(data[end:]), "\n") + 1
	if err := os.WriteFile(path, data[:end], 0o600); err != nil {
		t.Fatal(err)
	}
	s = w.daemon()
	if !s.Cancel("first", "") {
		t.Error("there is nothing to cancel")
	}
	if info, _, err := s.Sessions.Peek("main"); err != nil || info.State != session.Idle {
		t.Errorf("the session is %s, %v", info.State, err)
	}
}

// TestChainSharesTheLimitsAfterARestart: what earlier agents of a chain asked their models
// counts on.
func TestChainSharesTheLimitsAfterARestart(t *testing.T) {
	w := three(t)
	w.limits.ModelCalls = 3
	w.cutOff()
	w.says("three", "All done.")
	s := w.daemon()
	paused := make(chan struct{}, 1)
	live, err := s.Resume(t.Context(), Resume{Run: "first", Frontend: stopped{paused: paused}, Client: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-paused:
		s.Cancel("first", "")
		<-live.Done()
	case <-live.Done():
		t.Errorf("a fourth request was sent: %s %q", live.Result().Reason, live.Result().Text)
	}
}

// stopped is a person who is asked whether a paused run may go on, and does not answer.
type stopped struct {
	away
	paused chan struct{}
}

// Ask implements [Frontend].
func (s stopped) Ask(string, string, string) tool.Ask {
	return func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		s.paused <- struct{}{}
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}
}

// TestSuccessorThatCannotBegin: the person hears why, and the request is answered.
func TestSuccessorThatCannotBegin(t *testing.T) {
	w := three(t)
	w.write("two", "inputs: {goal: {type: string, required: true}}")
	w.passes("one", "two", "I begin.")
	s := w.daemon()
	live := w.start(s, "one", "first")
	<-live.Done()
	if info, _, err := s.Sessions.Peek("main"); err != nil || info.State != session.Idle {
		t.Errorf("the session is %s, %v", info.State, err)
	}
	if got := live.Result(); got.Reason != activity.HandedOff || got.Error == nil || got.Error.Kind != "handoff" || !strings.Contains(got.Error.Message, "goal") {
		t.Errorf("%s %+v", got.Reason, got.Error)
	}
	w.write("one", "handoffs: [{to: two, payload: {schema: {type: object, properties: {goal: {type: string}}, required: [goal]}}}]")
	w.acts["one"] = func(context.Context, *model.Request) (model.Answer, error) {
		return calls("transfer_to_two", `{"reason":"r","goal":"to win"}`), nil
	}
	w.says("two", "Won.")
	live = w.start(w.apart(), "one", "again")
	<-live.Done()
	if got := live.Result(); got.Text != "Won." {
		t.Errorf("%s %+v", got.Reason, got.Error)
	}
}

// apart is a daemon with sessions of its own.
func (w *team) apart() *Service {
	w.dir = w.t.TempDir()
	return w.daemon()
}

// BenchmarkSwitch measures how long it takes from the answer that hands over to the
// request to the successor's model.
func BenchmarkSwitch(b *testing.B) {
	w := newTeam(b, map[string]string{"one": "handoffs: [{to: two}]", "two": ""})
	w.passes("one", "two", strings.Repeat("I begin. ", 200))
	w.says("two", "Done.")
	s := w.daemon()
	n := 0
	for b.Loop() {
		n++
		w.mu.Lock()
		w.answered = time.Time{}
		w.mu.Unlock()
		live, err := s.Start(context.Background(), Start{Agent: "one", Session: fmt.Sprintf("s%d", n), Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: away{}, Client: context.Background()})
		if err != nil {
			b.Fatal(err)
		}
		<-live.Done()
	}
	var sum time.Duration
	for _, d := range w.switched {
		sum += d
	}
	b.ReportMetric(float64(sum.Microseconds())/1000/float64(len(w.switched)), "ms/switch")
}

// TestWhoHandsOverMayEnd: in the picture of who hands over to whom an agent ends with an
// answer of its own, unless a handoff happens by itself and without a condition.
func TestWhoHandsOverMayEnd(t *testing.T) {
	w := newTeam(t, map[string]string{
		"one": `handoffs: [{to: two, when: auto, condition: "last_tool == 'ls'"}]`,
		"two": `handoffs: [{to: one, when: auto}]`,
	})
	s := w.daemon()
	entry, err := s.Agents().Lookup(w.folder, "one")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := s.Graph(entry.Definition, w.folder, "")
	var ends []string
	for _, link := range picture.Links {
		if link.To == graph.End {
			ends = append(ends, link.From)
		}
	}
	if err != nil || !slices.Equal(ends, []string{"one"}) {
		t.Errorf("%v ends, %v", ends, err)
	}
}
