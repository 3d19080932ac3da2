package scenario_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
)

// seq returns the number that a word means: a number, or TYPE, TYPE#N or
// TYPE#-N for the first, the Nth or the Nth but last event of a type that the
// editor was told of the session, each with +N or -N behind it for one near it.
func (s *story) seq(session, word string) (uint64, error) {
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		return n, nil
	}
	var off int
	if at := strings.LastIndexAny(word, "+-"); at > 0 && word[at-1] != '#' {
		var err error
		if off, err = strconv.Atoi(word[at:]); err != nil {
			return 0, err
		}
		word = word[:at]
	}
	kind, which, _ := strings.Cut(word, "#")
	n := 1
	if which != "" {
		var err error
		if n, err = strconv.Atoi(which); err != nil || n == 0 {
			return 0, fmt.Errorf("%s is no number", which)
		}
	}
	// An event may be told after the answer of the request that led to it.
	var all []wire.ActivityParams
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.editor.Await(ctx, func(seen editortest.Seen) bool {
		all = all[:0]
		for _, e := range seen.Events {
			if e.Session == session && e.Type == kind {
				all = append(all, e)
			}
		}
		return len(all) >= max(n, -n)
	})
	if err != nil {
		return 0, fmt.Errorf("the editor was told of %d events %s in session %s: %w", len(all), kind, session, err)
	}
	if n < 0 {
		n += len(all) + 1
	}
	return uint64(int(all[n-1].Seq) + off), nil
}

// cmdRewind goes back: rewind SESSION SEQ [files] [force]. It prints what became
// of files.
func cmdRewind(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	to, err := s.seq(args[0], args[1])
	ts.Check(err)
	p := &wire.SessionRewindParams{Session: args[0], ToSeq: to}
	for _, word := range args[2:] {
		switch word {
		case "files":
			p.Files = true
		case "force":
			p.Force = true
		default:
			ts.Fatalf("rewind %s?", word)
		}
	}
	var r wire.SessionRewindResult
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = s.editor.Call(ctx, wire.MethodSessionRewind, p, &r)
	expect(ts, neg, withData(err))
	var b strings.Builder
	for _, u := range r.Files {
		fmt.Fprintf(&b, "back %s\n", u)
	}
	for _, left := range r.Left {
		fmt.Fprintf(&b, "left %s: %s\n", left.URI, left.Why)
	}
	fmt.Fprint(ts.Stdout(), s.plain(b.String()))
}

// cmdFork begins a session with a part of another: fork SESSION SEQ VAR. VAR is a
// variable for the new session's id.
func cmdFork(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	at, err := s.seq(args[0], args[1])
	ts.Check(err)
	var r wire.SessionNewResult
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = s.editor.Call(ctx, wire.MethodSessionFork, &wire.SessionForkParams{Session: args[0], AtSeq: at}, &r)
	expect(ts, neg, withData(err))
	if err == nil && len(args) == 3 {
		ts.Setenv(args[2], r.Session)
	}
}

// cmdBegin begins a session of an agent: begin AGENT VAR. VAR is a variable for its id.
func cmdBegin(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	var r wire.SessionNewResult
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.editor.Call(ctx, wire.MethodSessionNew, &wire.SessionNewParams{Agent: args[0]}, &r)
	expect(ts, neg, withData(err))
	if err == nil {
		ts.Setenv(args[1], r.Session)
	}
}

// withData has an error's data behind its text.
func withData(err error) error {
	if data := dataOf(err); data != "" {
		return fmt.Errorf("%w %s", err, data)
	}
	return err
}

// changes prints what agents changed: changes [-session S] [-run R] [-patch], a
// line a file and, indented, one a hunk.
func (s *story) changes(args []string) (string, error) {
	var p wire.ChangesParams
	patch := false
	for ; len(args) > 0; args = args[1:] {
		switch {
		case args[0] == "-patch":
			patch = true
			continue
		case len(args) < 2:
			return "", fmt.Errorf("changes %s?", args[0])
		case args[0] == "-session":
			p.Session = args[1]
		case args[0] == "-run":
			p.Run = args[1]
		}
		args = args[1:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var r wire.ChangesResult
	if err := s.editor.Call(ctx, wire.MethodChanges, &p, &r); err != nil {
		return "", withData(err)
	}
	var b strings.Builder
	s.hunks = make(map[string][]string)
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s %s\n", f.Kind, f.URI)
		for _, h := range f.Hunks {
			s.hunks[f.URI] = append(s.hunks[f.URI], h.ID)
			fmt.Fprintf(&b, "  %d:%d-%d:%d %s\n", h.Range.Start.Line, h.Range.Start.Character, h.Range.End.Line, h.Range.End.Character, h.Status)
		}
		if patch {
			b.WriteString(f.Patch)
		}
	}
	return b.String(), nil
}

// cmdResolve keeps or undoes: resolve [-session S] keep|undo [FILE [N…]]. N counts
// the hunks that changes has shown last.
func cmdResolve(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	p := &wire.ChangesResolveParams{}
	if args[0] == "-session" {
		p.Session, args = args[1], args[2:]
	}
	p.Action = args[0]
	if len(args) > 1 {
		p.URI = "file://" + filepath.Join(s.dir, "work", args[1])
	}
	for _, word := range args[min(2, len(args)):] {
		n, err := strconv.Atoi(word)
		ts.Check(err)
		p.Hunks = append(p.Hunks, s.hunks[p.URI][n-1])
	}
	var r wire.ChangesResolveResult
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.editor.Call(ctx, wire.MethodChangesResolve, p, &r)
	expect(ts, neg, withData(err))
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s", f.URI)
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, " %s", h.Status)
		}
		b.WriteString("\n")
	}
	for _, c := range r.Conflicts {
		fmt.Fprintf(&b, "left %s: %s\n", c.URI, c.Why)
	}
	fmt.Fprint(ts.Stdout(), s.plain(b.String()))
}

// cmdResume takes a run up again and prints how it ended: resume [-session S]
// [-turns N] RUN. With -start it does not wait: await run RUN does.
func cmdResume(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	p := &wire.ResumeParams{}
	if args[0] == "-start" {
		p.Run = args[1]
		s.begin(p.Run, func(ctx context.Context, editor *editortest.Editor) (*wire.RunResult, error) {
			return editor.Resume(ctx, p)
		})
		return
	}
	for len(args) > 2 {
		switch args[0] {
		case "-session":
			p.Session = args[1]
		case "-turns":
			n, err := strconv.Atoi(args[1])
			ts.Check(err)
			p.Extend = &wire.Extend{Turns: n}
		default:
			ts.Fatalf("resume %s?", args[0])
		}
		args = args[2:]
	}
	p.Run = args[0]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := s.editor.Resume(ctx, p)
	s.print(ts, neg, r, withData(err))
}

// session closes or deletes a session.
func (s *story) session(ctx context.Context, word, id string) error {
	switch word {
	case "close":
		return withData(s.editor.CloseSession(ctx, id))
	case "delete":
		return withData(s.editor.DeleteSession(ctx, id))
	}
	return fmt.Errorf("session close or delete, not %s", word)
}
