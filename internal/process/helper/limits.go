package helper

import (
	"encoding/binary"
	"strings"
)

// Limits are what [Confine] holds a command to. It reads them, as Encode writes
// them, from descriptor 4.
type Limits struct {
	Read, Write []string // files and folders, each with what lies below it; what is missing is left out
	List        []string // folders whose names may be listed, and those below, but no file read
	Devices     []string // files that may be read and written, but not made or removed
	Filter      []byte   // the seccomp filter, as an array of struct sock_filter
}

// Encode returns the limits as bytes: four lists of paths, and then the filter.
// Paths hold no NUL.
func (l Limits) Encode() []byte {
	var out []byte
	for _, list := range [][]string{l.Read, l.Write, l.List, l.Devices} {
		text := strings.Join(list, "\x00")
		out = binary.BigEndian.AppendUint32(out, uint32(len(text)))
		out = append(out, text...)
	}
	return append(out, l.Filter...)
}

// decode is the inverse of Encode.
func decode(data []byte) (l Limits, ok bool) {
	for _, list := range []*[]string{&l.Read, &l.Write, &l.List, &l.Devices} {
		if len(data) < 4 {
			return l, false
		}
		n := binary.BigEndian.Uint32(data)
		if data = data[4:]; uint32(len(data)) < n {
			return l, false
		}
		if n > 0 {
			*list = strings.Split(string(data[:n]), "\x00")
		}
		data = data[n:]
	}
	l.Filter = data
	return l, len(data)%8 == 0
}
