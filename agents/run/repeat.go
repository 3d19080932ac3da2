package run

import (
	"context"
	"fmt"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/loop"
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
func (r *runner) repeats(ctx context.Context, findings []loop.Finding) (ending, bool) {
	for _, f := range findings {
		found := activity.LoopDetected{Kind: f.Kind, Count: f.Count, What: f.What, Action: "told"}
		if !f.End {
			r.say(found)
			r.say(activity.Note{Level: "warning", ToModel: true, Message: fmt.Sprintf(
				"You repeat yourself: %s (%d times). It does not lead on: do something else, or say what hinders you.", f.What, f.Count)})
			continue
		}
		end := ending{reason: activity.Loop, text: fmt.Sprintf("The run ended, since it repeats itself: %s (%d times).", f.What, f.Count)}
		ask := r.Env.Ask
		if ask == nil {
			found.Action = "ended"
			r.say(found)
			return end, true
		}
		found.Action = "asked"
		r.say(found)
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

func (r *runner) askLoop(ctx context.Context, ask tool.Ask, f loop.Finding) string {
	defer r.asking("the run repeats itself")()
	answer, err := ask(ctx, tool.Question{
		Title:   r.Definition.Title + " repeats itself",
		Message: fmt.Sprintf("%s, %d times. What should it do?", f.What, f.Count),
		Choices: []string{goOnLoop, endIt, neverLoop}, Aside: true,
	})
	if err != nil || answer.Action != "accept" {
		return ""
	}
	return answer.Text
}

// Repeats says whether loops are looked for.
type Repeats interface {
	// On reports whether they are.
	On() bool
	// Off ends the looking for the session: the person said so.
	Off()
}
