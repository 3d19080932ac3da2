package bundle

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentls/agentls/internal/fault"
)

// skeleton is the content of a new bundle, besides its manifest.
//
//go:embed skeleton
var skeleton embed.FS

// New makes a folder with the beginnings of a bundle, which takes the folder's name.
// server adds an MCP server. It replaces nothing. The errors are Invalid for a name or
// a folder that cannot be used, else the disk's; a folder that was begun stays.
func New(folder string, server bool) error {
	name := filepath.Base(folder)
	if !nameForm.MatchString(name) {
		return fault.New(fault.Invalid, "bundle.new",
			"%q cannot be the name of an extension; use letters, digits, - and _", name)
	}
	if err := os.Mkdir(folder, 0o755); errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Invalid, "bundle.new", "%s is there already", folder)
	} else if err != nil {
		return err
	}
	content := map[string]any{"name": name, "version": "0.1.0", "description": "", "contextFileName": "GEMINI.md"}
	if server {
		content["mcpServers"] = map[string]any{name: map[string]any{"command": "node",
			"args": []string{"${extensionPath}${/}server.mjs"}}}
	}
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, ManifestName), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return fs.WalkDir(skeleton, "skeleton", func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("skeleton", filepath.FromSlash(from))
		if err != nil || rel == "." || (rel == "server.mjs" && !server) {
			return err
		}
		to := filepath.Join(folder, rel)
		if d.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		text, err := skeleton.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}
