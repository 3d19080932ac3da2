package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/workspace"
)

// notes is an MCP server whose resources are there once so many are asked for. It gets
// to know how many were.
func notes(t *testing.T, atOnce int, know func(asked int)) *Handlers {
	t.Helper()
	var mu sync.Mutex
	asked, all := 0, make(chan struct{})
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ URI string }
		}
		_ = json.NewDecoder(q.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"N","version":"1"}}}`, m.ID)
		case "resources/read":
			mu.Lock()
			if asked++; asked == atOnce {
				close(all)
			}
			know(asked)
			mu.Unlock()
			select {
			case <-all:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":%q,"text":"text of %s"}]}}`, m.ID, m.Params.URI, m.Params.URI)
			case <-q.Context().Done():
			}
		default:
			if m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(func() {
		far.CloseClientConnections()
		far.Close()
	})
	server := mcp.Parse("n", false, fmt.Appendf(nil, `{"httpUrl": %q}`, far.URL), "", nil)
	servers := mcp.New(t.Context(), mcp.Config{
		Described: func(string) []mcp.Server { return []mcp.Server{server} }, Roots: func() []string { return nil },
		Logins: noLogins{}, Hide: func(string, ...string) {}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(servers.Close)
	return &Handlers{daemon: &Daemon{Daemon: language.Daemon{MCP: servers}}, Workspace: new(workspace.Workspace)}
}

type noLogins struct{}

func (noLogins) Get(context.Context, string) ([]byte, error) { return nil, nil }
func (noLogins) Put(context.Context, string, []byte) error   { return nil }
func (noLogins) Lock(context.Context, string) (func(), error) {
	return func() {}, nil
}

// TestResourcesAreReadAtOnce: the resources of a request are read side by side, each
// once, up to a number; those that are not there when the time is over are named with
// the reason.
func TestResourcesAreReadAtOnce(t *testing.T) {
	references := []string{"file:///a.txt"}
	for i := range maxResources {
		references = append(references, fmt.Sprintf("@n:note://%d", i))
	}
	h := notes(t, maxResources, func(int) {})
	blocks, err := h.resourcesOf(t.Context(), "", append(references, references[1]))
	if err != nil || len(blocks) != maxResources || blocks["@n:note://7"].Resource == nil || blocks["@n:note://7"].Resource.Text != "text of note://7" {
		t.Errorf("%v, %v", blocks, err)
	}
	if _, err := h.resourcesOf(t.Context(), "", append(references, "@n:note://more")); err == nil || !strings.Contains(err.Error(), "name 10 at most") {
		t.Errorf("one too many: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	h = notes(t, 3, func(asked int) { // which waits for one more
		if asked == 2 {
			cancel(errors.New("the time is over"))
		}
	})
	blocks, err = h.resources(ctx, "", references[1:3])
	if b := blocks["@n:note://1"]; err != nil || len(blocks) != 2 || b.Type != "resource_link" || !strings.Contains(b.Name, "the time is over") {
		t.Errorf("%+v, %v", b, err)
	}
}
