package language

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// findingSource is who found what is told of a file.
const findingSource = "agentls"

// pulls reports whether the client asks for findings itself. It is told none then:
// it would show each twice (spec 2.9). A change of one file changes the findings of
// others, so a client that cannot be told to ask again is told them instead, as is
// Neovim: 0.12, told so, asks about the workspace and ignores what it learns about
// the files that are open.
func (h *Handlers) pulls() bool {
	t, w := h.client.TextDocument, h.client.Workspace
	asks := t != nil && t.Diagnostic != nil
	again := w != nil && w.Diagnostics != nil && on(w.Diagnostics.RefreshSupport)
	return asks && again && !h.neovim
}

// advertiseDiagnostics says that findings can be asked for, to a client that is not told
// them: files depend on each other, and the workspace can be asked about as a whole.
func (h *Handlers) advertiseDiagnostics(c *protocol.ServerCapabilities) {
	if h.pulls() {
		identifier := findingSource
		c.DiagnosticProvider = &protocol.DiagnosticOptions{Identifier: &identifier, InterFileDependencies: true,
			WorkspaceDiagnostics: true}
	}
}

// report is what is to be told of one file.
type report struct {
	uri     uri.URI
	version *int32 // of the open document; nil = of the file on the disk
	items   []protocol.Diagnostic
	id      string // two reports that tell the same of a file have the same
}

// checks are the reports that were made last.
type checks struct {
	// open has a report for each open document, nil of what there is nothing to report
	// about.
	open latest[*memoEntry[documentState, *report]]
	// settings has the checks of open settings files, also those that are still running.
	settings latest[*settingsCheck]

	// making guards disk, as a lock that can be waited for until a request ends. It has
	// room for one: it is full while disk is made or looked at.
	making chan struct{} // capacity 1: full while disk is made or looked at
	disk   checkedDisk
}

// documentState is what the report of a document depends on.
type documentState struct {
	of *workspace.Document
	circumstances
}

// checkedDisk are the reports of the files on the disk that have findings, in the state of
// the first three fields. In any other state they are made anew.
type checkedDisk struct {
	catalog    *registry.Snapshot
	generation uint64
	folders    []workspace.Folder
	files      []checkedFile
}

// checkedFile is the report of the file at a canonical path.
type checkedFile struct {
	path   string
	report *report
}

// generation grows when what is known beside files may be other than before: the tests
// that were run, what routing found out, and settings. Two states that differ never have
// the same, as each part only grows.
func (a *Query) generation() uint64 {
	n := a.h.tests.at()
	if a.h.daemon.Agents != nil {
		n += a.h.daemon.Agents.OverlapsGeneration()
	}
	if of := a.h.daemon.Knowledge.Generation; of != nil {
		n += of()
	}
	return n
}

// reportOpen returns the report of an open document, nil of one that is neither
// an agent file, a settings file nor a file of tests. d is not lost. The error is ctx's, or
// errSuperseded.
func (a *Query) reportOpen(ctx context.Context, d *workspace.Document) (*report, error) {
	return remember(&a.h.checks.open, a.h.Workspace, d, documentState{d, a.circumstances()}, func() (*report, error) {
		version := d.Version
		return a.reportOf(ctx, d.URI, &version)
	})
}

// reportOf returns the report of what a URI names, nil where that is neither an agent
// file, a settings file nor a file of tests, or is not there. version is that of the open
// document, nil for the disk. The error is that of reportOpen.
func (a *Query) reportOf(ctx context.Context, name uri.URI, version *int32) (*report, error) {
	if f, ok := a.file(name); ok {
		problems := language.Diagnose(&language.World{Agents: a.Catalog}, f)
		if more := a.powerFindings(f); len(more) > 0 {
			problems = slices.Concat(problems, more)
			slices.SortStableFunc(problems, func(x, y definition.Problem) int {
				return cmp.Or(cmp.Compare(x.Range.Start.Line, y.Range.Start.Line),
					cmp.Compare(x.Range.Start.Character, y.Range.Start.Character))
			})
		}
		return a.report(name, version, f.Text, a.overlapping(f.Definition, problems)), nil
	}
	if f, ok := a.testFile(name); ok {
		return a.report(name, version, f.Text, a.testProblems(f)), nil
	}
	text, scope, path, ok := a.settingsFile(name)
	if !ok {
		return nil, nil
	}
	findings, err := a.settingsFindings(ctx, name, text, scope, path)
	if err != nil {
		return nil, err
	}
	return a.report(name, version, text, a.settingsProblems(text, findings)), nil
}

