package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/agentls/agentls/internal/folder"
)

// maxKept is how much a file of approved tools has at most, in bytes.
const maxKept = 64 << 20

// keptTools is what is known of a server that does not run: the tools that were listed
// last, and which of them were approved.
// The file is one of the daemon's own, mode 0600. One that others could have written
// approves nothing.
type keptTools struct {
	// The folder and the server are checked when the file is read: its name is only a
	// hash of both.
	Folder   string            `json:"folder"`
	Server   string            `json:"server"`
	Tools    []listed          `json:"tools"`
	Accepted map[string]string `json:"approved"` // digests by name
	Prompts  []Prompt          `json:"prompts,omitzero"`
	Title    string            `json:"title,omitzero"` // as the server called itself
	Version  string            `json:"version,omitzero"`
}

// fileName returns the name of the file in which the tools of a server in a folder are
// kept: a hash, since both names may hold anything.
func fileName(folder, server string) string {
	sum := sha256.Sum256([]byte(folder + "\x00" + server))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// load reads what is kept. Without a file the server was never seen; with one that
// cannot be used nothing of it is approved, and all waits for the person (SEC-84).
// It is called once, before anybody else knows the entry, so without its lock.
func (e *entry) load() {
	path := e.file()
	if path == "" {
		return
	}
	raw, info, err := folder.ReadPlain(path, maxKept)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	// From here on the server counts as seen: a file that cannot be read must not let it
	// approve itself once more.
	e.accepted = make(map[string]string)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		return
	}
	var k keptTools
	if json.Unmarshal(raw, &k) != nil || k.Folder != e.folder || k.Server != e.name || k.Accepted == nil {
		return
	}
	e.listed, e.accepted, e.prompts = k.Tools, k.Accepted, k.Prompts
	e.title, e.version = k.Title, k.Version
}

// save keeps what is known; the lock is held.
// Where all of it would be larger than [maxKept] the prompts are left out, and then
// the tools. What was approved always stays. The file is replaced whole, so that
// another process reads the old or the new one.
func (e *entry) save() error {
	path := e.file()
	if path == "" {
		return nil
	}
	k := keptTools{e.folder, e.name, e.listed, e.accepted, e.prompts, e.title, e.version}
	raw, err := json.Marshal(k)
	if err == nil && len(raw) > maxKept { // what was approved goes before what is listed
		k.Prompts = nil
		raw, err = json.Marshal(k)
	}
	if err == nil && len(raw) > maxKept {
		k.Tools = nil
		raw, err = json.Marshal(k)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is renamed, mostly
	_, err = f.Write(raw)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// take takes over a list of tools. Of a server that was never seen it is approved
// with the server itself, also while it settles; later each tool that is new or
// another waits for the person (SEC-84).
// left has the reasons for the tools that were left out.
func (e *entry) take(tools []listed, left []string, settling bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// The person approved the server before it was started, and with it what it lists at
	// first. Some list their tools only a moment after the greeting.
	e.fresh = e.accepted == nil || (settling && e.fresh)
	if e.fresh {
		e.accepted = make(map[string]string, len(tools))
		for _, t := range tools {
			e.accepted[t.Name] = t.Digest
		}
	}
	if e.left = left; slices.EqualFunc(e.listed, tools, func(a, b listed) bool { return a.Digest == b.Digest }) &&
		!e.fresh {
		return
	}
	e.listed = tools
	e.keep()
}

// keep saves, and says when that fails: then the person is asked again.
// The lock is held.
func (e *entry) keep() {
	if err := e.save(); err != nil {
		e.all.Log.Warn("the approved tools of an MCP server could not be kept", "server", e.name, "err", err)
	}
}

// currentTools returns the tools that may be offered; the lock is held.
func (e *entry) currentTools() []*serverTool {
	var tools []*serverTool
	if e.server.Problem != "" || e.stopped {
		return nil
	}
	for _, l := range e.listed {
		if e.accepted[l.Name] == l.Digest && e.server.offers(l.Name) {
			tools = append(tools, newTool(e, e.server, l))
		}
	}
	return tools
}

// offer returns the tools that may be offered now, why others are not, and a
// change that the person has not been asked about.
// problem is a whole sentence for the person and the model. change is returned once
// for each set of pending tools, until its Again is called.
func (e *entry) offer() (tools []*serverTool, problem string, change *Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := e.name
	if err := e.whyNotStarted(); err != nil {
		return nil, fmt.Sprintf("The tools of the MCP server %s are left out: %s.", name, errorText(err)), nil
	}
	// A server that worked before and ended may come back with the next call: its tools stay.
	if e.conn == nil && e.failures > 0 && !e.worked {
		return nil, fmt.Sprintf("The tools of the MCP server %s are left out, since it could not be started: %s.", name,
			e.why), nil
	}
	if e.accepted == nil {
		return nil, fmt.Sprintf("The tools of the MCP server %s are left out: it has not started yet. The next run has them.", name), nil
	}
	var pending []listed
	e.readApprovals()
	tools = e.currentTools()
	for _, l := range e.listed {
		if e.accepted[l.Name] != l.Digest {
			pending = append(pending, l)
		}
	}
	if len(pending) == 0 {
		return tools, "", nil
	}
	var names, digests []string
	changed := make([]Tool, 0, len(pending))
	for _, l := range pending {
		names, digests = append(names, l.Name), append(digests, l.Digest)
		changed = append(changed, Tool{l.Name, canonicalName(name, l.Name), l.Description})
	}
	problem = fmt.Sprintf("The MCP server %s has tools that are new or changed since you approved it; they are left out until you approve them: %s.", name, strings.Join(names, ", "))
	// Another set of pending tools is another question.
	if asked := strings.Join(digests, " "); asked != e.asked {
		e.asked = asked
		change = &Change{Server: name, Tools: changed, Approve: func() error { return e.accept(pending) },
			Again: func() {
				e.mu.Lock()
				defer e.mu.Unlock()
				if e.asked == asked {
					e.asked = ""
				}
			}}
	}
	return tools, problem, change
}

// readApprovals takes over what was approved meanwhile on the command line; the lock
// is held.
func (e *entry) readApprovals() {
	if !slices.ContainsFunc(e.listed, func(l listed) bool { return e.accepted[l.Name] != l.Digest }) {
		return
	}
	other := &entry{all: e.all, folder: e.folder, name: e.name}
	other.load()
	for _, l := range e.listed {
		if other.accepted[l.Name] == l.Digest {
			e.accepted[l.Name] = l.Digest
		}
	}
}

// accept approves tools as they were shown.
// A tool that became another one after it was shown has another digest, and so is not
// approved by this. The error says that it could not be saved; for this process the
// tools are approved all the same.
func (e *entry) accept(shown []listed) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range shown {
		e.accepted[l.Name] = l.Digest
	}
	return e.save()
}
