package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// commandNames are the commands that there are (spec 2.6).
var commandNames = []string{
	wire.CommandRun, wire.CommandRunOnSelection, wire.CommandList, wire.CommandCancel, wire.CommandSessions,
	wire.CommandUndoLast, wire.CommandShowTranscript, wire.CommandValidate, wire.CommandRunInline,
	wire.CommandTrustWorkspace, wire.CommandRunTests,
}

// commands are what a client that knows only LSP starts things with.
func commands(c *protocol.ServerCapabilities) {
	c.ExecuteCommandProvider = protocol.ExecuteCommandOptions{
		Commands: commandNames,
	}
}

// executeCommand serves the commands of spec 2.6. Each answers with what the
// method of the same purpose answers; a client that knows only LSP is shown it
// as well.
// An unknown command, and arguments that cannot be read, are bad params.
func (h *Handlers) executeCommand(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	switch p.Command {
	case wire.CommandRun:
		return h.commandRun(ctx, s, p)
	case wire.CommandRunOnSelection:
		return h.commandRunOnSelection(ctx, s, p)
	case wire.CommandList:
		return h.commandList(ctx)
	case wire.CommandCancel:
		return h.commandCancel(ctx, p)
	case wire.CommandSessions:
		return h.commandSessions(ctx)
	case wire.CommandUndoLast:
		return h.commandUndoLast(ctx, s, p)
	case wire.CommandShowTranscript:
		return h.commandTranscript(ctx, p)
	case wire.CommandValidate:
		return h.commandValidate(ctx, s, p)
	case wire.CommandRunTests:
		return h.commandRunTests(ctx, s, p)
	case wire.CommandRunInline:
		return h.commandRunInline(ctx, s, p)
	case wire.CommandTrustWorkspace:
		return h.commandTrust(ctx, p)
	}
	return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "command",
		"is unknown: there is no %q; there are %s",
		p.Command, strings.Join(commandNames, ", "))
}

// commandRun takes [agent?, prompt?], or one object like the params of
// agents/run. Without an agent it asks which one. An agent that begins with @ is
// what a person typed, name and text (spec 5.1).
func (h *Handlers) commandRun(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	run := &wire.RunParams{}
	var err error
	if len(p.Arguments) == 1 && len(p.Arguments[0]) > 0 && p.Arguments[0][0] == '{' {
		err = readArgument(p, 0, run)
	} else {
		run.Agent, err = textArgument(p, 0)
		var prompt string
		if err == nil {
			prompt, err = textArgument(p, 1)
		}
		if prompt != "" {
			run.Input = wire.InputBlocks{{Type: "text", Text: prompt}}
		}
	}
	if err != nil {
		return nil, invalidArguments(err)
	}
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	// The person typed a custom command where a name goes; main gets it.
	if call := h.commandOf(run.Agent); call != nil {
		run.Agent, run.Command = "main", call
	}
	if strings.HasPrefix(run.Agent, "@") {
		if err := h.resolveAddress(catalog, run); err != nil {
			return nil, h.showError(err)
		}
	}
	return h.runCommand(ctx, s, catalog, run, p)
}

// resolveAddress takes apart what was typed where a name is expected.
//
// The agent's field holds what was typed, as "@name do this"; it is replaced by the name,
// and the rest goes before the input. The error is for the person.
func (h *Handlers) resolveAddress(catalog *registry.Snapshot, run *wire.RunParams) error {
	typed, err := mention.Parse(run.Agent, h.addresseesIn(catalog))
	if err != nil {
		return err
	}
	run.References = append(run.References, h.resourcesIn(run.Agent)...)
	run.Agent, run.Strategy = typed.Agent, typed.Strategy
	if typed.Auto {
		run.Agent = mention.Auto
	}
	if run.Command = h.commandOf(typed.Prompt); run.Command == nil && typed.Prompt != "" {
		run.Input = append(wire.InputBlocks{{Type: "text", Text: typed.Prompt}}, run.Input...)
	}
	return nil
}

