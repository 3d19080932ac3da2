package scenario_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/wire"
)

// sessions prints the sessions that agents/session/list has, all pages of it,
// two on each.
func (s *story) sessions() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var b strings.Builder
	for cursor := ""; ; {
		var r wire.SessionListResult
		if err := s.editor.Call(ctx, wire.MethodSessionList, &wire.SessionListParams{Cursor: cursor, Limit: 2}, &r); err != nil {
			return "", err
		}
		for _, one := range r.Sessions {
			fmt.Fprintf(&b, "%s %s runs=%d agents=%s title=%q", one.Session, one.State, one.Runs, strings.Join(one.Agents, ","), one.Title)
			if one.Locked {
				b.WriteString(" locked")
			}
			b.WriteString("\n")
		}
		if cursor = r.Cursor; cursor == "" {
			return b.String(), nil
		}
	}
}

// context prints an agent's context: context AGENT [SESSION].
func (s *story) context(args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := &wire.ContextParams{Agent: args[0]}
	if len(args) == 2 {
		p.Session = args[1]
	}
	var r wire.ContextGetResult
	if err := s.editor.Call(ctx, wire.MethodContextGet, p, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range r.Messages {
		for _, part := range m.Parts {
			text, err := json.Marshal(part)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s %s\n", m.Role, text)
		}
	}
	return b.String(), nil
}

// old makes a file as one that was written long ago: where two that are written at
// once could have the same time.
func (s *story) old(name string) error {
	long := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	return os.Chtimes(filepath.Join(s.dir, name), long, long)
}

// onDisk fails when no file of the daemon's has a text.
func (s *story) onDisk(text string) error {
	found := fmt.Errorf("%q is in no file", text)
	err := filepath.WalkDir(filepath.Join(s.dir, "home/agentls"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = nil
		}
		return err
	})
	return errors.Join(err, found)
}

// activity prints the events seen, one a line; with arguments, those types only.
func (s *story) activity(types []string) string {
	var b strings.Builder
	for _, e := range s.editor.Seen().Events {
		if (len(types) == 0 && strings.HasSuffix(e.Type, ".delta")) || (len(types) > 0 && !slices.Contains(types, e.Type)) {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String()
}

// asked prints the questions seen.
func (s *story) asked() string {
	var b strings.Builder
	for _, q := range s.editor.Seen().Questions {
		var options []string
		for _, o := range q.Options {
			options = append(options, o.Kind)
		}
		fmt.Fprintf(&b, "%s %s (%s: %s) %s\n%s", q.Agent, q.Tool, q.Risk, q.Why, strings.Join(options, " "), q.Message)
	}
	return b.String()
}

func (s *story) shown() (string, error) {
	var b strings.Builder
	for _, path := range s.editor.Seen().Shown {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// agents prints the agents that agents/list has, and the problems.
func (s *story) agents() (string, error) {
	var r wire.ListResult
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.editor.Call(ctx, wire.MethodList, &wire.ListParams{}, &r); err != nil {
		return "", err
	}
	if r.Revision < s.revision {
		return "", fmt.Errorf("the list has revision %d, told was %d", r.Revision, s.revision)
	}
	s.revision = r.Revision
	var b strings.Builder
	for _, a := range r.Agents {
		fmt.Fprintf(&b, "%s %s %s %s\n", a.Scope, a.Name, a.State, strings.Join(a.Tools, ","))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s:%d:%d %s %s: %s\n", p.URI, p.Range.Start.Line+1, p.Range.Start.Character+1, p.Severity, p.Code, p.Message)
	}
	return b.String(), nil
}

// log prints the events of a session as they lie on disk: log SESSION [TYPE…].
func (s *story) log(args []string) (string, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "home/agentls/sessions/*", args[0]+".jsonl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("logs of %s: %v %v", args[0], files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if i == 0 {
			continue
		}
		var e struct {
			Seq  int             `json:"seq"`
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return "", err
		}
		if e.Seq != i {
			return "", fmt.Errorf("line %d has seq %d", i, e.Seq)
		}
		if strings.HasSuffix(e.Type, ".delta") || (len(args) > 1 && !slices.Contains(args[1:], e.Type)) {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String(), nil
}

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hex     = regexp.MustCompile(`\b[0-9a-f]{32,64}\b`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	elapsed = regexp.MustCompile(`"(durationMs|firstTokenMs|waitMs|tokens)":\d+`)
	dates   = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
)

// plain takes out of a text what is another one each time.
func (s *story) plain(text string) string {
	text = strings.ReplaceAll(text, s.dir, "$WORK")
	text = ids.ReplaceAllString(text, "ID")
	text = hex.ReplaceAllString(text, "HEX")
	text = times.ReplaceAllString(text, "TIME")
	text = dates.ReplaceAllString(text, "TIME")
	return elapsed.ReplaceAllString(text, `"$1":0`)
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}
