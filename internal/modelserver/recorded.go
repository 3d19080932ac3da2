package modelserver

import (
	"encoding/json"
	"fmt"
)

// FromRecording returns a script of one step, without expectations, that gives an
// answer as it was recorded: a line {"method": …, "response": …}, where the
// response is one chunk or an array of them, in the shape of the API. Each
// element is a chunk of the stream, as it stands. Signatures in it are not looked for
// in later requests.
func FromRecording(line []byte) (*Script, error) {
	var r struct {
		Method   string          `json:"method"`
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("the recorded answer is not JSON: %w", err)
	}
	var chunks []json.RawMessage
	switch r.Method {
	case "generateContentStream":
		if err := json.Unmarshal(r.Response, &chunks); err != nil {
			return nil, fmt.Errorf("the response of %s is not an array: %w", r.Method, err)
		}
	case "generateContent":
		chunks = []json.RawMessage{r.Response}
	default:
		return nil, fmt.Errorf("unknown method %q of a recorded answer", r.Method)
	}
	st := step{line: 1}
	for _, c := range chunks {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(c, &object); err != nil || object == nil {
			return nil, fmt.Errorf("a chunk of the recorded answer is not an object")
		}
		// A chunk is one line of the stream.
		st.actions = append(st.actions, action{kind: rawChunk, raw: marshal(c)})
	}
	return &Script{sections: []section{{steps: []step{st}}}}, nil
}