// settingsProblems are findings about settings as those of agent files.
func (a *Query) settingsProblems(text string, findings []workspace.SettingsFinding) []definition.Problem {
	lines := workspace.NewLines(text)
	var problems []definition.Problem
	for _, f := range findings {
		problems = append(problems, definition.Problem{
			Range: definition.Range{Start: place16(lines, f.Start), End: place16(lines, f.End)}, Code: f.Code,
			Severity: definition.Severity(f.Severity),
			Message:  string(a.h.daemon.MaskText([]byte(f.Message))), // it quotes what is written there
		})
	}
	return problems
}

// reportDisk returns the reports of the files on the disk that have findings: those of the
// catalog in its order, then settings, then files of tests. It is made once for each state
// of them, by one request for all that want it then. The error is ctx's; a report that was
// begun is then thrown away.
func (a *Query) reportDisk(ctx context.Context) ([]checkedFile, error) {
	c, generation, folders := &a.h.checks, a.generation(), a.Snapshot.Folders()
	select {
	case c.making <- struct{}{}:
		defer func() { <-c.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.disk.catalog == a.Catalog && c.disk.generation == generation && slices.Equal(c.disk.folders, folders) {
		return c.disk.files, nil
	}
	var files []checkedFile
	for i, e := range a.Catalog.Entries() {
		if i%checkedAtOnce == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		path := e.Definition.Path
		if path == "" {
			continue
		}
		problems := a.overlapping(e.Definition, a.Catalog.Findings(e))
		if len(problems) == 0 {
			continue
		}
		text := ""
		if a.encoding != workspace.UTF16 {
			text, _ = DiskText(path) // where it has gone, its next findings come soon
		}
		files = append(files, checkedFile{path, a.report(uri.URI(a.URI(path)), nil, text, problems)})
	}
	for _, s := range a.settingsFiles() {
		if text, ok := settingsText(s.path); ok {
			findings, err := a.diagnoseSettings(ctx, text, s.scope, s.path)
			if err != nil {
				return nil, err
			}
			if problems := a.settingsProblems(text, findings); len(problems) > 0 {
				files = append(files, checkedFile{s.path, a.report(uri.URI(a.URI(s.path)), nil, text, problems)})
			}
		}
	}
	// Of the files of tests only those are read whose last run failed; others are judged
	// when they are open or asked about.
	for _, path := range a.h.tests.failedFiles() {
		if f, ok := a.testFile(uri.URI(a.URI(path))); ok {
			if problems := a.testProblems(f); len(problems) > 0 {
				files = append(files, checkedFile{path, a.report(f.URI, nil, f.Text, problems)})
			}
		}
	}
	c.disk = checkedDisk{a.Catalog, generation, folders, files}
	return files, nil
}

// reportClosed returns the report of a file that is not open, nil where there is
// nothing to tell. What is told of all files has the same of it: of the catalog's,
// what the catalog has read. The error is ctx's.
func (a *Query) reportClosed(ctx context.Context, name uri.URI) (*report, error) {
	path, ok := workspace.FilePath(name)
	if !ok {
		return nil, nil
	}
	files, err := a.reportDisk(ctx)
	if err != nil {
		return nil, err
	}
	path = workspace.CanonicalPath(path)
	if i := slices.IndexFunc(files, func(f checkedFile) bool { return f.path == path }); i >= 0 {
		return files[i].report, nil
	}
	// Agent files and settings were looked at for the reports: one without any is fine.
	if slices.ContainsFunc(a.Catalog.Entries(), func(e *registry.Entry) bool { return e.Definition.Path == path }) ||
		slices.ContainsFunc(a.settingsFiles(), func(s settingsPath) bool { return s.path == path }) {
		return nil, nil
	}
	return a.reportOf(ctx, name, nil)
}

// checkedAtOnce is after how many files ctx is looked at.
const checkedAtOnce = 256

// settingsPath is where a settings file may be.
type settingsPath struct {
	path  string // canonical
	scope settings.Scope
}

// settingsFiles returns where the person's settings and those of the workspace
// folders are, each once.
func (a *Query) settingsFiles() []settingsPath {
	files := []settingsPath{{workspace.CanonicalPath(a.h.daemon.Knowledge.Settings), settings.UserScope}}
	for _, f := range a.Snapshot.Folders() {
		path := workspace.CanonicalPath(filepath.Join(f.Canonical, workspace.ProjectSettings))
		if !slices.ContainsFunc(files, func(s settingsPath) bool { return s.path == path }) {
			files = append(files, settingsPath{path, settings.ProjectScope})
		}
	}
	return files
}

// reports returns what is to be told of all files: the open ones by URI, each version of
// them; then those on the disk that have findings and are not open. lost are the documents
// of which nothing is known by now, so that what was told of them holds. The error is
// ctx's.
func (a *Query) reports(ctx context.Context) (list []*report, lost map[uri.URI]bool, err error) {
	lost = make(map[uri.URI]bool)
	for d := range a.Snapshot.Documents() {
		if d.Lost {
			lost[d.URI] = true
			continue
		}
		switch r, err := a.reportOpen(ctx, d); {
		case errors.Is(err, errSuperseded):
			lost[d.URI] = true // it is asked about again
		case err != nil:
			return nil, nil, err
		case r != nil:
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y *report) int { return strings.Compare(string(x.uri), string(y.uri)) })
	files, err := a.reportDisk(ctx)
	for _, f := range files {
		if _, open := a.Snapshot.DocumentAt(f.path); !open {
			list = append(list, f.report)
		}
	}
	return list, lost, err
}

// maxFindings is how many findings of one file are told: more help nobody, and a
// client has to take them with every key.
const maxFindings = 1000

// report makes the report of a file with a text, which is looked at only where the
// client does not count in UTF-16.
// Of more than maxFindings the first are told.
func (a *Query) report(name uri.URI, version *int32, text string, problems []definition.Problem) *report {
	r := &report{uri: name, version: version, items: []protocol.Diagnostic{}}
	columns, texts := a.Columns(text), a.texts()
	for _, p := range problems[:min(len(problems), maxFindings)] {
		r.items = append(r.items, a.diagnostic(p, columns, texts))
	}
	data, err := protocol.Marshal(r.items)
	if err != nil {
		return r // its id is "" then: it is taken for another one each time
	}
	sum := sha256.Sum256(data)
	r.id = hex.EncodeToString(sum[:8])
	if version != nil {
		// Editors let go of what they were told of a document when it is closed: the
		// disk's findings are news then, also where they are the same.
		r.id = "open-" + r.id
	}
	return r
}

// diagnostic is a finding as LSP has it.
func (a *Query) diagnostic(p definition.Problem, c Columns, t *texts) protocol.Diagnostic {
	d := protocol.Diagnostic{
		Range: c.Out(p.Range), Severity: severity(p.Severity), Code: protocol.String(p.Code),
		Source: protocol.NewOptional(findingSource), Message: protocol.String(legible(p.Message)),
	}
	related, tags := a.h.findingCapabilities()
	if tag := tagOf(p.Code); slices.Contains(tags, tag) {
		d.Tags = protocol.NewDiagnosticTags(tag)
	}
	if related {
		for _, other := range p.Related {
			path, ok := workspace.FilePath(other.URI)
			if !ok {
				continue // all agents that have a place are files
			}
			at := t.location(language.Location{URI: a.URI(path), Range: other.Range})
			d.RelatedInformation = append(d.RelatedInformation,
				protocol.DiagnosticRelatedInformation{Location: at, Message: legible(other.Message)})
		}
	}
	return d
}

// findingCapabilities returns what the client can show of a finding. Clients of
// LSP 3.17 say so of findings that they are told, also where they ask for them.
func (h *Handlers) findingCapabilities() (related bool, tags []protocol.DiagnosticTag) {
	t := h.client.TextDocument
	if t == nil {
		return false, nil
	}
	add := func(c protocol.DiagnosticsCapabilities) {
		related = related || (c.RelatedInformation != nil && *c.RelatedInformation)
		tags = append(tags, c.TagSupport.ValueSet...)
	}
	if t.PublishDiagnostics != nil {
		add(t.PublishDiagnostics.DiagnosticsCapabilities)
	}
	if t.Diagnostic != nil {
		add(t.Diagnostic.DiagnosticsCapabilities)
	}
	return related, tags
}

// tagOf returns the tag of a finding, 0 for none.
func tagOf(code string) protocol.DiagnosticTag {
	switch code {
	case "agent/unknown-field", "settings/unknown-key":
		return protocol.DiagnosticTagUnnecessary
	case "agent/model-retired":
		return protocol.DiagnosticTagDeprecated
	}
	return 0
}

// severity returns the severity as LSP has it: a hint for all but the first three.
func severity(s definition.Severity) protocol.DiagnosticSeverity {
	switch s {
	case definition.Error:
		return protocol.DiagnosticSeverityError
	case definition.Warning:
		return protocol.DiagnosticSeverityWarning
	case definition.Info:
		return protocol.DiagnosticSeverityInformation
	}
	return protocol.DiagnosticSeverityHint
}

// diagnostic serves textDocument/diagnostic. A report with the id that the client has
// already is told as unchanged. So is a document whose text is not known, or is another by
// now, if the client was told something of it: that stays until it asks again.
func (h *Handlers) diagnostic(ctx context.Context, s *workspace.Snapshot,
	p *protocol.DocumentDiagnosticParams) (protocol.DocumentDiagnosticReport, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &report{uri: p.TextDocument.URI, items: []protocol.Diagnostic{}}
	if d, open := s.Document(p.TextDocument.URI); !open {
		disk, err := a.reportClosed(ctx, p.TextDocument.URI)
		if err != nil {
			return nil, err
		}
		if disk != nil {
			r = disk
		}
	} else if d.Lost {
		if p.PreviousResultID != nil {
			return unchangedReport(*p.PreviousResultID), nil
		}
	} else {
		buffer, err := a.reportOpen(ctx, d)
		if errors.Is(err, errSuperseded) && p.PreviousResultID != nil {
			return unchangedReport(*p.PreviousResultID), nil // the client asks again about what it has now
		}
		if err != nil {
			return nil, err
		}
		if buffer != nil {
			r = buffer
		}
	}
	if p.PreviousResultID != nil && r.id != "" && *p.PreviousResultID == r.id {
		return unchangedReport(r.id), nil
	}
	return &protocol.RelatedFullDocumentDiagnosticReport{FullDocumentDiagnosticReport: r.full()}, nil
}

// unchangedReport says that a document's findings are those that the client has by this id.
func unchangedReport(id string) *protocol.RelatedUnchangedDocumentDiagnosticReport {
	return &protocol.RelatedUnchangedDocumentDiagnosticReport{UnchangedDocumentDiagnosticReport: stillSo(id)}
}

// stillSo is unchangedReport without what documents around it have.
func stillSo(id string) protocol.UnchangedDocumentDiagnosticReport {
	return protocol.UnchangedDocumentDiagnosticReport{Kind: string(protocol.DocumentDiagnosticReportKindUnchanged),
		ResultID: id}
}

// full is a report as LSP has it.
func (r *report) full() protocol.FullDocumentDiagnosticReport {
	full := protocol.FullDocumentDiagnosticReport{Kind: string(protocol.DocumentDiagnosticReportKindFull),
		Items: r.items}
	if r.id != "" {
		full.ResultID = &r.id
	}
	return full
}

// workspaceDiagnostic serves workspace/diagnostic: the open documents, the files on the
// disk that have findings, and those that the client knows findings of and that have none
// any more. What the client knows already, by its id, is told as unchanged.
func (h *Handlers) workspaceDiagnostic(ctx context.Context, s *workspace.Snapshot,
	p *protocol.WorkspaceDiagnosticParams) (*protocol.WorkspaceDiagnosticReport, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	list, lost, err := a.reports(ctx)
	if err != nil {
		return nil, err
	}
	before := make(map[uri.URI]string, len(p.PreviousResultIds))
	for _, previous := range p.PreviousResultIds {
		before[previous.URI] = previous.Value
	}
	result := &protocol.WorkspaceDiagnosticReport{Items: []protocol.WorkspaceDocumentDiagnosticReport{}}
	add := func(r *report, id string) {
		if id != "" && id == r.id {
			result.Items = append(result.Items,
				&protocol.WorkspaceUnchangedDocumentDiagnosticReport{UnchangedDocumentDiagnosticReport: stillSo(id),
					URI: r.uri, Version: r.version})
			return
		}
		result.Items = append(result.Items,
			&protocol.WorkspaceFullDocumentDiagnosticReport{FullDocumentDiagnosticReport: r.full(),
				URI: r.uri, Version: r.version})
	}
	for _, r := range list {
		add(r, before[r.uri])
		delete(before, r.uri)
	}
	for _, previous := range p.PreviousResultIds { // in the client's order
		if _, left := before[previous.URI]; !left {
			continue
		}
		gone := &report{uri: previous.URI, items: []protocol.Diagnostic{}}
		// Of a lost document nothing new is known: told as unchanged, the client keeps its own.
		if lost[previous.URI] {
			gone.id = previous.Value
		}
		add(gone, previous.Value)
	}
	return result, nil
}
