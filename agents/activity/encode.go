package activity

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/fault"
)

// The ends of a line (spec 3.1). The checksum covers the bytes before crcKey.
const (
	crcKey  = `,"crc":"`
	crcEnd  = `"}`
	crcSize = len(crcKey) + 8 + len(crcEnd)
)

// timeLayout is RFC 3339 with milliseconds, in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

const hexDigits = "0123456789abcdef"

// castagnoli is the table of CRC-32C; it is never written to.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encoder writes the lines of one log. It remembers the parts that consecutive
// events share, since a stream of deltas repeats all of them.
//
// The zero encoder is ready. It is guarded by the log's lock; whoever writes
// lines of another file (a purge, a repair) has one of its own, since a
// remembered part may be of another event. The memory is only a cache: a new
// encoder writes the same bytes.
type encoder struct {
	time   []byte // the last time, as written
	milli  int64  // of time
	origin []byte // the last origin, as written
	about  Origin // of origin
}

// line appends the whole line of an event, with checksum and line feed. data is
// the encoded body; nil for a delta, which is encoded here.
func (e *encoder) line(dst []byte, seq uint64, at time.Time, o Origin, b Body, data []byte, ms int64) []byte {
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, seq, 10)
	dst = e.tail(dst, at, o, b, data, ms)
	return seal(dst, start)
}

// hole appends the line that stands for the events from..to, which cannot be
// read any more.
func (e *encoder) hole(dst []byte, from, to uint64, at time.Time, note Note) []byte {
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, to, 10)
	if from < to {
		dst = append(dst, `,"fromSeq":`...)
		dst = strconv.AppendUint(dst, from, 10)
	}
	data, _ := encodeBody(note)
	dst = e.tail(dst, at, Origin{}, note, data, 0)
	return seal(dst, start)
}

// tail appends what follows the numbers of a line.
// It is the hottest path of a stream: two byte comparisons and no allocation for
// an event like the one before.
func (e *encoder) tail(dst []byte, at time.Time, o Origin, b Body, data []byte, ms int64) []byte {
	if milli := at.UnixMilli(); milli != e.milli || e.time == nil {
		e.milli = milli
		e.time = append(e.time[:0], `,"time":"`...)
		e.time = at.UTC().AppendFormat(e.time, timeLayout)
		e.time = append(e.time, '"')
	}
	dst = append(dst, e.time...)
	if o != e.about {
		e.about = o
		e.origin = appendOrigin(e.origin[:0], o)
	}
	dst = append(dst, e.origin...)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, b.Type())
	dst = append(dst, `,"data":`...)
	if data != nil {
		dst = append(dst, data...)
	} else {
		dst, _ = appendDelta(dst, b)
	}
	if ms != 0 {
		dst = append(dst, `,"durationMs":`...)
		dst = strconv.AppendInt(dst, ms, 10)
	}
	return dst
}

// seal ends the line that begins at start.
func seal(dst []byte, start int) []byte {
	sum := crc32.Checksum(dst[start:], castagnoli)
	dst = append(dst, crcKey...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[sum>>shift&0xf])
	}
	return append(dst, crcEnd+"\n"...)
}

// appendOrigin appends the members of an origin, each after a comma; those that
// are empty are left out.
func appendOrigin(dst []byte, o Origin) []byte {
	member := func(name, value string) {
		if value != "" {
			dst = append(dst, name...)
			dst = appendString(dst, value)
		}
	}
	member(`,"run":`, o.Run)
	member(`,"parentRun":`, o.ParentRun)
	if o.Turn != 0 {
		dst = append(dst, `,"turn":`...)
		dst = strconv.AppendInt(dst, int64(o.Turn), 10)
	}
	member(`,"agent":`, o.Agent)
	member(`,"correlationId":`, o.CorrelationID)
	member(`,"context":`, o.Context)
	return dst
}

// isDelta reports whether b is one of the three bodies that make up a stream.
// They are encoded without reflection, are not folded, and may be merged.
func isDelta(b Body) bool {
	switch b.(type) {
	case ContentDelta, ThoughtDelta, ToolDelta:
		return true
	}
	return false
}