// runCommand runs an agent for a command, which may leave open which one, and
// what it is told.
// It returns nil without an error where the person chose no agent: nothing runs then.
func (h *Handlers) runCommand(ctx context.Context, s *workspace.Snapshot, catalog *registry.Snapshot,
	run *wire.RunParams, p *protocol.ExecuteCommandParams) (any, error) {
	var err error
	if run.Agent == "" {
		if run.Agent, err = h.chooseAgent(ctx, catalog); err != nil || run.Agent == "" {
			return nil, err
		}
	}
	if len(run.Input) == 0 && run.Command == nil {
		run.Input = firstMessage(catalog, folderOf(s, run), run.Agent)
	}
	if at, err := run.Check(); err != nil {
		return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments[0]."+at, "%v", err)
	}
	result, err := h.runToEnd(ctx, s, run, p)
	if err != nil {
		return nil, err
	}
	if h.plain {
		h.showResult(ctx, result, false)
	}
	return result, nil
}

// runToEnd runs an agent for a command and waits for its end. A person whose
// editor takes no answers of commands is told why it did not begin.
// It blocks as long as the run goes on. The error is one of starting: a run that fails is a result.
func (h *Handlers) runToEnd(ctx context.Context, s *workspace.Snapshot, run *wire.RunParams,
	p *protocol.ExecuteCommandParams) (*wire.RunResult, error) {
	live, err := h.start(ctx, s, run)
	if err != nil {
		return nil, h.showError(err)
	}
	var token []byte
	if p.WorkDoneToken != nil {
		token, _ = protocol.Marshal(p.WorkDoneToken) // a token came as JSON
	}
	return h.await(ctx, live, token)
}

// firstMessage is what an agent is told when the person says nothing (spec 1.2):
// nothing where it has a query of its own, which the run fills in.
func firstMessage(catalog *registry.Snapshot, folder, name string) wire.InputBlocks {
	if entry, err := catalog.Lookup(folder, name); err == nil && entry.Definition.Query != "" {
		return nil
	}
	return wire.InputBlocks{{Type: "text", Text: "Get Started!"}}
}

// maxOffered is how many agents a plain dialog offers.
const maxOffered = 12

// chooseAgent asks which agent; "" means that the person chose none.
// At most maxOffered are offered. The error is bad params, with a few names, where the
// editor cannot be asked.
func (h *Handlers) chooseAgent(ctx context.Context, catalog *registry.Snapshot) (string, error) {
	q := tool.Question{Message: "Which agent?"}
	for _, e := range catalog.Entries() {
		if e.State == registry.OK && e.Definition.UserInvocable && len(q.Choices) < maxOffered {
			q.Choices = append(q.Choices, e.Definition.Name)
		}
	}
	name, err := h.askPerson(ctx, q)
	if errors.Is(err, errUnserved) {
		return "", server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"have to name an agent: this editor cannot be asked which one. There are: %s", examples(q.Choices))
	}
	return name, err
}

