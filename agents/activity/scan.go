package activity

import (
	"encoding/json"
	"hash/crc32"
)

// unseal returns the part of a line (without its line feed) that its checksum
// covers. False when the line has no checksum or does not match it.
func unseal(line []byte) ([]byte, bool) {
	at := len(line) - crcSize
	if at < 0 || string(line[at:at+len(crcKey)]) != crcKey || string(line[len(line)-len(crcEnd):]) != crcEnd {
		return nil, false
	}
	var sum uint32
	for _, c := range line[at+len(crcKey) : at+len(crcKey)+8] {
		switch {
		case c >= '0' && c <= '9':
			sum = sum<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			sum = sum<<4 | uint32(c-'a'+10)
		default:
			return nil, false
		}
	}
	return line[:at], crc32.Checksum(line[:at], castagnoli) == sum
}

// member finds the next member of an object written compactly. i is at the key;
// the value is b[from:to]. ok is false where there is no member.
func member(b []byte, i int) (key []byte, from, to int, ok bool) {
	end, ok := skipString(b, i)
	if !ok || end >= len(b) || b[end] != ':' {
		return nil, 0, 0, false
	}
	to, ok = skipValue(b, end+1)
	return b[i+1 : end-1], end + 1, to, ok
}

// skipString returns where the string that begins at i ends. It checks what
// JSON asks of a string.
// i is the place of the opening quote; the end is behind the closing one. It
// checks no UTF-8.
func skipString(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return 0, false
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return 0, false
		case c == '\\':
			i++
			if i >= len(b) {
				return 0, false
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(b) {
					return 0, false
				}
				for _, h := range b[i+1 : i+5] {
					if (h < '0' || h > '9') && (h < 'a' || h > 'f') && (h < 'A' || h > 'F') {
						return 0, false
					}
				}
				i += 4
			default:
				return 0, false
			}
		}
	}
	return 0, false
}

// skipValue returns where the value that begins at i ends. It finds the end of
// a valid value that is written compactly and nested no deeper than maxDepth;
// whether a value that is not a string is valid, [validValue] says.
func skipValue(b []byte, i int) (int, bool) {
	if i >= len(b) {
		return 0, false
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				end, ok := skipString(b, i)
				if !ok {
					return 0, false
				}
				i = end
				continue
			case '{', '[':
				if depth++; depth > maxDepth {
					return 0, false
				}
			case ' ', '\t', '\n', '\r':
				return 0, false
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, true
				}
			}
			i++
		}
		return 0, false
	}
	start := i
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i, i > start
}

// validValue reports whether v, which skipValue delimited, is JSON.
func validValue(v []byte) bool {
	return len(v) > 0 && (v[0] == '"' || json.Valid(v))
}
