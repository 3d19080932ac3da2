package scenario_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/editortest"
)

// findings prints what the editor shows of a file: findings FILE. An editor that
// asks for findings asks first. Without a file it is all files, those without
// findings left out, and before them those that have not changed since they were
// asked for.
func (s *story) findings(args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pulls := s.editor.Caps.DiagnosticProvider != nil
	var b strings.Builder
	if len(args) == 1 {
		if !pulls {
			f, err := s.editor.Findings(args[0])
			return printFindings(f), err
		}
		f, unchanged, err := s.editor.Ask(ctx, args[0])
		if unchanged {
			return "unchanged\n", err
		}
		return printFindings(f), err
	}
	if pulls {
		unchanged, err := s.editor.AskAll(ctx)
		if err != nil {
			return "", err
		}
		slices.Sort(unchanged)
		for _, name := range unchanged {
			fmt.Fprintf(&b, "unchanged %s\n", name)
		}
	}
	for _, f := range s.editor.Shows() {
		fmt.Fprintf(&b, "%s\n%s", f.URI, printFindings(f))
	}
	return b.String(), nil
}

// printFindings prints a line a finding, and one for each place that it is also
// about. Lines and columns count from 1.
func printFindings(f editortest.Findings) string {
	var b strings.Builder
	place := func(r protocol.Range) string {
		return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line+1, r.Start.Character+1, r.End.Line+1, r.End.Character+1)
	}
	for _, d := range f.Items {
		severity := [...]string{"", "error", "warning", "info", "hint"}[d.Severity]
		source, _ := d.Source.Get()
		fmt.Fprintf(&b, "%s %s %s %v: %v", place(d.Range), severity, source, d.Code, d.Message)
		for _, tag := range d.Tags.Slice() {
			fmt.Fprintf(&b, " [%s]", map[protocol.DiagnosticTag]string{1: "unnecessary", 2: "deprecated"}[tag])
		}
		b.WriteString("\n")
		for _, r := range d.RelatedInformation {
			fmt.Fprintf(&b, "  %s %s: %s\n", r.Location.URI, place(r.Location.Range), r.Message)
		}
	}
	return b.String()
}

// awaitFindings waits until the editor shows what is expected of a file: await
// findings FILE, those of the open file as it is now; await findings FILE CODE, one
// of that code, also of a file that is not open; await findings FILE none.
func (s *story) awaitFindings(ctx context.Context, args []string) error {
	shows := func(f editortest.Findings, current bool) bool {
		switch {
		case len(args) == 1:
			return current
		case args[1] == "none":
			return !slices.ContainsFunc(f.Items, func(d protocol.Diagnostic) bool { return fmt.Sprint(d.Code) != "agent/no-effect" })
		}
		return slices.ContainsFunc(f.Items, func(d protocol.Diagnostic) bool { return fmt.Sprint(d.Code) == args[1] })
	}
	if s.editor.Caps.DiagnosticProvider == nil {
		return s.editor.AwaitFindings(ctx, args[0], shows)
	}
	for {
		before := len(s.editor.Seen().Refreshed)
		f, _, err := s.editor.Ask(ctx, args[0])
		if err != nil || shows(f, true) {
			return err
		}
		if err := s.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Refreshed) > before }); err != nil {
			return err
		}
	}
}
