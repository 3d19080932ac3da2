package handlers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// trust serves agents/trust. What is trusted must be a folder that is there;
// trust can be taken back from anything, also from what is gone.
// The URI of an agent file, with trusted, approves that file as it is now.
// It is written when it answers, and the agents that it concerns are told.
func (h *Handlers) trust(ctx context.Context, _ struct{}, p *wire.TrustParams) (any, error) {
	folder, err := trustPath(wire.MethodTrust, p.URI)
	switch {
	case err != nil:
		return nil, err
	case p.Forget:
		if err := h.daemon.Reviews.Forget(ctx, folder); err != nil {
			return nil, err
		}
		h.tellTrust(ctx, folder)
		return struct{}{}, nil
	case *p.Trusted:
		info, err := os.Stat(folder)
		switch {
		case err != nil:
			return nil, server.BadParams(wire.MethodTrust, "uri",
				"is %q, where no folder can be found; name one that exists", p.URI)
		case !info.IsDir() && h.daemon.Reviews != nil && isAgentFile(folder):
			return struct{}{}, h.approveFile(ctx, folder, workspace.Digest(p.Digest))
		case !info.IsDir():
			return nil, server.BadParams(wire.MethodTrust, "uri",
				"is %q, which is a file; name the folder that it is in", p.URI)
		}
	}
	return struct{}{}, h.setTrust(ctx, folder, *p.Trusted)
}

// trustPath returns the canonical path that a request about trust names.
//
// The folder need not be there: trust can be taken back from one that is gone.
func trustPath(method, name string) (string, error) {
	path, ok := folderPath(name)
	if !ok {
		return "", server.BadParams(method, "uri",
			"is %q, which is not the URI of a folder; use file:// and an absolute path", name)
	}
	return workspace.Canonical(path)
}

// getTrust serves agents/trust/get.
// It reads what the folder brings only where that is asked for.
func (h *Handlers) getTrust(ctx context.Context, _ struct{}, p *wire.TrustGetParams) (*wire.TrustGetResult, error) {
	folder, err := trustPath(wire.MethodTrustGet, p.URI)
	if err != nil {
		return nil, err
	}
	file := ""
	if isAgentFile(folder) {
		root := agentRoot(folder)
		file, _ = workspace.Below(root, folder) // it is an agent file's
		folder = root
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, server.BadParams(wire.MethodTrustGet, "uri", "is %q, where no folder can be found; name one that exists",
			p.URI)
	}
	record, err := h.daemon.Reviews.Record(folder)
	if err != nil {
		return nil, err
	}
	recorded := record.Trusted && !record.Replaced
	r := &wire.TrustGetResult{Folder: tool.URI(folder), Trusted: h.daemon.Trusted(folder), Replaced: record.Replaced,
		Since: stamp(record.Since)}
	r.Process = r.Trusted && !recorded
	if record.Folder != "" {
		r.Decided = tool.URI(record.Folder)
	}
	if p.Items {
		below, _ := workspace.Below(record.Folder, folder)
		err = h.listBrought(ctx, r, folder, below, filepath.ToSlash(file), p.Texts)
	}
	return r, err
}