// examples names a few of a list.
// Names of agents need no escape.
func examples(names []string) string {
	const few = 5
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > few:
		return strings.Join(names[:few], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// showResult shows how a run ended: one line, and the whole as a document where
// there is more, or it is to be one: a message may be gone at the next key.
// A client that shows no documents is told the path of the file instead.
func (h *Handlers) showResult(ctx context.Context, r *wire.RunResult, document bool) {
	level := infoMessage
	if r.Error != nil {
		level = errorMessage
	}
	text := strings.TrimSpace(r.Text)
	first, _, more := strings.Cut(text, "\n")
	more = more || len([]rune(first)) > summaryWidth
	if text == "" {
		first = ending(r.RunFinished)
	} else if r.Reason != activity.Goal {
		first = ending(r.RunFinished) + ": " + first
	}
	said := fmt.Sprintf("%s: %s", r.Agent, tool.Clip(tool.Escape(first), summaryWidth))
	if text != "" && (more || document) {
		if path, shown := h.showText(ctx, r.Agent+"-"+short(r.Run)+".md", text+"\n"); !shown && more && path != "" {
			said += "\nAll of it is in " + path
		}
	}
	h.tell(level, said)
}

// short returns the end of an id, which differs most.
func short(id string) string {
	if len(id) > 8 {
		return id[len(id)-8:]
	}
	return id
}

// commandList takes no arguments and answers as agents/list does. A client that knows only LSP is shown a
// line for each agent and each error.
func (h *Handlers) commandList(ctx context.Context) (any, error) {
	result, err := h.list(ctx, struct{}{}, &wire.ListParams{})
	if err != nil || !h.plain {
		return result, err
	}
	var b strings.Builder
	for _, a := range result.Agents {
		fmt.Fprintf(&b, "%s · %s · %s", a.Name, tool.Escape(a.Title), a.ResolvedModel)
		if a.State != "ok" {
			fmt.Fprintf(&b, " (%s)", a.State)
		}
		b.WriteString("\n")
	}
	for _, p := range result.Problems {
		if p.Severity == "error" {
			fmt.Fprintf(&b, "%s:%d:%d: %s\n", tool.Escape(p.URI), p.Range.Start.Line+1, p.Range.Start.Character+1,
				tool.Escape(p.Message))
		}
	}
	if _, shown := h.showText(ctx, "agents.txt", b.String()); !shown {
		h.tell(infoMessage, strings.TrimSpace(b.String()))
	}
	return result, nil
}

// commandCancel takes [run?]; without one it cancels all that goes on.
// Cancelled is false where nothing went on.
func (h *Handlers) commandCancel(ctx context.Context, p *protocol.ExecuteCommandParams) (any, error) {
	run, err := textArgument(p, 0)
	if err != nil {
		return nil, invalidArguments(err)
	}
	if run != "" {
		return h.cancel(ctx, struct{}{}, &wire.CancelParams{Run: run})
	}
	result := &wire.CancelResult{}
	for _, live := range h.daemon.Agents.Live() {
		result.Cancelled = h.daemon.Agents.Cancel(live.ID, "") || result.Cancelled
	}
	return result, nil
}

// commandTranscript takes [session?], the default one if none is named, and shows it as Markdown; it answers with
// the file's URI.
func (h *Handlers) commandTranscript(ctx context.Context, p *protocol.ExecuteCommandParams) (any, error) {
	id, err := textArgument(p, 0)
	if err != nil {
		return nil, invalidArguments(err)
	}
	log, err := h.daemon.Agents.Timeline(id)
	if err != nil {
		return nil, err
	}
	text, err := transcript(log, id)
	if err != nil {
		return nil, err
	}
	text = string(h.daemon.MaskText([]byte(text)))
	name := "session-" + cmp.Or(id, session.Default) + ".md"
	path, shown := h.showText(ctx, name, text)
	switch {
	case path == "":
		return nil, fault.New(fault.Unavailable, "handlers.transcript",
			"the transcript could not be written; the log says why")
	case !shown:
		h.tell(infoMessage, "The transcript is in "+path)
	}
	return map[string]string{"uri": tool.URI(path)}, nil
}

// textArgument returns argument i of a command as a text of its own, "" where it is left out or null.
//
// The text is cloned, since it outlives the request.
func textArgument(p *protocol.ExecuteCommandParams, i int) (string, error) {
	if i >= len(p.Arguments) || string(p.Arguments[i]) == "null" {
		return "", nil
	}
	var s string
	if err := (wire.Codec{}).Unmarshal(p.Arguments[i], &s); err != nil {
		return "", fmt.Errorf("arguments[%d] is no string", i)
	}
	return strings.Clone(s), nil
}

// readArgument reads an argument of a command that there is.
// The argument must be there; the error says which one is wrong, and how.
func readArgument(p *protocol.ExecuteCommandParams, i int, into any) error {
	if err := (wire.Codec{}).Unmarshal(p.Arguments[i], into); err != nil {
		return errors.New(server.Explain(fmt.Sprintf("arguments[%d]", i), p.Arguments[i], err))
	}
	return nil
}

// invalidArguments is the error for arguments that cannot be read.
func invalidArguments(err error) error {
	return server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments", "cannot be read: %v", err)
}

var _ agents.Frontend = person{}

// commandValidate takes [uri?]: a file; without one, all agents that have one. It
// answers as agents/validate does.
func (h *Handlers) commandValidate(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	file, err := textArgument(p, 0)
	if err != nil {
		return nil, invalidArguments(err)
	}
	reports, err := h.language.Reports(ctx, s, "", file)
	if err != nil {
		return nil, err
	}
	if h.plain {
		if _, shown := h.showText(ctx, "validation.txt", reports.Text()); !shown {
			h.tell(infoMessage, reports.Line())
		}
	}
	return reports.Result(), nil
}
