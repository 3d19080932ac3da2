package wire

import (
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Codec marshals payloads with the protocol's union-aware encoder. It is ours
// because the protocol package keeps its own to itself. Field names are matched
// by case (encoding/json v2), so every field that travels has a tag.
//
// It has no state and may be used from any goroutine.
type Codec struct{}

// Marshal implements [jsonrpc2.Codec]. Raw messages pass as they are.
// A RawMessage is returned without a copy, so it must not be changed afterwards.
func (Codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		return raw, nil
	}
	return protocol.Marshal(v)
}

// Unmarshal implements [jsonrpc2.Codec].
// What v gets does not share data's memory. A member that v lacks is ignored.
// Texts and raw JSON in v may share one copy of the whole message, which lives
// as long as any of them: clone what outlives a request.
func (Codec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = append((*raw)[:0], data...)
		return nil
	}
	return protocol.Unmarshal(data, v)
}
