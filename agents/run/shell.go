package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// runShell runs the commands that a custom command's prompt names (spec 9.3), and
// tells the model their output before its first turn. They are calls of bash like any
// other: the policy decides, and the person is asked. Where one is refused the run
// ends, since its prompt is not complete. executed says that an earlier daemon had begun
// with them: nobody knows how far they came, and none is executed twice (REL-103).
func (r *runner) runShell(ctx context.Context, executed bool) (end ending, over bool) {
	if executed {
		return endFailed("interrupted",
			"The daemon ended after it had begun to run the commands of the prompt, which may have taken effect wholly, in part or not at all: "+
				strings.Join(r.Shell, "; ")+"\nLook what they did, then ask again."), true
	}
	var calls []model.Call
	for i, text := range r.Shell {
		args, err := json.Marshal(map[string]any{"command": text, "description": "a command of the prompt"})
		if err != nil {
			return endFailed("invalid", err.Error()), true
		}
		calls = append(calls, model.Call{ID: fmt.Sprintf("%s-prompt-%d", r.ID, i+1), Name: "bash", Args: args})
	}
	r.toolCalls += len(calls)
	var told strings.Builder
	for _, t := range r.perform(ctx, calls) {
		if errors.Is(context.Cause(ctx), ErrInterrupted) {
			return endInterrupted(ctx), true
		}
		if end, over := r.over(ctx); over {
			return end, true
		}
		// calls gets shorter by one with each task, so this is the task's command.
		command := r.Shell[len(r.Shell)-len(calls)]
		calls = calls[1:]
		if !t.ran {
			return endFailed("denied", fmt.Sprintf("The prompt needs the output of a command that was not run: %s\n%s",
				command, t.said)), true
		}
		fmt.Fprintf(&told, "The output of the command %s:\n%s\n\n", command, tool.Fence(t.said, r.mark))
	}
	r.say(activity.Note{Level: "info", ToModel: true, Message: strings.TrimSpace(told.String())})
	return ending{}, false
}
