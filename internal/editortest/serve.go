package editortest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/wire"
)

// early are the notifications that LSP lets a server send before it has
// answered initialize.
var early = []string{protocol.MethodWindowShowMessage, protocol.MethodWindowLogMessage, protocol.MethodTelemetryEvent}

// notified takes what the daemon tells.
func (e *Editor) notified(method string, params []byte) {
	decode := func(into any) bool {
		err := (wire.Codec{}).Unmarshal(params, into)
		if err != nil {
			e.violate("%s: %v", method, err)
		}
		return err == nil
	}
	e.update(func() {
		if !e.ready && !slices.Contains(early, method) {
			e.violate("%s came before the answer to initialize", method)
		}
		switch method {
		case wire.MethodActivity:
			var p wire.ActivityParams
			if decode(&p) {
				e.take(p)
			}
		case wire.MethodConfirmResolved:
			var p wire.ConfirmResolvedParams
			if decode(&p) {
				e.resolved = append(e.resolved, p)
			}
		case wire.MethodFilesWritten:
			var p wire.FilesWrittenParams
			if decode(&p) {
				e.written = append(e.written, p.URIs...)
			}
		case wire.MethodStatus:
			var p wire.StatusParams
			if decode(&p) {
				e.status = p
			}
		case wire.MethodDidChange:
			var p wire.DidChangeParams
			if !decode(&p) {
				return
			}
			if p.Revision < e.revision {
				e.violate("agents/didChange has the revision %d after %d", p.Revision, e.revision)
			}
			e.revision = p.Revision
			e.catalog++
		case protocol.MethodTextDocumentPublishDiagnostics:
			var p protocol.PublishDiagnosticsParams
			if decode(&p) {
				e.takeFindings(p)
			}
		case protocol.MethodWindowShowMessage:
			var p protocol.ShowMessageParams
			if decode(&p) {
				e.messages = append(e.messages, p.Message)
			}
		case protocol.MethodProgress:
			var p protocol.ProgressParams
			if decode(&p) {
				e.takeProgress(p)
			}
		}
	})
}

// take keeps an event, and checks that the ranges of a session join without a
// gap. It is called under the lock.
func (e *Editor) take(p wire.ActivityParams) {
	from := p.FromSeq
	if from == 0 {
		from = p.Seq
	}
	last, ok := e.seen[p.Session]
	if e.paging[p.Session] && (!ok || e.left[p.Session]) {
		// Its answer may be read already, by who waits for it.
		p.Data = slices.Clone(p.Data)
		e.early = append(e.early, p)
		return
	}
	first := e.left[p.Session] && from > last && e.begins(p) // it may have missed what was not its own
	if (ok && from != last+1 && !first) || from > p.Seq {
		e.violate("event %d–%d of session %s came after %d", from, p.Seq, p.Session, last)
	}
	e.seen[p.Session] = p.Seq
	if e.began[p.Session] == 0 && !e.left[p.Session] {
		e.began[p.Session] = from
	}
	p.Data = slices.Clone(p.Data)
	e.events = append(e.events, p)
}

// begins reports whether an event is the first one that the editor sees of a run.
func (e *Editor) begins(p wire.ActivityParams) bool {
	return p.Run != "" && !slices.ContainsFunc(e.events, func(a wire.ActivityParams) bool { return a.Run == p.Run })
}

// takePage checks a page of past events: no more than 500, each range joining
// the one before it; where events come live already, none that has not come. What
// comes live then has to join the last page. It is called under the lock.
func (e *Editor) takePage(session string, from uint64, page *wire.SubscribeResult, err error) {
	delete(e.paging, session)
	early := e.early
	e.early = nil
	defer func() {
		for _, p := range early {
			e.take(p)
		}
	}()
	if err != nil {
		return
	}
	live := e.seen[session]
	for _, p := range early {
		live = max(live, p.Seq)
	}
	// What ended with an earlier subscription joins that one.
	for len(early) > 0 && early[0].Seq < page.NextSeq {
		e.take(early[0])
		early = early[1:]
	}
	at := max(1, from)
	for _, p := range page.Events {
		first := p.FromSeq
		if first == 0 {
			first = p.Seq
		}
		if p.Session != session || first != at || p.Seq < first {
			e.violate("a page of session %s has %d–%d of %s where %d is next", session, first, p.Seq, p.Session, at)
		}
		if began := e.began[session]; began > 0 && p.Seq >= began && p.Seq > live {
			e.violate("event %d–%d of session %s is in a page, and is to come live, as after %d",
				first, p.Seq, session, live)
		}
		if at = p.Seq + 1; p.Type == "run.finished" {
			e.paged[p.Run] = true
		}
	}
	switch {
	case len(page.Events) > 500:
		e.violate("a page of session %s has %d events", session, len(page.Events))
	case page.NextSeq < at:
		e.violate("a page of session %s goes on from %d, and has %d", session, page.NextSeq, at-1)
	case page.More && page.NextSeq == max(1, from):
		e.violate("a page of session %s says that there is more and gets no further than %d", session, from)
	case page.More && len(page.Events) == 0:
		e.violate("a page of session %s is empty and says that there is more", session)
	}
	if page.More {
		return
	}
	if last, live := e.seen[session]; !live || (e.left[session] && page.NextSeq > last) {
		e.seen[session], e.began[session] = page.NextSeq-1, page.NextSeq
	}
	delete(e.left, session)
}