// validText is a text as JSON can have it.
func validText(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// listBrought adds what a folder brings, or the agent file of it that is named. below is
// the folder, seen from that of its record.
// An item has the state "new" or "changed" where it waits for a review, and none
// otherwise.
// Where an item waits its text and digest are those of Pending, which was read later.
func (h *Handlers) listBrought(ctx context.Context, r *wire.TrustGetResult, folder, below, file string,
	texts bool) error {
	brings, err := h.daemon.Reviews.Brings(ctx, folder)
	if err != nil {
		return err
	}
	waiting, err := h.daemon.Reviews.Pending(ctx, folder)
	if err != nil {
		return err
	}
	pending := make(map[string]Pending, len(waiting))
	for _, p := range waiting {
		pending[p.Name] = p
	}
	for _, item := range slices.Concat(brings.Items, brings.Memory) {
		if file != "" && item.Name != file {
			continue
		}
		to := wire.TrustItem{Kind: item.Kind, Label: item.Label, Name: item.Name}
		p, waits := pending[item.Under(below).Name]
		if waits { // what was read last
			item.Text, item.Digest = p.Text, p.Digest
			to.State = map[bool]string{true: "changed", false: "new"}[p.Known]
		}
		to.Digest = string(item.Digest)
		if texts {
			to.Text, to.Before = validText(item.Text), validText(p.Before)
		}
		r.Items = append(r.Items, to)
	}
	if file == "" {
		r.Settings = brings.Settings
	}
	return nil
}

// setTrust records whether a folder, which is canonical, is trusted, and tells
// whose agents that concerns.
func (h *Handlers) setTrust(ctx context.Context, folder string, trusted bool) error {
	if err := h.daemon.SetTrust(folder, trusted); err != nil {
		return err
	}
	h.tellTrust(ctx, folder)
	return nil
}

// isAgentFile reports whether a path is that of an agent file of some folder.
func isAgentFile(path string) bool {
	rel, ok := workspace.Below(agentRoot(path), path)
	return ok && workspace.IsAgentFile(rel)
}

// agentRoot returns the folder whose agent file a path is.
//
// Agent files lie in .gemini/agents, three steps below. It is only right for a path that
// is one.
func agentRoot(path string) string { return filepath.Dir(filepath.Dir(filepath.Dir(path))) }

// approveFile approves an agent file of a trusted folder as it is now.
// A digest that is given must be the file's, so that what was shown is what is approved.
func (h *Handlers) approveFile(ctx context.Context, path string, digest workspace.Digest) error {
	folder := agentRoot(path)
	rel, _ := workspace.Below(folder, path) // it is an agent file's
	if err := h.daemon.Reviews.ApproveFile(ctx, folder, rel, digest); err != nil {
		return err
	}
	h.tellTrust(ctx, folder)
	return nil
}

// commandTrust takes [uri?]: a folder, which is trusted at once. Without one it
// asks about each workspace folder that is not trusted, or has something that
// waits for a review, as is asked without a command. It answers with the URIs of
// those that it trusted.
func (h *Handlers) commandTrust(ctx context.Context, p *protocol.ExecuteCommandParams) (any, error) {
	name, err := textArgument(p, 0)
	if err != nil {
		return nil, invalidArguments(err)
	}
	given := []string{}
	if name != "" {
		params := &wire.TrustParams{URI: name, Trusted: new(true)}
		if _, err := h.trust(ctx, struct{}{}, params); err != nil {
			return nil, err
		}
		return map[string]any{"trusted": append(given, name)}, nil
	}
	for _, f := range h.Workspace.Snapshot().Folders() {
		if h.daemon.Reviews == nil {
			break // nothing is asked about where nothing is reviewed
		}
		before := h.daemon.Trusted(f.Canonical)
		c, err := h.askAboutFolder(ctx, f.Canonical, aCommand)
		switch {
		case err != nil:
			return nil, err
		case c == nil:
		case c.unserved:
			return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
				"have to name a folder: this editor cannot be asked. `agentls trust %s` does the same", f.Path)
		case c.yes && !before:
			given = append(given, string(f.URI))
		}
	}
	return map[string]any{"trusted": given}, nil
}

// folderPath returns the absolute path that a file URI names. It is stricter
// than [uri.Parse], which makes a path of any text: what is trusted is what was
// meant, or nothing. A query, a fragment and another machine's name are refused,
// since the path without them is another folder.
func folderPath(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "file:/")
	if !ok || strings.ContainsAny(rest, "?#") {
		return "", false
	}
	if authority, ok := strings.CutPrefix(rest, "/"); ok && !strings.Contains(authority, "/") {
		return "", false // no path
	}
	u, err := uri.Parse(name)
	if err != nil || !u.IsFile() {
		return "", false
	}
	path := u.FsPath()
	if (u.Authority() != "" && filepath.VolumeName(path) == "") || !filepath.IsAbs(path) ||
		strings.ContainsRune(path, 0) {
		return "", false
	}
	return path, true
}
