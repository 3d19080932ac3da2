package editortest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/workspace"
)

// Findings are what the editor shows of one file.
type Findings struct {
	URI     uri.URI
	Version *int32 // of the buffer that they are about; nil where the daemon did not say
	Items   []protocol.Diagnostic
	Result  string // the id of the answer, where the editor asked
}

// takeFindings keeps what the daemon publishes, and checks that the editor does not
// ask for it itself, and that it is about a buffer that there was. It is called
// under the lock.
func (e *Editor) takeFindings(p protocol.PublishDiagnosticsParams) {
	if e.pulls {
		e.violate("findings of %s were published to an editor that asks for them", p.URI)
	}
	now := Findings{URI: p.URI, Items: slices.Clone(p.Diagnostics)}
	if v, ok := p.Version.Get(); ok {
		now.Version = &v
		b := e.bufferAt(p.URI)
		before := e.findings[p.URI].Version
		switch {
		case b != nil && v > b.version && !e.reopened[p.URI]: // else it may be the buffer before
			e.violate("findings of %s are about version %d, which is yet to come", p.URI, v)
		case b != nil && before != nil && v < *before && !e.reopened[p.URI]:
			e.violate("findings of %s about version %d came after those about %d", p.URI, v, *before)
		case b != nil && v <= b.version:
			delete(e.reopened, p.URI)
		}
	}
	e.keepFindings(now)
}

// keepFindings shows findings. Those of a buffer as it is now lie inside of it.
func (e *Editor) keepFindings(f Findings) {
	if b := e.bufferAt(f.URI); b != nil && f.Version != nil && *f.Version == b.version {
		encoding := workspace.Negotiate([]string{string(e.Caps.PositionEncoding)})
		for _, d := range f.Items {
			start, err := workspace.Offset(b.text, workspace.Position(d.Range.Start), encoding)
			end, err2 := workspace.Offset(b.text, workspace.Position(d.Range.End), encoding)
			if err != nil || err2 != nil || end < start {
				e.violate("a finding of %s has the range %v, which is not inside of it", f.URI, d.Range)
			}
		}
	}
	e.findings[f.URI] = f
}

// bufferAt returns the open buffer of a URI, or nil. It is called under the lock.
func (e *Editor) bufferAt(name uri.URI) *buffer {
	for _, b := range e.buffers {
		if b.uri == name {
			return b
		}
	}
	return nil
}

// AwaitFindings waits until the daemon has published what done says yes to of a
// file; current are about the buffer's newest version. done runs under the editor's
// lock.
func (e *Editor) AwaitFindings(ctx context.Context, name string, done func(f Findings, current bool) bool) error {
	at := uri.File(e.path(name))
	return e.Await(ctx, func(Seen) bool {
		f, ok := e.findings[at]
		b := e.bufferAt(at)
		return ok && done(f, b != nil && f.Version != nil && *f.Version == b.version)
	})
}

// Shows returns what the editor shows of its files, but for those without findings,
// by URI.
func (e *Editor) Shows() []Findings {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []Findings
	for _, f := range e.findings {
		if len(f.Items) > 0 {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b Findings) int { return strings.Compare(string(a.URI), string(b.URI)) })
	return list
}

// Ask asks for the findings of one file, and reports whether they are those that the
// editor has.
func (e *Editor) Ask(ctx context.Context, name string) (f Findings, unchanged bool, err error) {
	at := uri.File(e.path(name))
	p := &protocol.DocumentDiagnosticParams{}
	p.TextDocument.URI = at
	e.mu.Lock()
	before := e.findings[at]
	var version *int32
	if b := e.bufferAt(at); b != nil {
		version = new(b.version)
	}
	e.mu.Unlock()
	if before.Result != "" {
		p.PreviousResultID = &before.Result
	}
	var answer struct {
		Kind     string                `json:"kind"`
		ResultID string                `json:"resultId"`
		Items    []protocol.Diagnostic `json:"items"`
	}
	if err := e.conn.Call(ctx, protocol.MethodTextDocumentDiagnostic, p, &answer); err != nil {
		return f, false, err
	}
	if answer.Kind == "unchanged" {
		if before.Result == "" || before.Result != answer.ResultID {
			return f, false, fmt.Errorf("%s is unchanged since %q, asked was since %q", name,
				answer.ResultID, before.Result)
		}
		return before, true, nil
	}
	f = Findings{URI: at, Version: version, Items: answer.Items, Result: answer.ResultID}
	e.update(func() { e.keepFindings(f) })
	return f, false, nil
}

// AskAll asks for the findings of all files, and returns the URIs of those that are
// unchanged.
func (e *Editor) AskAll(ctx context.Context) (unchanged []string, err error) {
	p := &protocol.WorkspaceDiagnosticParams{PreviousResultIds: []protocol.PreviousResultId{}}
	e.mu.Lock()
	for _, f := range e.findings {
		if f.Result != "" {
			p.PreviousResultIds = append(p.PreviousResultIds, protocol.PreviousResultId{URI: f.URI, Value: f.Result})
		}
	}
	e.mu.Unlock()
	var answer struct {
		Items []struct {
			Kind     string                `json:"kind"`
			ResultID string                `json:"resultId"`
			URI      uri.URI               `json:"uri"`
			Version  *int32                `json:"version"`
			Items    []protocol.Diagnostic `json:"items"`
		} `json:"items"`
	}
	if err := e.conn.Call(ctx, protocol.MethodWorkspaceDiagnostic, p, &answer); err != nil {
		return nil, err
	}
	e.update(func() {
		for _, item := range answer.Items {
			if item.Kind == "unchanged" {
				if before := e.findings[item.URI]; before.Result != item.ResultID {
					e.violate("%s is unchanged since %q, asked was since %q", item.URI, item.ResultID, before.Result)
				}
				unchanged = append(unchanged, string(item.URI))
				continue
			}
			e.keepFindings(Findings{URI: item.URI, Version: item.Version, Items: item.Items, Result: item.ResultID})
		}
	})
	return unchanged, nil
}

// Findings returns what the editor shows of a file; the error says that nothing was
// ever told of it.
func (e *Editor) Findings(name string) (Findings, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok := e.findings[uri.File(e.path(name))]
	if !ok {
		return f, fmt.Errorf("nothing was told of %s", name)
	}
	return f, nil
}
