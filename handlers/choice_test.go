package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// items are so many of a kind, each with a label.
func items(kind string, n int, label string) []workspace.TrustItem {
	var list []workspace.TrustItem
	for i := range n {
		list = append(list, workspace.TrustItem{Kind: kind, Name: fmt.Sprint(kind, i), Label: fmt.Sprint(label, i)})
	}
	return list
}

// TestSEC13And71TrustIsGivenToWhatWasSeen: a dialog about a folder keeps to the
// size of a question; what does not fit, or is not named, can be agreed to only
// after it was shown, and the action that refuses is first.
func TestSEC13And71TrustIsGivenToWhatWasSeen(t *testing.T) {
	wide := strings.Repeat("x", summaryWidth-20)
	for name, c := range map[string]struct {
		folder  string
		brings  []workspace.TrustItem
		setting []string
		cut     bool
	}{
		"little":                 {"/w", items(workspace.AgentItem, 2, "a"), nil, false},
		"all kinds":              {"/w", slices.Concat(items(workspace.AgentItem, 4, "a"), items(workspace.HookItem, 1, "h"), items(workspace.MCPItem, 1, "m")), []string{"model.name"}, false},
		"more than are named":    {"/w", items(workspace.AgentItem, maxNamed+1, "a"), nil, true},
		"a command that is long": {"/w", items(workspace.HookItem, 1, strings.Repeat("x", summaryWidth)+"; P"), nil, true},
		"a line too wide":        {"/w", items(workspace.HookItem, 2, wide), nil, true},
		"a root that is long":    {"/" + strings.Repeat("w", 2*summaryWidth), items(workspace.AgentItem, 1, "a"), nil, true},
		"too many code units":    {"/" + strings.Repeat("𝒘", 250), slices.Concat(items(workspace.AgentItem, 1, strings.Repeat("𝒙", 130)), items(workspace.HookItem, 1, strings.Repeat("𝒙", 130))), nil, true},
		"blanks that hide":       {"/w", items(workspace.HookItem, 1, "ls"+strings.Repeat(" ", 2000)+"; P"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var dialogs []protocol.ShowMessageRequestParams
			replies := []string{showTrust, giveTrust}
			if !c.cut {
				replies = []string{giveTrust}
			}
			conn := connect(t, func(_ context.Context, method string, params []byte) (any, error) {
				var p protocol.ShowMessageRequestParams
				if err := (wire.Codec{}).Unmarshal(bytes.Clone(params), &p); err != nil || method != protocol.MethodWindowShowMessageRequest {
					return nil, jsonrpc2.ErrMethodNotFound
				}
				dialogs = append(dialogs, p)
				return &protocol.MessageActionItem{Title: replies[len(dialogs)-1]}, nil
			})
			lines, all := trustLines(c.folder, workspace.Active{Items: c.brings, Settings: c.setting})
			chosen, err := conn.h.choose(t.Context(), choice{
				lines: lines, cut: !all, name: "trust w.txt", whole: "all of it", titles: [3]string{refuseTrust, showTrust, giveTrust},
			}, anyRun)
			if chosen != giveTrust || err != nil || len(dialogs) != len(replies) {
				t.Fatalf("chosen %q, %v, after %d dialogs", chosen, err, len(dialogs))
			}
			for i, p := range dialogs {
				var titles []string
				for _, a := range p.Actions {
					titles = append(titles, a.Title)
				}
				want := []string{refuseTrust, showTrust, giveTrust}
				switch {
				case c.cut && i == 0:
					want = want[:2]
				case c.cut:
					want = []string{refuseTrust, giveTrust}
				}
				if !slices.Equal(titles, want) {
					t.Errorf("dialog %d offers %q", i, titles)
				}
				if n := len(utf16.Encode([]rune(p.Message))); strings.Count(p.Message, "\n") >= summaryLines || (n > summaryWhole && !c.cut) {
					t.Errorf("%d code units:\n%s", n, p.Message)
				}
				if strings.Contains(name, "blanks") && !strings.Contains(p.Message, "ls␠×2000; P0") {
					t.Errorf("hidden:\n%s", p.Message)
				}
			}
		})
	}
}

// TestSEC71AnAnswerThatWasNotOfferedIsNone: a client cannot agree before what is
// cut was shown.
func TestSEC71AnAnswerThatWasNotOfferedIsNone(t *testing.T) {
	for _, cut := range []bool{false, true} {
		conn := connect(t, func(context.Context, string, []byte) (any, error) {
			return &protocol.MessageActionItem{Title: giveReview}, nil
		})
		chosen, err := conn.h.choose(t.Context(), choice{
			lines: []string{"?"}, cut: cut, name: "x.diff", whole: "x", titles: [3]string{refuseReview, showReview, giveReview},
		}, anyRun)
		if want := map[bool]string{false: giveReview, true: ""}[cut]; err != nil || chosen != want {
			t.Errorf("cut %v: %q, %v", cut, chosen, err)
		}
	}
}

// TestTrustIsAskedWhereThereAreNoMessagesWithActions: a client that has a dialog
// for questions of agents is asked by it, when somebody waits for the answer.
func TestTrustIsAskedWhereThereAreNoMessagesWithActions(t *testing.T) {
	for name, c := range map[string]struct {
		by      asker
		answers []string // results of agents/ask
		want    string
		failed  error
	}{
		"a run":        {aRun, []string{`{"action":"accept","content":"Trust this folder"}`}, giveTrust, nil},
		"shown first":  {aRun, []string{`{"action":"accept","content":"Show what it brings"}`, `{"action":"accept","content":"Trust this folder"}`}, giveTrust, nil},
		"only Enter":   {aRun, []string{`{"action":"decline"}`}, "", nil},
		"other words":  {aRun, []string{`{"action":"accept","content":"yes"}`}, "", nil},
		"a command":    {aCommand, []string{`{"action":"accept","content":"Trust this folder"}`}, giveTrust, nil},
		"nobody waits": {anyRun, nil, "", errUnserved},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []wire.AskParams
			conn := connect(t, func(_ context.Context, method string, params []byte) (any, error) {
				var p wire.AskParams
				if method != wire.MethodAsk || (wire.Codec{}).Unmarshal(bytes.Clone(params), &p) != nil {
					return nil, jsonrpc2.ErrMethodNotFound
				}
				asked = append(asked, p)
				return json.RawMessage(c.answers[len(asked)-1]), nil
			})
			conn.h.caps.Confirm, conn.h.shows = nil, false
			chosen, err := conn.h.choose(t.Context(), choice{
				lines: []string{"Trust the folder /w?"}, name: "trust w.txt", whole: "all of it", titles: [3]string{refuseTrust, showTrust, giveTrust},
			}, c.by)
			if chosen != c.want || err != c.failed || len(asked) != len(c.answers) {
				t.Errorf("%q, %v, asked %+v", chosen, err, asked)
			}
			for i, p := range asked {
				if p.Choices[0] != refuseTrust || (i > 0 && p.Message != "all of it") {
					t.Errorf("asked %+v", p)
				}
			}
		})
	}
}
