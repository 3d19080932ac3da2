package language

import (
	"errors"
	"maps"
	"slices"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// Encode turns the columns of findings, which count UTF-16 units, into those of
// the encoding that the client asked for.
// It changes problems in place, so that they must be the caller's own, and may read each file from
// the disk. A column that is not in its line any more stays as it is.
func (h *Handlers) Encode(problems []definition.Problem) {
	encoding := h.Workspace.Snapshot().Encoding()
	if encoding == workspace.UTF16 {
		return
	}
	texts := map[string]string{}
	for i := range problems {
		p := &problems[i]
		text, ok := texts[p.URI]
		if !ok {
			text = h.agentText(p.URI)
			texts[p.URI] = text
		}
		for _, at := range []*definition.Position{&p.Range.Start, &p.Range.End} {
			offset, err := workspace.Offset(text, workspace.Position{Line: at.Line,
				Character: at.Character}, workspace.UTF16)
			if err != nil {
				continue // the file is another one by now; its next findings come soon
			}
			if to, err := workspace.PositionAt(text, offset, encoding); err == nil {
				at.Line, at.Character = to.Line, to.Character
			}
		}
	}
}

// EncodeError returns err with the findings of an agent that cannot be used in the
// encoding that the client asked for; other errors as they are.
func (h *Handlers) EncodeError(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	problems, ok := e.Data["problems"].([]definition.Problem)
	if !ok {
		return err
	}
	problems = slices.Clone(problems) // they may be the definition's own
	h.Encode(problems)
	next := *e
	next.Data = maps.Clone(e.Data)
	next.Data["problems"] = problems
	return &next
}

// agentText returns the text of an agent file, "" if it cannot be read.
func (h *Handlers) agentText(name string) string {
	path, ok := workspace.FilePath(name)
	if !ok {
		return ""
	}
	text, _ := DiskText(path)
	return text
}