// appendDelta appends the data of a delta, its text last, as encoding/json
// writes it; false for any other body.
func appendDelta(dst []byte, b Body) ([]byte, bool) {
	var text string
	switch b := b.(type) {
	case ContentDelta:
		dst, text = append(dst, '{'), b.Text
	case ThoughtDelta:
		dst, text = append(dst, '{'), b.Text
		if b.Subject != "" {
			dst = append(dst, `"subject":`...)
			dst = appendString(dst, b.Subject)
			dst = append(dst, ',')
		}
	case ToolDelta:
		dst, text = append(dst, `{"call":`...), b.Text
		dst = appendString(dst, b.Call)
		dst = append(dst, ',')
	default:
		return dst, false
	}
	dst = append(dst, `"text":`...)
	dst = appendString(dst, text)
	return append(dst, '}'), true
}

// encodeBody returns the data of a body, compact and valid UTF-8, without
// escaping for HTML.
func encodeBody(b Body) ([]byte, error) {
	if data, ok := appendDelta(nil, b); ok {
		return data, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	// encoding/json passes the strings of raw messages as they are.
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return data, nil
}

// encode returns the data of a body as it is recorded, and the body that it
// stands for: another one where something was masked.
//
// It runs without the lock, since masking and encoding a large result take their
// time. It always returns something that can be recorded: a body that cannot be
// becomes an [ErrorSeen].
func (l *Log) encode(b Body) (Body, []byte) {
	data, err := encodeBody(b)
	if err != nil {
		return l.recordLost(b, fault.New(fault.Internal, "activity.append",
			"A %s event could not be encoded: %w.", b.Type(), err))
	}
	if !shallow(data) {
		return l.recordLost(b, fault.New(fault.Internal, "activity.append",
			"A %s event is nested too deep, so it was not recorded.", b.Type()))
	}
	if _, said := b.(ModelContent); said || l.cfg.Mask == nil {
		return b, data
	}
	masked := l.cfg.Mask(data)
	if bytes.Equal(masked, data) {
		return b, data
	}
	// What is shown and folded now is what will be read again. A value that was
	// found outside of strings, in a number say, is found in strings only.
	for _, masked := range [][]byte{masked, maskStrings(data, l.cfg.Mask)} {
		var compact bytes.Buffer
		if json.Compact(&compact, masked) != nil {
			continue
		}
		masked = bytes.ToValidUTF8(compact.Bytes(), []byte("\uFFFD"))
		if next, err := Decode(b.Type(), masked); err == nil {
			return next, masked
		}
	}
	return l.recordLost(b, fault.New(fault.Internal, "activity.append",
		"A %s event could not be masked, so it was not recorded.", b.Type()))
}

// shallow reports whether data, an encoded body, is nested no deeper than a line
// may be that is read back.
// encoding/json writes deeper values than it reads, so without this a line could
// be written that no start can read.
func shallow(data []byte) bool {
	if len(data) <= 2*maxDepth {
		return true // each level takes two bytes
	}
	_, ok := skipValue(data, 0)
	return ok
}

// maskStrings masks the strings of data, which is JSON, each by itself.
func maskStrings(data []byte, mask func([]byte) []byte) []byte {
	out := make([]byte, 0, len(data)+64)
	for i := 0; i < len(data); {
		end, ok := skipString(data, i)
		if !ok {
			out = append(out, data[i])
			i++
			continue
		}
		if text := mask(data[i:end:end]); json.Valid(text) {
			out = append(out, text...)
		} else {
			out = append(out, `""`...)
		}
		i = end
	}
	return out
}

// recordLost records that an event could not be.
//
// The type and the error go to the log of the daemon; the content does not,
// since it may hold what is to be masked.
func (l *Log) recordLost(b Body, err *fault.Error) (Body, []byte) {
	l.logger().Error("event lost", "session", l.cfg.Session, "type", b.Type(), "err", err)
	seen := ErrorSeen{Code: string(fault.Bug), Message: fault.Message(err), Where: "activity.append"}
	data, _ := encodeBody(seen) // strings only: cannot fail
	return seen, data
}

// appendString appends s as a JSON string, byte for byte as encoding/json does
// without HTML escaping: what is not UTF-8 becomes U+FFFD.
// U+2028 and U+2029 are escaped as well, as encoding/json does. Bytes that need
// nothing are copied in one piece: texts are most of a log.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				dst = append(append(dst, s[start:i]...), `\u202`...)
				dst = append(dst, hexDigits[r&0xf])
			default:
				i += size
				continue
			}
			i += size
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
