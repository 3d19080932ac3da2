package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// rewind serves agents/session/rewind.
// Files that could not be brought back, because somebody changed them since, are
// in the answer with why.
// The error has the reason unknownSession, or busy while a run goes on or waits there; an
// event that there is not is bad params. A request that is cancelled when files are being
// written goes on to its end.
func (h *Handlers) rewind(ctx context.Context, s *workspace.Snapshot,
	p *wire.SessionRewindParams) (*wire.SessionRewindResult, error) {
	done, err := h.daemon.Agents.Rewind(ctx, agents.Rewind{
		Session: strings.Clone(p.Session), ToSeq: p.ToSeq, Files: p.Files, Force: p.Force, Frontend: h.person(s),
	})
	if fault.KindOf(err) == fault.Invalid {
		return nil, server.BadParams(wire.MethodSessionRewind, "toSeq", "cannot be used: %s", fault.Message(err))
	}
	if err != nil {
		return nil, err
	}
	result := &wire.SessionRewindResult{Files: list(done.Files), Left: []wire.LeftFile{}}
	for _, left := range done.Left {
		result.Left = append(result.Left, wire.LeftFile{URI: left.URI, Why: left.Why})
	}
	return result, nil
}

// changes serves agents/changes.
// The error has the reason unknownSession. A file whose contents are lost is left out.
func (h *Handlers) changes(ctx context.Context, s *workspace.Snapshot,
	p *wire.ChangesParams) (*wire.ChangesResult, error) {
	files, err := h.daemon.Agents.Changes(ctx, strings.Clone(p.Session), strings.Clone(p.Run), h.person(s))
	if err != nil {
		return nil, err
	}
	return &wire.ChangesResult{Files: changesOut(files)}, nil
}

// resolveChanges serves agents/changes/resolve.
// It works while a run goes on. The error has the reason unknownSession, or busy while
// the session is being closed or deleted; it is fault.Invalid for an action that is none
// and for hunks without a URI.
func (h *Handlers) resolveChanges(ctx context.Context, s *workspace.Snapshot,
	p *wire.ChangesResolveParams) (*wire.ChangesResolveResult, error) {
	return h.resolve(ctx, agents.Resolve{
		Session: strings.Clone(p.Session), Run: strings.Clone(p.Run), URI: strings.Clone(p.URI),
		Hunks: cloneTexts(p.Hunks), Action: strings.Clone(p.Action), Frontend: h.person(s),
	})
}

// resolve keeps or undoes changes and returns the answer of
// agents/changes/resolve. What cannot be undone, because the file is another by
// now, is a conflict and no error.
func (h *Handlers) resolve(ctx context.Context, r agents.Resolve) (*wire.ChangesResolveResult, error) {
	files, conflicts, err := h.daemon.Agents.ResolveChanges(ctx, r)
	if err != nil {
		return nil, err
	}
	result := &wire.ChangesResolveResult{Files: changesOut(files), Conflicts: []wire.Conflict{}}
	for _, c := range conflicts {
		result.Conflicts = append(result.Conflicts, wire.Conflict{URI: c.URI, Hunk: c.Hunk, Why: c.Why})
	}
	return result, nil
}

// changesOut are changes as a client is sent them: no list of theirs is null.
// Their hunks are whole lines, so their columns are 0 in every encoding.
// The caller's own are not changed.
func changesOut(files []activity.Change) []activity.Change {
	out := slices.Clone(files)
	for i := range out {
		if out[i].Hunks == nil {
			out[i].Hunks = []activity.Hunk{}
		}
	}
	return append([]activity.Change{}, out...)
}

// cloneTexts copies texts that outlive their request: they may share the memory of
// the whole message ([wire.Codec]).
func cloneTexts(texts []string) []string {
	if texts == nil {
		return nil
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.Clone(text)
	}
	return out
}

// commandUndoLast takes [session?] and undoes what the newest run there changed in
// files, of those whose changes nobody has kept or undone; it answers as
// agents/changes/resolve does. It does not ask: the person has chosen it, and what
// somebody changed since is left.
func (h *Handlers) commandUndoLast(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	id, err := textArgument(p, 0)
	if err != nil {
		return nil, invalidArguments(err)
	}
	result, text, err := h.undoLast(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if h.plain {
		h.tell(infoMessage, text)
	}
	return result, nil
}

// undoLast also says what it did, in one line.
// It goes back from the newest run to the first that still has changes; a session
// without any is no error.
// Runs that follow the one that is undone are not touched: they have no changes left.
func (h *Handlers) undoLast(ctx context.Context, s *workspace.Snapshot,
	session string) (*wire.ChangesResolveResult, string, error) {
	_, runs, err := h.daemon.Agents.Session(session)
	if err != nil {
		return nil, "", err
	}
	for _, r := range slices.Backward(runs) {
		files, err := h.daemon.Agents.Changes(ctx, session, r.Run, h.person(s))
		if err != nil {
			return nil, "", err
		}
		if len(files) == 0 {
			continue
		}
		result, err := h.resolve(ctx, agents.Resolve{Session: session, Run: r.Run, Action: "undo",
			Frontend: h.person(s)})
		if err != nil {
			return nil, "", err
		}
		return result, undone(r.Agent, result), nil
	}
	return &wire.ChangesResolveResult{Files: []activity.Change{}, Conflicts: []wire.Conflict{}},
		"There is nothing to undo: what agents changed in this session was kept or undone.", nil
}

// undone says in one line what became of a run's changes.
// Of a file only whole undoing counts as undone.
// A file that could not be undone is named with the last reason why.
func undone(agent string, r *wire.ChangesResolveResult) string {
	var back, left []string
	for _, f := range r.Files {
		if !slices.ContainsFunc(f.Hunks, func(h activity.Hunk) bool { return h.Status != "undone" }) {
			back = append(back, f.URI)
		}
	}
	why := map[string]string{}
	for _, c := range r.Conflicts {
		if _, told := why[c.URI]; !told {
			left = append(left, c.URI)
		}
		why[c.URI] = c.Why
	}
	text := fmt.Sprintf("Nothing that %s changed was undone", agent)
	if len(back) > 0 {
		text = fmt.Sprintf("Undone what %s changed in %s", agent, nameFiles(back, nil))
	}
	if len(left) > 0 {
		text += "; left: " + nameFiles(left, why)
	}
	return text + "."
}

// maxNamed is how many files a line of text names.
const maxNamed = 4

// nameFiles names files, each with what is said of it.
//
// A file is named by the last part of its path.
func nameFiles(uris []string, why map[string]string) string {
	var names []string
	for _, u := range uris {
		name := tool.FileName(u)
		if why[u] != "" {
			name += " (" + strings.TrimSuffix(why[u], ".") + ")"
		}
		names = append(names, name)
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
