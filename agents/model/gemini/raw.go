package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// rawParts gathers the parts of an answer as they were written. Text that comes
// in many chunks is one part, or the next request would carry a part for each;
// only text with no other field is joined, as the provider allows: a signature
// stays with the part that it came with.
type rawParts struct {
	done    bytes.Buffer // parts, with commas
	text    []byte       // of the plain text that grows, as in JSON, without quotes
	thought bool         // the text is a thought
}

// add takes a part that is no call. Text is gathered until something else comes.
func (r *rawParts) add(part json.RawMessage) {
	text, thought, plain := plainText(part)
	if !plain {
		r.put(part)
		return
	}
	if thought != r.thought {
		r.seal()
		r.thought = thought
	}
	r.text = append(r.text, text...)
}

// put takes a part that is not plain text.
func (r *rawParts) put(part json.RawMessage) {
	r.seal()
	r.comma()
	r.done.Write(part)
}

// comma parts what is done from what follows.
func (r *rawParts) comma() {
	if r.done.Len() > 0 {
		r.done.WriteByte(',')
	}
}

// seal writes the text that was gathered as a part. The part has no other member than
// text and thought.
func (r *rawParts) seal() {
	if len(r.text) == 0 {
		return
	}
	r.comma()
	r.done.WriteString(`{"text":"`)
	r.done.Write(r.text)
	r.done.WriteByte('"')
	if r.thought {
		r.done.WriteString(`,"thought":true`)
	}
	r.done.WriteByte('}')
	r.text = r.text[:0]
}

// content returns the raw form; nil if there are no parts. It is called once.
func (r *rawParts) content() json.RawMessage {
	r.seal()
	if r.done.Len() == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(`{"role":"model","parts":[`)
	b.Write(r.done.Bytes())
	b.WriteString(`]}`)
	return wellFormed(b.Bytes())
}

// wellFormed replaces escapes of half a surrogate pair: strict readers of JSON,
// such as those of logs, refuse them. JSON without any is returned as it is. data is
// not modified.
func wellFormed(data []byte) []byte {
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit := unitAt(data[i:])
		switch {
		case unit >= 0xD800 && unit < 0xDC00:
			// An escape has six bytes, so the other half of a pair begins there.
			if low := unitAt(data[i+6:]); low >= 0xDC00 && low < 0xE000 {
				i += 11
				continue
			}
			data = replaceUnit(data, i)
		case unit >= 0xDC00 && unit < 0xE000:
			data = replaceUnit(data, i)
		}
		// The character behind a backslash is passed: a backslash that is escaped begins
		// no escape.
		i++
	}
	return data
}

// unitAt returns the UTF-16 unit of an escape at the beginning of data, or -1. Offsets
// beyond the data are none.
func unitAt(data []byte) int {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// replaceUnit returns a copy of data with U+FFFD in the place of the escape at an offset.
func replaceUnit(data []byte, at int) []byte {
	data = bytes.Clone(data)
	copy(data[at+2:], "fffd")
	return data
}

// plainText returns the text of a part that has nothing else, as it is written
// between its quotes. An object without members is plain text that is empty.
func plainText(part json.RawMessage) (text []byte, thought, plain bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(part, &fields) != nil {
		return nil, false, false
	}
	if len(fields) == 0 {
		return nil, false, true
	}
	literal, ok := fields["text"]
	if !ok || len(literal) < 2 || literal[0] != '"' {
		return nil, false, false
	}
	switch flag := fields["thought"]; {
	case len(fields) == 1:
	case len(fields) == 2 && flag != nil:
		thought = string(flag) == "true"
	default:
		return nil, false, false
	}
	return literal[1 : len(literal)-1], thought, true
}
