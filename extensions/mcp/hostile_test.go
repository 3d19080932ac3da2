package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/agentls/agentls/internal/dial"
)

// TestSEC90OtherOrigins: what a server over SSE names as its address gets nothing unless
// it is where the description has the server, in the same scheme: headers hold tokens.
func TestSEC90OtherOrigins(t *testing.T) {
	w, r := newWorld(t, nil), newRemote(t, "")
	w.add("far", fmt.Sprintf(`"url": %q, "headers": {"Authorization": "Bearer ${TOKEN}"}`, strings.Replace(r.URL, "http:", "https:", 1)))
	at, err := dial.ParseURL(w.described[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	next := (&dial.Dialer{Hosts: w.described[0].hosts(at)}).Transport(0)
	defer next.CloseIdleConnections()
	g := &guard{connection: &connection{entry: &entry{all: w.Servers}, life: t.Context()}, at: at.URL, next: next, headers: w.described[0].Headers}
	through := &http.Client{Transport: g}
	resp, err := through.Post(r.URL+"/messages", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not where its settings have it") || r.has("ping") {
		t.Errorf("a message went in clear text: %v, %q", err, r.heard)
	}
	w.described = nil
	r.fault = "sse elsewhere"
	w.add("near", fmt.Sprintf(`"url": %q`, r.URL))
	if tools, o := w.offer("near"); len(tools) != 0 || !strings.Contains(strings.Join(o.Problems, ""), "not where its settings have it") {
		t.Errorf("offered by what names another address: %v, %q", tools, o.Problems)
	}
}

// TestSEC84ErasedApprovals: what was approved of a server is not lost through how much
// it lists, and where it is lost nothing is taken for approved.
func TestSEC84ErasedApprovals(t *testing.T) {
	w := newWorld(t, nil, "works")
	w.offer("works")
	e, err := w.named(w.folder, "works")
	if err != nil {
		t.Fatal(err)
	}
	for _, large := range []struct {
		prompts []Prompt
		tools   []listed
		kept    int
	}{
		{[]Prompt{{Name: "a", Description: strings.Repeat("x", maxKept)}}, e.listed, 3},
		{nil, []listed{{Name: "a", Description: strings.Repeat("x", maxKept)}}, 0},
	} {
		e.mu.Lock()
		e.prompts, e.listed = large.prompts, large.tools
		err = e.save()
		e.mu.Unlock()
		again := &entry{all: e.all, folder: e.folder, name: e.name}
		if again.load(); err != nil || len(again.accepted) != 3 || len(again.listed) != large.kept {
			t.Errorf("kept: %d approved, %d listed, %v", len(again.accepted), len(again.listed), err)
		}
	}
	w.Close()
	if err := os.WriteFile(filepath.Join(w.dir, fileName(w.folder, "works")), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open(nil)
	w.offer("works")
	until(t, "all waits for the person", func() bool { s := w.state("works"); return len(s.Tools) == 0 && len(s.Pending) == 3 })
}

// TestREL86Prompts: a list of prompts is read as far as there is room, however long it,
// its pages and the arguments of each are.
func TestREL86Prompts(t *testing.T) {
	w := newWorld(t, nil, "has prompts")
	w.offer("has-prompts")
	all := w.Prompts(w.folder)
	if len(all) != maxPrompts || len(all[0].Args) != maxArguments || len(all[0].Args[0].Description) > maxArgument {
		t.Errorf("%d prompts", len(all))
	}
}

// promptsPage is a page of a list without an end.
func promptsPage(cursor string) string {
	var arguments []mcp.PromptArgument
	for i := range maxArguments + 1 {
		arguments = append(arguments, mcp.PromptArgument{Name: fmt.Sprint("a", i), Description: strings.Repeat("x", maxArgument+1)})
	}
	var prompts []mcp.Prompt
	for i := range 10 {
		prompts = append(prompts, mcp.Prompt{Name: fmt.Sprint("p", cursor, i), Arguments: arguments})
	}
	page, _ := json.Marshal(map[string]any{"prompts": prompts, "nextCursor": cursor + "n"})
	return string(page)
}
