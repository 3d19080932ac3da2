package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// mostOffers is how many files are offered. More than fits on a screen helps nobody.
const mostOffers = 50

// complete returns what a word that begins with / or @ can become: commands, or agents and
// files. The person waits for it, so it takes two seconds at most, and one more while the
// daemon starts; what was not found until then is not offered.
func (c *conversation) complete(word string) []chat.Completion {
	select {
	case <-c.ready:
	case <-time.After(time.Second):
		return nil
	}
	// The chat calls this beside its loop, and gives no context.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if strings.HasPrefix(word, "/") {
		return c.completeCommands(ctx, word)
	}
	return append(c.completeAgents(ctx, word), completePaths(ctx, word)...)
}

// completeCommands offers the commands of a dialogue and the custom ones that can be
// used. The commands of the dialogue come first.
func (c *conversation) completeCommands(ctx context.Context, word string) (offers []chat.Completion) {
	for _, command := range chatCommands {
		if strings.HasPrefix(command.name, word) {
			offers = append(offers, chat.Completion{Text: command.name, Note: command.does})
		}
	}
	custom, _ := c.conn.commands(ctx) // without an answer the others are offered
	for _, command := range custom {
		if name := "/" + command.Name; strings.HasPrefix(name, word) && command.Problem == "" {
			offers = append(offers, chat.Completion{Text: name, Note: first(command.Description)})
		}
	}
	return offers
}

// completeAgents offers the agents that can run; none where the daemon gives no answer.
func (c *conversation) completeAgents(ctx context.Context, word string) (offers []chat.Completion) {
	var list wire.ListResult
	if c.conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list) != nil {
		return nil
	}
	for _, a := range list.Agents {
		if strings.HasPrefix("@"+a.Name, word) && a.State == "ok" {
			offers = append(offers, chat.Completion{Text: "@" + a.Name, Note: "agent: " + first(a.Title)})
		}
	}
	return offers
}

// skipped are folders that hold nothing that a person wrote. Folders whose name begins
// with a dot are skipped too.
var skipped = []string{"node_modules", "vendor", "target", "dist", "__pycache__"}

// completePaths offers files of the folder whose path contains what was typed, without
// regard to case: first those whose path or name begins with it. It looks at 50,000 files
// at most, so that a large folder does not hold up the person.
func completePaths(ctx context.Context, word string) []chat.Completion {
	typed := strings.ToLower(strings.TrimPrefix(word, "@"))
	var names, parts []chat.Completion
	looked := 0
	_ = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		looked++
		switch {
		case err != nil:
			return nil // what cannot be read is not offered
		case ctx.Err() != nil, looked > 50_000, len(names) >= mostOffers:
			return fs.SkipAll
		case path == ".":
			return nil
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || slices.Contains(skipped, entry.Name())):
			return fs.SkipDir
		// Behind a blank a name ends, so such a file would not ride along (filesNamed).
		case entry.IsDir(), strings.ContainsFunc(path, unicode.IsSpace):
			return nil
		}
		lower := strings.ToLower(filepath.ToSlash(path))
		offer := chat.Completion{Text: "@" + filepath.ToSlash(path)}
		switch {
		case strings.HasPrefix(lower, typed), strings.HasPrefix(filepath.Base(lower), typed):
			names = append(names, offer)
		case strings.Contains(lower, typed) && len(parts) < mostOffers:
			parts = append(parts, offer)
		}
		return nil
	})
	all := append(names, parts...)
	return all[:min(len(all), mostOffers)]
}

// filesNamed returns the files that a text names with an @, as URIs: they ride along with
// the request. A word that names no regular file, also without punctuation at its end, is
// taken as text.
func filesNamed(text string) (uris []string) {
	for word := range strings.FieldsSeq(text) {
		name, ok := strings.CutPrefix(word, "@")
		// @server:uri is a resource of an MCP server, which the daemon finds in the text.
		if !ok || name == "" || strings.Contains(name, "://") {
			continue
		}
		for _, path := range []string{name, strings.TrimRight(name, ".,;:!?)")} {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if named, err := urisOf([]string{path}); err == nil && !slices.Contains(uris, named[0]) {
				uris = append(uris, named[0])
			}
			break
		}
	}
	return uris
}
