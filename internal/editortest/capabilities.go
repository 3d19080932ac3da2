package editortest

import (
	"encoding/json"
	"errors"

	"go.lsp.dev/protocol"
)

// further merges a JSON object into capabilities.
func further(c *protocol.ClientCapabilities, object string) error {
	own, err := protocol.Marshal(c)
	if err != nil {
		return err
	}
	var all, more map[string]any
	if err := errors.Join(json.Unmarshal(own, &all), json.Unmarshal([]byte(object), &more)); err != nil {
		return err
	}
	merge(all, more)
	merged, err := json.Marshal(all)
	if err != nil {
		return err
	}
	*c = protocol.ClientCapabilities{}
	return protocol.Unmarshal(merged, c)
}

// merge puts the members of more into those of all.
func merge(all, more map[string]any) {
	for key, value := range more {
		inner, both := value.(map[string]any)
		if own, ok := all[key].(map[string]any); ok && both {
			merge(own, inner)
			continue
		}
		all[key] = value
	}
}
