package language

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// Find returns the agent of a name, also one that cannot run: a person who asks
// for it wants to know why.
func (h *Handlers) Find(catalog *registry.Snapshot, name string) (*registry.Entry, error) {
	e, err := catalog.Lookup("", name)
	if err == nil {
		return e, nil
	}
	folder := ""
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		for _, f := range h.Workspace.Snapshot().Folders() {
			if f.Name == name[:i] || f.Canonical == name[:i] {
				folder, name = f.Canonical, name[i+1:]
				break
			}
		}
	}
	for _, e := range catalog.Entries() {
		if e.Definition.Name == name && (folder == "" || e.Definition.Folder == folder) {
			return e, nil
		}
	}
	return nil, err
}

// Encode turns the columns of findings, which count UTF-16 units, into those of
// the encoding that the client asked for.
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
