package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/loop"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// The answers to a run that repeats itself.
const (
	goOnLoop  = "Go on"
	neverLoop = "Go on, and do not look for loops in this session"
)

// repeats looks for loops in what the run has just done (spec 8.4). The model
// is told what it repeats; where that is to stop the run, the person decides,
// and where nobody can be asked, the run ends.
// over is whether the run ends. Findings after one that was answered are not looked at.
func (r *runner) repeats(ctx context.Context, findings []loop.Finding) (ending, bool) {
	for _, f := range findings {
		found := activity.LoopDetected{Kind: f.Kind, Count: f.Count, What: f.What, Action: "told"}
		if !f.End {
			r.say(found)
			r.say(activity.Note{Level: "warning", ToModel: true, Message: fmt.Sprintf(
				"You repeat yourself: %s. It does not lead on: do something else, or say what hinders you.", f.What)})
			continue
		}
		end := ending{reason: activity.Loop, text: fmt.Sprintf("The run ended, since it repeats itself: %s.", f.What)}
		ask := r.Env.Ask
		if ask == nil {
			found.Action = "ended"
			r.say(found)
			return end, true
		}
		found.Action = "asked"
		r.say(found)
		// The call of askLoop is where the run waits: it may have been cancelled meanwhile.
		answer := r.askLoop(ctx, ask, f)
		if end, over := r.over(ctx); over {
			return end, true
		}
		switch answer {
		case neverLoop:
			r.Repeats.Off()
			return ending{}, false
		case goOnLoop:
			r.detector.Reset()
			return ending{}, false
		}
		return end, true
	}
	return ending{}, false
}

// askLoop asks the person what a run should do that repeats itself; "" for no answer, which
// ends the run.
func (r *runner) askLoop(ctx context.Context, ask tool.Ask, f loop.Finding) string {
	defer r.asking("the run repeats itself")()
	answer, err := ask(ctx, tool.Question{
		Title:   r.Definition.Title + " repeats itself",
		Message: f.What + ". What should it do?",
		Choices: []string{goOnLoop, endIt, neverLoop}, Aside: true,
	})
	if err != nil || answer.Action != "accept" {
		return ""
	}
	return answer.Text
}

// errRunaway is why an answer was stopped as it came: it repeats itself.
type errRunaway struct{ text string }

// Error says what the answer did; the text is in the log.
func (e *errRunaway) Error() string { return "the answer repeats itself" }

// stream is the text of an answer as it comes.
type stream struct {
	text   strings.Builder
	judged *loop.Stream // nil: loops are not looked for
}

// stream returns the stream of the next answer.
func (r *runner) stream() *stream {
	if r.Repeats == nil || !r.Repeats.On() {
		return &stream{}
	}
	return &stream{judged: r.detector.Stream()}
}

// runsAway takes a piece of the answer and reports whether the answer repeats itself
// by now.
func (s *stream) runsAway(piece string) bool {
	if s.judged == nil {
		return false
	}
	s.text.WriteString(piece)
	return s.judged.Add(piece)
}

// recordStopped writes down an answer that was stopped as it came. The model is not sent it.
// The error is an *errRunaway with the text. Its tokens are estimated and counted: what
// came of the answer may well have to be paid.
func (r *runner) recordStopped(choice Choice, text string, tokens int, began time.Time, first time.Duration) error {
	answer := &model.Answer{Message: model.Message{Role: model.Reply,
		Parts: []model.Part{{Text: text}}}, Finish: model.Other}
	r.count(choice, answer, tokens)
	r.sayFor(activity.ModelFinished{Model: choice.ID, Finish: answer.Finish,
		FirstTokenMs: first.Milliseconds()}, r.Now().Sub(began))
	r.say(activity.ModelContent{Content: list(answer.Message.Parts), Invalid: true})
	return &errRunaway{text}
}

// Repeats says whether loops are looked for.
type Repeats interface {
	// On reports whether they are.
	On() bool
	// Off ends the looking for the session: the person said so.
	Off()
}

// maxFailures is after how many turns of nothing but errors a run is paused.
const maxFailures = 3

// failures counts the last turns of a run in which no call did anything. What a
// person refused does not count, nor does a command that ran and failed.
type failures struct {
	turns int
	last  string // what the model was told of the last call
}

// count takes in a turn that called tools: what it was told of the last one, if
// nothing came of any; "" if something did.
func (f *failures) count(last string) {
	f.turns, f.last = f.turns+1, last
	if last == "" {
		f.turns = 0
	}
}

// pauseIfFailing pauses a run whose last turns brought nothing but errors, until
// the person lets it go on; where nobody can be asked, it ends. Such a model
// changes its calls a little each time, so that no loop is found.
func (r *runner) pauseIfFailing(ctx context.Context) (ending, bool) {
	if r.failures.turns < maxFailures {
		return ending{}, false
	}
	first, _, _ := strings.Cut(r.failures.last, "\n")
	why := fmt.Sprintf("Nothing but errors came of the last %d turns; the last error: %s",
		r.failures.turns, tool.Escape(first))
	r.failures = failures{}
	if r.pause(ctx, "", why, goOnLoop) {
		return ending{}, false
	}
	if end, over := r.over(ctx); over {
		return end, true
	}
	return ending{reason: activity.Loop, text: "The run ended. " + why}, true
}
