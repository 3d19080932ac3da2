package compression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/model"
)

// sections are what a snapshot has, in order (spec 8.3).
var sections = []string{"overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan"}

const (
	snapshotOpen  = "<state_snapshot>"
	snapshotClose = "</state_snapshot>"
	padOpen       = "<scratchpad>"
	padClose      = "</scratchpad>"
)

// isSnapshot reports whether a message is one that [Apply] put in.
func isSnapshot(m model.Message) bool {
	return m.Role == model.User && len(m.Parts) > 0 && strings.HasPrefix(m.Parts[0].Text, opening+snapshotOpen)
}

// read takes a model's answer apart: what it thought, and the snapshot, written
// anew from its sections so that nothing else comes along. The error says what
// is wrong, for the model.
func read(answer string) (scratchpad, snapshot string, wrong error) {
	rest := answer
	// What is thought may name the tags of what is written, so it goes first.
	if i := strings.Index(rest, padOpen); i >= 0 && !strings.Contains(rest[:i], snapshotOpen) {
		inner, after, ok := strings.Cut(rest[i+len(padOpen):], padClose)
		if !ok {
			return strings.TrimSpace(inner), "", errors.New("the scratchpad has no end")
		}
		scratchpad, rest = strings.TrimSpace(inner), after
	}
	from := strings.Index(rest, snapshotOpen)
	if from < 0 {
		return scratchpad, "", errors.New("there is no " + snapshotOpen)
	}
	rest = rest[from+len(snapshotOpen):]
	to := strings.LastIndex(rest, snapshotClose)
	if to < 0 {
		return scratchpad, "", errors.New("the snapshot has no end")
	}
	rest = without(rest[:to], snapshotClose)
	var b strings.Builder
	b.WriteString(snapshotOpen + "\n")
	for _, name := range sections {
		text, err := section(rest, name)
		if err != nil {
			return scratchpad, "", err
		}
		fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", name, text, name)
	}
	b.WriteString(snapshotClose)
	return scratchpad, b.String(), nil
}

// section returns the text of one section of a snapshot. An empty section is "none",
// but for the goal: without that the agent would not know what it is doing.
func section(body, name string) (string, error) {
	head, end := "<"+name+">", "</"+name+">"
	_, after, ok := strings.Cut(body, head)
	if !ok {
		return "", fmt.Errorf("the section %s is missing", name)
	}
	text, _, ok := strings.Cut(after, end)
	if !ok {
		return "", fmt.Errorf("the section %s has no end", name)
	}
	for _, other := range sections {
		if strings.Contains(text, "<"+other+">") {
			return "", fmt.Errorf("the section %s has no end before %s begins", name, other)
		}
	}
	if text = strings.TrimSpace(text); text == "" && name == sections[0] {
		return "", fmt.Errorf("the section %s is empty", name)
	} else if text == "" {
		text = "none"
	}
	return text, nil
}

// without returns s without a tag, also where its removal would make another. A closing
// tag inside would end the snapshot for whoever reads it next.
func without(s, tag string) string {
	if !strings.Contains(s, tag) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = append(out, s[i])
		if s[i] == tag[len(tag)-1] && strings.HasSuffix(string(out[max(0, len(out)-len(tag)):]), tag) {
			out = out[:len(out)-len(tag)]
		}
	}
	return string(out)
}