// takeProgress keeps a line of progress, and checks that it was begun and not
// ended. It is called under the lock.
func (e *Editor) takeProgress(p protocol.ProgressParams) {
	var v struct {
		Kind    string `json:"kind"`
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	if err := (wire.Codec{}).Unmarshal(p.Value, &v); err != nil {
		e.violate("$/progress: %v", err)
		return
	}
	token := fmt.Sprint(p.Token)
	switch state := e.tokens[token]; {
	case v.Kind == "begin" && (state == "begin" || state == "end"),
		v.Kind != "begin" && state != "begin":
		e.violate("progress %s: %s after %q", token, v.Kind, state)
	}
	if v.Kind != "report" {
		e.tokens[token] = v.Kind
	}
	e.progress = append(e.progress, strings.TrimSpace(strings.Join([]string{v.Kind, v.Title, v.Message}, " ")))
}

// asked answers what the daemon asks.
func (e *Editor) asked(ctx context.Context, method string, params []byte) (any, error) {
	decode := func(into any) error {
		if err := (wire.Codec{}).Unmarshal(params, into); err != nil {
			return jsonrpc2.Errorf(jsonrpc2.InvalidParams, "%v", err)
		}
		return nil
	}
	switch method {
	case wire.MethodConfirm:
		if e.config.Agents == nil || e.config.Agents.Confirm == nil {
			return nil, e.unasked(method)
		}
		var p wire.ConfirmParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		e.update(func() { e.questions = append(e.questions, p) })
		r, err := e.reply(ctx)
		if err != nil {
			return nil, err
		}
		if r.Choice == "" {
			return nil, nil
		}
		result := &wire.ConfirmResult{Outcome: r.Choice, Feedback: r.Feedback, Modified: r.Modified}
		if r.Fault != "" {
			return e.faulty(r, result, &wire.ConfirmResult{Outcome: r.Then})
		}
		return result, nil
	case wire.MethodAsk:
		if e.config.Agents == nil || !e.config.Agents.Ask {
			return nil, e.unasked(method)
		}
		r, err := e.reply(ctx)
		if err != nil || r.Choice == "" {
			return &wire.AskResult{Action: "decline"}, err
		}
		content, err := wire.Codec{}.Marshal(r.Choice)
		return &wire.AskResult{Action: "accept", Content: content}, err
	case wire.MethodSaveDocuments:
		var p wire.SaveDocumentsParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		return e.saveDocuments(ctx, p), nil
	case wire.MethodEditorQuery:
		if e.config.Agents == nil || !e.config.Agents.EditorQueries {
			return nil, e.unasked(method)
		}
		var p wire.EditorQueryParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		if e.config.NoAnswer {
			<-ctx.Done() // until it is withdrawn
			return nil, jsonrpc2.Errorf(-32800, "withdrawn")
		}
		return e.query(p)
	case protocol.MethodWindowShowMessageRequest:
		var p protocol.ShowMessageRequestParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		return e.dialog(ctx, p)
	case protocol.MethodWindowShowDocument:
		var p protocol.ShowDocumentParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		if e.config.NoShowDocument {
			return nil, e.unasked(method)
		}
		path := p.URI.FsPath()
		var answer *string
		e.update(func() {
			e.shown = append(e.shown, path)
			if len(e.scratch) > 0 && strings.Contains(filepath.Base(path), " asks ") {
				answer, e.scratch = &e.scratch[0], e.scratch[1:]
			}
		})
		if answer != nil {
			if err := e.fill(ctx, p.URI, *answer); err != nil {
				return nil, err
			}
		}
		return &protocol.ShowDocumentResult{Success: true}, nil
	case protocol.MethodWorkspaceApplyEdit:
		if e.config.NoApplyEdit {
			return nil, e.unasked(method)
		}
		var p protocol.ApplyWorkspaceEditParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		if e.config.LiesAboutEdits {
			return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
		}
		return e.apply(ctx, p)
	case protocol.MethodWindowWorkDoneProgressCreate:
		if e.config.NoProgress {
			return nil, e.unasked(method)
		}
		var p protocol.WorkDoneProgressCreateParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		e.update(func() { e.tokens[fmt.Sprint(p.Token)] = "create" })
		return nil, nil
	case protocol.MethodClientRegisterCapability:
		var p protocol.RegistrationParams
		if err := decode(&p); err != nil {
			return nil, err
		}
		if !strings.Contains(e.config.Can, "dynamicRegistration") {
			return nil, e.unasked(method)
		}
		e.update(func() {
			for _, r := range p.Registrations {
				e.registered = append(e.registered, r.Method+" "+string(r.RegisterOptions))
			}
		})
		return nil, nil
	case protocol.MethodWorkspaceCodeLensRefresh, protocol.MethodWorkspaceInlayHintRefresh,
		protocol.MethodWorkspaceSemanticTokensRefresh, protocol.MethodWorkspaceDiagnosticRefresh:
		kind := strings.TrimSuffix(strings.TrimPrefix(method, "workspace/"), "/refresh")
		if !strings.Contains(e.config.Can, "refreshSupport") {
			return nil, e.unasked(method)
		}
		e.update(func() { e.refreshed = append(e.refreshed, kind) })
		return nil, nil
	}
	return nil, jsonrpc2.ErrMethodNotFound
}

// fill opens a file that asks, writes below its last line, and saves it.
func (e *Editor) fill(ctx context.Context, u uri.URI, answer string) error {
	asked, err := os.ReadFile(u.FsPath())
	if err != nil {
		return err
	}
	var open protocol.DidOpenTextDocumentParams
	open.TextDocument.URI, open.TextDocument.Version, open.TextDocument.Text = u, 1, string(asked)
	if err := e.conn.Notify(ctx, protocol.MethodTextDocumentDidOpen, &open); err != nil {
		return err
	}
	if answer != "" {
		if err := os.WriteFile(u.FsPath(), append(asked, answer+"\n"...), 0o600); err != nil {
			return err
		}
	}
	var saved protocol.DidSaveTextDocumentParams
	saved.TextDocument.URI = u
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidSave, &saved)
}

