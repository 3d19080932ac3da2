package builtin

// Addresses in JSON, YAML and TOML files that editors fetch as soon as they show
// the file (SEC-22): a way to send something off that asks nobody.

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// What stands between the key and the address: a colon, or = in the comment
	// that the YAML language server reads; a sign of YAML's for a text over several
	// lines, a tag or an anchor; a quote.
	remoteSchema = regexp.MustCompile(`(?i)(?:\$(?:schema|ref)["']?\s*[:=]|#:schema)\s*(?:[>|][-+0-9]*\s+|[!&]\S+\s+)*["']?((?:[a-z][a-z0-9+.-]*:)?//[^\s"'<>]+|\*\S+)`)
	escapedRune  = regexp.MustCompile(`\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))`)
)

// remoteSchemas returns the addresses with a host that a file refers to by $schema
// or $ref. An alias of YAML's may stand for one.
//
// The text is not parsed, as files may be broken and are of three languages: escapes of
// JSON are undone first, and then keys are looked for anywhere. It may find too much,
// which only asks a question.
func remoteSchemas(text string) []string {
	text = strings.ReplaceAll(text, `\/`, "/")
	// An address that is written in escapes is the same to an editor.
	text = escapedRune.ReplaceAllStringFunc(text, func(escape string) string {
		n, err := strconv.ParseUint(escape[2:], 16, 32)
		if err != nil {
			return escape
		}
		return string(rune(n))
	})
	var all []string
	for _, m := range remoteSchema.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// newRemoteSchemas returns those that a change of the file brings.
// Those that stood in the file before are not told again, so that an edit elsewhere in it
// does not ask.
func newRemoteSchemas(path, old, text string) []string {
	// Editors fetch schemas for these kinds of files.
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml":
	default:
		return nil
	}
	before := remoteSchemas(old)
	return slices.DeleteFunc(remoteSchemas(text), func(address string) bool { return slices.Contains(before, address) })
}
