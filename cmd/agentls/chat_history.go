package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

// pastLines is what a person typed in chats, in a file of theirs that only they can read.
// Secrets are masked by the caller before they come here.
type pastLines struct {
	// path is the file, for all folders of the person.
	path string
	// folder is the one whose lines are shown; "" where it is not known.
	folder string
	// lines are the folder's from the oldest on, as the file had them at the start. Lines
	// that are added later are in the file only: the chat keeps its own list.
	lines []string
}

// pastLine is a line of the file.
type pastLine struct {
	Folder string `json:"folder"`
	Text   string `json:"text"`
}

const (
	// historyLines is how many of a folder's lines are looked at, the newest.
	historyLines = 1000
	historyBytes = 1 << 20 // of a file that is made shorter at the next start
)

// historyOf reads what was typed in chats of this folder. What cannot be read is left out:
// it is a convenience. A file that is larger than historyBytes is cut to the newest half
// of that.
func historyOf(home string) *pastLines {
	p := &pastLines{path: filepath.Join(home, "agentls", "history.jsonl")}
	p.folder, _ = here()
	data, _ := os.ReadFile(p.path)
	if len(data) > historyBytes {
		data = data[len(data)-historyBytes/2:]
		// The first line may be cut in two.
		_, data, _ = bytes.Cut(data, []byte("\n"))
		_ = os.WriteFile(p.path, data, 0o600)
	}
	for text := range bytes.Lines(data) {
		var line pastLine
		if json.Unmarshal(text, &line) == nil && line.Folder == p.folder && line.Text != "" {
			p.lines = append(p.lines, line.Text)
		}
	}
	p.lines = p.lines[max(len(p.lines)-historyLines, 0):]
	return p
}

// keep adds a line to the file. Errors are dropped: a history that cannot be written is no
// reason to bother somebody who talks. Several chats may add at once, since a line is
// written by one call that appends.
func (p *pastLines) keep(text string) {
	data, err := json.Marshal(pastLine{p.folder, text})
	if err != nil || os.MkdirAll(filepath.Dir(p.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(p.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(data, '\n'))
}
