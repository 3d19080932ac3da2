package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
)

// loginServer is an MCP server with a login at the same address. The settings of a home
// of its own describe it as "far".
func loginServer(t *testing.T) (home string) {
	const token = "an-access-token-of-far"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q.URL.Path {
		case "/register":
			fmt.Fprint(w, `{"client_id": "client-1"}`)
			return
		case "/authorize":
			next := url.Values{"code": {"code-1"}, "state": {q.FormValue("state")}}
			http.Redirect(w, q, q.FormValue("redirect_uri")+"?"+next.Encode(), http.StatusFound)
			return
		case "/token":
			fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer"}`, token)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		switch _ = json.NewDecoder(q.Body).Decode(&m); {
		case q.URL.Path != "/mcp":
			w.WriteHeader(http.StatusNotFound)
		case q.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		case m.Method == "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"Far","version":"1"}}}`, m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, m.ID)
		case m.ID != nil:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(s.Close)
	home = filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	t.Setenv("AGENTLS_TRUST", "1")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "") // no keyring
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`{"mcpServers": {"far": {"httpUrl": %q}}}`, s.URL+"/mcp")
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// visitor opens the page that they are told of.
type visitor struct {
	t    *testing.T
	told bytes.Buffer
	done bool
}

// Write implements [io.Writer].
func (p *visitor) Write(text []byte) (int, error) {
	p.told.Write(text)
	if at := regexp.MustCompile(`http://\S+/authorize\S+`).Find(p.told.Bytes()); at != nil && !p.done && bytes.HasSuffix(p.told.Bytes(), []byte("\n")) {
		p.done = true
		open(p.t, string(at))
	}
	return len(text), nil
}

// open opens a page as a browser does.
func open(t *testing.T, at string) {
	resp, err := http.Get(at)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "finishes the login") {
		t.Errorf("%s: %d %s", at, resp.StatusCode, text)
	}
}

// TestLoginOnTheCommandLine: a server that wants a login names the command; login shows
// the page and then the tools, and keeps the login in a file of the person's, until logout.
func TestLoginOnTheCommandLine(t *testing.T) {
	home, dir := loginServer(t), t.TempDir()
	if code, out, _ := command(t, dir, "mcp-servers", "test", "far"); code != exitFailed || !strings.Contains(out, "agentls mcp-servers login far") {
		t.Errorf("exit %d, %s", code, out)
	}
	var out bytes.Buffer
	who := &visitor{t: t}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if code := execute([]string{"mcp-servers", "login", "far"}, streams{in, &out, who}); code != 0 || !strings.Contains(out.String(), "Logged in at far.") || !strings.Contains(out.String(), "mcp.far.echo") {
		t.Errorf("exit %d, %s%s", code, out.String(), who.told.String())
	}
	file := filepath.Join(home, "agentls", "logins.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if code, out, errs := command(t, dir, "mcp-servers", "test", "far"); code != 0 || strings.Contains(out+errs, "an-access-token") {
		t.Errorf("the next daemon: exit %d, %s%s", code, out, errs)
	}
	if code, out, _ := command(t, dir, "mcp-servers", "list"); code != 0 || !regexp.MustCompile(`far +global +idle +1 +1 +http`).MatchString(out) {
		t.Errorf("list: exit %d, %s", code, out)
	}
	if code, out, errs := command(t, dir, "mcp-servers", "logout", "far"); code != 0 || !strings.Contains(out, "Logged out of far.") {
		t.Errorf("logout: exit %d, %s%s", code, out, errs)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "an-access-token") {
		t.Errorf("after the logout: %s, %v", text, err)
	}
	if code, out, _ := command(t, dir, "mcp-servers", "test", "far"); code != exitFailed || !strings.Contains(out, "agentls mcp-servers login far") {
		t.Errorf("after the logout: exit %d, %s", code, out)
	}
}

// TestLoginInAnEditor: an editor is asked before it opens the page, which the dialog has
// whole; the person's no, and the end of the request, end the login.
func TestLoginInAnEditor(t *testing.T) {
	for _, chooses := range []string{"Open in the browser", "Cancel", ""} {
		t.Run(chooses, func(t *testing.T) {
			loginServer(t)
			config, err := base(streams{os.Stdin, io.Discard, io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			near, far := net.Pipe()
			ended := make(chan error, 1)
			go func() {
				_, err := daemon.Serve(t.Context(), far, config)
				ended <- err
			}()
			var asked string
			c := client.New(t.Context(), near, client.Config{Asked: func(_ context.Context, method string, params []byte) (any, error) {
				switch method {
				case protocol.MethodWindowShowMessageRequest:
					var p protocol.ShowMessageRequestParams
					if err := (wire.Codec{}).Unmarshal(params, &p); err != nil {
						return nil, err
					}
					asked = p.Message
					if chooses == "" {
						return nil, nil
					}
					return protocol.MessageActionItem{Title: chooses}, nil
				case protocol.MethodWindowShowDocument:
					var p struct {
						URI      string
						External bool
					}
					if err := json.Unmarshal(params, &p); err != nil || !p.External || !strings.Contains(asked, p.URI) {
						t.Errorf("%+v, %v is opened after\n%s", p, err, asked)
						return nil, errors.New("no")
					}
					open(t, p.URI)
					return protocol.ShowDocumentResult{Success: true}, nil
				}
				return nil, nil
			}})
			root := uri.File(t.TempDir())
			p := &protocol.InitializeParams{RootURI: &root}
			p.Capabilities.Window = &protocol.WindowClientCapabilities{ShowDocument: &protocol.ShowDocumentClientCapabilities{Support: true}}
			if _, err := c.Initialize(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			var r wire.MCPServerResult
			err = c.Call(t.Context(), wire.MethodMCPLogin, &wire.MCPLoginParams{Name: "far"}, &r)
			if opens := chooses == "Open in the browser"; opens != (err == nil && r.Server.State == "ready") || (!opens && !strings.Contains(fmt.Sprint(err), "you cancelled it")) {
				t.Errorf("%+v, %v", r.Server, err)
			}
			if err := c.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			_ = c.Close() // the daemon may have hung up already
			<-ended
		})
	}
}