// unasked is for what the editor said that it cannot do.
func (e *Editor) unasked(method string) error {
	e.update(func() { e.violate("%s was sent to an editor that did not advertise it", method) })
	return jsonrpc2.ErrMethodNotFound
}

// reply returns what the person does with a question; without a queued reply
// they leave it open until it is withdrawn.
func (e *Editor) reply(ctx context.Context) (Reply, error) {
	var r Reply
	for {
		e.mu.Lock()
		changed, queued := e.changed, len(e.replies) > 0 && ctx.Err() == nil // a reply is for the question that stands
		if queued {
			r, e.replies = e.replies[0], e.replies[1:]
		}
		e.mu.Unlock()
		if queued {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, jsonrpc2.Errorf(-32800, "withdrawn")
		}
	}
	if r.Late {
		<-ctx.Done()
	}
	if r.Before != nil {
		r.Before(ctx)
	}
	if r.Fail != nil {
		return r, r.Fail
	}
	return r, nil
}

// aboutFolders are the first actions of dialogs about folders, which come by
// themselves.
var aboutFolders = map[string]bool{"Do not trust": true, "Not now": true}

// dialog shows a message with actions.
func (e *Editor) dialog(ctx context.Context, p protocol.ShowMessageRequestParams) (any, error) {
	if e.config.NoDialog {
		return nil, jsonrpc2.ErrMethodNotFound
	}
	var titles []string
	for _, a := range p.Actions {
		titles = append(titles, a.Title)
	}
	e.update(func() {
		e.dialogs = append(e.dialogs, p.Message+"\n["+strings.Join(titles, "] [")+"]")
		if len(slices.Compact(slices.Sorted(slices.Values(titles)))) != len(titles) {
			e.violate("a dialog has two actions of one title")
		}
	})
	if len(titles) > 0 && aboutFolders[titles[0]] && !e.config.Decides {
		return nil, nil
	}
	r, err := e.reply(ctx)
	if err != nil || r.Choice == "" {
		return nil, err
	}
	if !slices.Contains(titles, r.Choice) {
		return nil, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "the dialog has no action %q", r.Choice)
	}
	if r.Fault != "" {
		return e.faulty(r, &protocol.MessageActionItem{Title: r.Choice}, &protocol.MessageActionItem{Title: r.Then})
	}
	return &protocol.MessageActionItem{Title: r.Choice}, nil
}

// saveDocuments saves what is asked for.
func (e *Editor) saveDocuments(ctx context.Context, p wire.SaveDocumentsParams) *wire.SaveDocumentsResult {
	result := &wire.SaveDocumentsResult{Saved: []string{}, Failed: []string{}}
	e.mu.Lock()
	names := map[string]string{}
	for name, b := range e.buffers {
		names[string(b.uri)] = name
	}
	e.mu.Unlock()
	for _, u := range p.URIs {
		if name, ok := names[u]; ok && e.Save(ctx, name) == nil {
			result.Saved = append(result.Saved, u)
		} else {
			result.Failed = append(result.Failed, u)
		}
	}
	return result
}
