package handlers

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// trust serves agents/trust. What is trusted must be a folder that is there;
// trust can be taken back from anything, also from what is gone.
func (h *Handlers) trust(ctx context.Context, _ struct{}, p *wire.TrustParams) (any, error) {
	path, ok := folderPath(p.URI)
	if !ok {
		return nil, server.BadParams(wire.MethodTrust, "uri", "is %q, which is not the URI of a folder; use file:// and an absolute path", p.URI)
	}
	folder, err := workspace.Canonical(path)
	if err != nil {
		return nil, err
	}
	if *p.Trusted {
		info, err := os.Stat(folder)
		switch {
		case err != nil:
			return nil, server.BadParams(wire.MethodTrust, "uri", "is %q, where no folder can be found; name one that exists", p.URI)
		case !info.IsDir():
			return nil, server.BadParams(wire.MethodTrust, "uri", "is %q, which is a file; name the folder that it is in", p.URI)
		}
	}
	if err := h.house.SetTrust(folder, *p.Trusted); err != nil {
		return nil, err
	}
	if catalog, err := h.house.Catalog(ctx); err == nil {
		h.trustChanged(catalog, folder)
	}
	return struct{}{}, nil
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
	if u.Authority() != "" && filepath.VolumeName(path) == "" || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", false
	}
	return path, true
}
