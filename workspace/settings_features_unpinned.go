package workspace

// Servers that fetch whatever is newest when they start (settings/mcp-unpinned).

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// server checks one MCP server: that there is one way to reach it, and that what
// it runs has a version.
func (d *settingsReader) server(object *hujson.Object) {
	value := func(key string) *hujson.Value {
		if i := lastMember(object, key); i >= 0 && object.Members[i].Value.Value.Kind() != 'n' {
			return &object.Members[i].Value
		}
		return nil
	}
	if command := value("command"); command != nil {
		var args []*hujson.Value
		if list := value("args"); list != nil {
			if array, ok := list.Value.(*hujson.Array); ok {
				for i := range array.Elements {
					args = append(args, &array.Elements[i])
				}
			}
		}
		if name, err := text(command); err == nil {
			d.checkPinned(name, args)
		}
	} else if value("url") == nil && value("httpUrl") == nil && len(object.Members) > 0 {
		// The object itself has no offset; its first member has.
		name := object.Members[0].Name
		d.find(name.StartOffset, name.EndOffset, "settings/value", "error",
			"A server needs a command, a url or an httpUrl.")
	}
}

// fetcher is a program that fetches a package and runs it.
type fetcher struct {
	verbs  []string // its subcommands that do, one of them first; nil = it always does
	values []string // options that take a value
	names  []string // those of them whose value is the package
	local  string   // the option by which it fetches nothing
}

// fetchers are by the name of the program, as programName returns it.
var fetchers = map[string]fetcher{
	"npx": {values: []string{"-p", "--package", "-c", "--call", "-w", "--workspace", "--registry"},
		names: []string{"-p", "--package"}, local: "--no-install"},
	"bunx": {values: []string{"-p", "--package"}, names: []string{"-p", "--package"}, local: "--no-install"},
	"pnpx": {values: []string{"--package"}, names: []string{"--package"}},
	"npm": {verbs: []string{"exec", "x"}, values: []string{"--package"},
		names: []string{"--package"}, local: "--offline"},
	"pnpm": {verbs: []string{"dlx"}, values: []string{"--package"}, names: []string{"--package"}},
	"yarn": {verbs: []string{"dlx"}, values: []string{"-p", "--package"}, names: []string{"-p", "--package"}},
	"uvx": {values: []string{"--from", "--with", "-p", "--python", "--index-url", "-i", "--refresh-package"},
		names: []string{"--from"}, local: "--offline"},
	"pipx": {verbs: []string{"run"}, values: []string{"--spec", "--python", "--index-url", "-i"},
		names: []string{"--spec"}},
}

// checkPinned reports the package that a command fetches without a version, or a
// tag that moves.
func (d *settingsReader) checkPinned(command string, args []*hujson.Value) {
	words := make([]string, len(args))
	for i, a := range args {
		words[i], _ = text(a)
	}
	// The tag latest moves whichever program it is given to, as in docker run
	// name:latest.
	for i, word := range words {
		if strings.HasSuffix(word, ":latest") || (strings.HasSuffix(word, "@latest") && len(word) > len("@latest")) {
			if at := strings.LastIndexAny(word, ":@"); at > 0 {
				d.checkPinnedArgument(args[i], word, word[:at], command, "", args)
				return
			}
		}
	}
	name := programName(command)
	// On Windows npx is a script, which cmd has to start.
	if name == "cmd" && len(words) > 1 && strings.EqualFold(words[0], "/c") {
		name, words, args = programName(words[1]), words[2:], args[2:]
	}
	f, known := fetchers[name]
	if !known {
		return
	}
	first := 0
	if f.verbs != nil {
		if len(words) == 0 || !slices.Contains(f.verbs, words[0]) {
			return
		}
		first = 1
	}
	at := -1
	for i := first; i < len(words); i++ {
		option, value, joined := strings.Cut(words[i], "=")
		switch {
		case words[i] == f.local && f.local != "":
			return
		case joined && slices.Contains(f.names, option):
			if !pinned(value) {
				d.checkPinnedArgument(args[i], value, value, name, f.local, args)
			}
			return
		case slices.Contains(f.names, words[i]) && i+1 < len(words):
			at = i + 1
		case slices.Contains(f.values, words[i]):
			i++
			continue
		case words[i] == "--", strings.HasPrefix(words[i], "-"):
			continue
		default:
			at = i
		}
		break
	}
	// The first word that names a package ended the search: what follows belongs to the
	// program that is fetched.
	if at >= 0 && words[at] != "" && !pinned(words[at]) {
		d.checkPinnedArgument(args[at], words[at], words[at], name, f.local, args)
	}
}

// checkPinnedArgument reports one argument. base is the package without a moving tag.
// word is the package as it is written, command the fetcher, and local its option that
// fetches nothing, "" for none.
func (d *settingsReader) checkPinnedArgument(arg *hujson.Value, word, base, command, local string,
	args []*hujson.Value) {
	f := d.find(arg.StartOffset, arg.EndOffset, "settings/mcp-unpinned", "warning",
		"%s is fetched anew at whatever version is the newest, so somebody else decides what runs here; name a version.", word)
	if d.names.Version != nil {
		name := programName(command)
		if version, ok := d.names.Version(name, base); ok {
			mark := "@"
			if name == "pipx" {
				mark = "=="
			} else if strings.HasSuffix(word, ":latest") {
				mark = ":"
			}
			// An option may stand before the package in the same argument, as
			// --package=name.
			whole, _ := text(arg)
			fixed := strings.TrimSuffix(whole, word) + base + mark + version
			f.Fixes = append(f.Fixes, SettingsFix{Title: fmt.Sprintf("Name the version that is here: %s", version),
				Start: arg.StartOffset, End: arg.EndOffset, Text: string(hujson.String(fixed))})
		}
	}
	if local == "" {
		return
	}
	// -y agrees to a download, so the option takes its place.
	for _, a := range args {
		if w, err := text(a); err == nil && (w == "-y" || w == "--yes") {
			f.Fixes = append(f.Fixes, SettingsFix{Title: fmt.Sprintf("Fetch nothing (%s)", local), Start: a.StartOffset,
				End: a.EndOffset, Text: string(hujson.String(local))})
			return
		}
	}
	// Options stand before all other arguments, but for npm, where the verb comes first.
	at := arg.StartOffset
	if len(args) > 0 && args[0].StartOffset < at {
		at = args[0].StartOffset
	}
	if command == "npm" && len(args) > 1 {
		at = args[1].StartOffset
	}
	f.Fixes = append(f.Fixes, SettingsFix{Title: fmt.Sprintf("Fetch nothing (%s)", local), Start: at, End: at,
		Text: string(hujson.String(local)) + ", "})
}

// programName returns the name of an executable without its folder and ending.
func programName(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".cmd", ".exe", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// pinned reports whether a package's name has a version, or is a path.
func pinned(word string) bool {
	if strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "file:") {
		return true
	}
	version := ""
	if _, after, ok := strings.Cut(word, "=="); ok {
		version = after
	} else if i := strings.LastIndexAny(word, "@#"); i > 0 {
		version = strings.TrimPrefix(word[i+1:], "v")
	}
	if version == "" {
		return false
	}
	// A commit is a version too.
	hash := len(version) >= 7 && strings.Trim(version, "0123456789abcdef") == ""
	return hash || (version[0] >= '0' && version[0] <= '9')
}
