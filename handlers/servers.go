package handlers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// listServers serves agents/mcp/list.
// It starts no server.
func (h *Handlers) listServers(_ context.Context, _ struct{}, p *wire.MCPListParams) (*wire.MCPListResult, error) {
	folder, err := h.serverFolder(p.Folder)
	if err != nil {
		return nil, err
	}
	result := &wire.MCPListResult{Servers: []wire.MCPServer{}}
	for _, s := range h.daemon.MCP.List(folder) {
		result.Servers = append(result.Servers, h.serverInfo(s))
	}
	return result, nil
}

// restartServer serves agents/mcp/restart.
// It waits until the server is there or has failed; a failure is a state in the answer.
// With approve the tools that changed are approved as they were last listed.
func (h *Handlers) restartServer(ctx context.Context, _ struct{},
	p *wire.MCPRestartParams) (*wire.MCPServerResult, error) {
	folder, err := h.serverFolder(p.Folder)
	if err != nil {
		return nil, err
	}
	s, err := h.daemon.MCP.Restart(ctx, folder, p.Name, p.Approve)
	if err != nil {
		return nil, err
	}
	return &wire.MCPServerResult{Server: h.serverInfo(s)}, nil
}

// stopServer serves agents/mcp/stop.
// It answers when the server has ended, which stays down until it is restarted or the
// daemon is. A name that is not described is fault.NotFound.
func (h *Handlers) stopServer(_ context.Context, _ struct{}, p *wire.MCPStopParams) (*wire.MCPServerResult, error) {
	folder, err := h.serverFolder(p.Folder)
	if err != nil {
		return nil, err
	}
	s, err := h.daemon.MCP.Stop(folder, p.Name)
	if err != nil {
		return nil, err
	}
	return &wire.MCPServerResult{Server: h.serverInfo(s)}, nil
}

// loginServer serves agents/mcp/login.
// It waits for the person to log in, in their browser.
// It gives up after five minutes. A server that takes no login is fault.Denied, and
// nothing is kept of a login that failed.
func (h *Handlers) loginServer(ctx context.Context, _ struct{}, p *wire.MCPLoginParams) (*wire.MCPServerResult, error) {
	folder, err := h.serverFolder(p.Folder)
	if err != nil {
		return nil, err
	}
	s, err := h.daemon.MCP.Login(ctx, folder, p.Name, h.showLogin)
	if err != nil {
		return nil, err
	}
	return &wire.MCPServerResult{Server: h.serverInfo(s)}, nil
}

// The actions of the dialog for a login.
const (
	refuseLogin = "Cancel"
	openLogin   = "Open in the browser"
)

// showLogin puts the page for a login before the person, whole. Only they open it.
// The error is that they cancelled it, or that of asking them; a client that can show
// nothing is sent the address as a message.
// The address is shown word for word, so that the person can see where they log in.
func (h *Handlers) showLogin(ctx context.Context, p mcp.LoginPage) error {
	text := fmt.Sprintf("To log in at the MCP server %s, open this page in your browser:\n\n%s\n\nWhat you allow there goes to %s.", p.Server, p.Address, tool.Escape(p.Token))
	if h.shows {
		chosen, _, err := h.offer(ctx, "The login at "+p.Server, text, []string{refuseLogin, openLogin}, aCommand)
		switch {
		case errors.Is(err, errUnserved): // told, as without documents
		case err != nil:
			return err
		case chosen != openLogin:
			return errors.New("you cancelled it")
		default:
			// Not the library's type: it would write the address anew, with & and = escaped.
			page := struct {
				URI      string `json:"uri"`
				External bool   `json:"external"`
			}{p.Address, true}
			var result protocol.ShowDocumentResult
			if err := h.Peer.Call(ctx, protocol.MethodWindowShowDocument, &page, &result); err == nil &&
				result.Success {
				return nil
			}
		}
	}
	h.tell(protocol.MessageTypeInfo, text)
	return nil
}

// logoutServer serves agents/mcp/logout.
// Tokens are forgotten here, and not revoked at the server. fault.Unavailable says that
// the login is still kept.
func (h *Handlers) logoutServer(ctx context.Context, _ struct{},
	p *wire.MCPLogoutParams) (*wire.MCPServerResult, error) {
	folder, err := h.serverFolder(p.Folder)
	if err != nil {
		return nil, err
	}
	s, err := h.daemon.MCP.Logout(ctx, folder, p.Name)
	if err != nil {
		return nil, err
	}
	return &wire.MCPServerResult{Server: h.serverInfo(s)}, nil
}

// serverFolder returns the workspace folder that a request is about: the first where
// none is named, and "" where there is none.
// The errors are fault.Unavailable where the daemon has no servers, and fault.NotFound for
// another folder.
// The folder must be named as the workspace has it, in its canonical form.
func (h *Handlers) serverFolder(named string) (string, error) {
	if h.daemon.MCP == nil {
		return "", fault.New(fault.Unavailable, "handlers.servers", "there are no MCP servers here")
	}
	var folders []string
	for _, f := range h.Workspace.Snapshot().Folders() {
		folders = append(folders, f.Canonical)
	}
	if named == "" {
		if len(folders) == 0 {
			return "", nil
		}
		return folders[0], nil
	}
	u, err := uri.Parse(named)
	if err == nil && slices.Contains(folders, u.FsPath()) {
		return u.FsPath(), nil
	}
	return "", fault.New(fault.NotFound, "handlers.servers", "%s is not a folder of the workspace; open it first",
		named)
}

// serverInfo puts what is known of a server into the words of the protocol. What
// looks like a credential is taken out.
func (h *Handlers) serverInfo(s mcp.State) wire.MCPServer {
	shown := func(text string) string {
		if h.daemon.Mask == nil {
			return text
		}
		return string(h.daemon.Mask([]byte(text)))
	}
	info := wire.MCPServer{
		Name: s.Name, Scope: "global", Command: shown(s.Command), URL: shown(s.URL), Description: s.Description,
		State: s.State, Why: shown(s.Why), Title: s.Title, Version: s.Version,
		Tools: serverTools(s.Tools), LeftOut: s.Left, Calls: s.Calls, Errors: s.Errors,
		P50Ms: milliseconds(s.P50), P95Ms: milliseconds(s.P95),
	}
	if s.Project {
		info.Scope = "project"
	}
	if len(s.Pending) > 0 {
		info.Pending = serverTools(s.Pending)
	}
	if !s.Since.IsZero() {
		info.UptimeMs = h.Now().Sub(s.Since).Milliseconds()
	}
	// Masked as one text, since a credential may go over several lines.
	if len(s.Stderr) > 0 {
		info.Stderr = strings.Split(shown(strings.Join(s.Stderr, "\n")), "\n")
		for i, line := range info.Stderr {
			info.Stderr[i] = tool.Escape(line)
		}
	}
	return info
}

// milliseconds returns a time in milliseconds, exact to a microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// serverTools returns tools as the wire has them, never null.
func serverTools(tools []mcp.Tool) []wire.MCPTool {
	all := make([]wire.MCPTool, 0, len(tools))
	for _, t := range tools {
		all = append(all, wire.MCPTool{Name: t.Full, Description: t.Description})
	}
	return all
}
