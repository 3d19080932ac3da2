package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape reads the escapes of a text.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf(`the text ends with a single \`)
		}
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 's':
			b.WriteByte(' ')
		case '\\':
			b.WriteByte('\\')
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf(`want four hexadecimal digits after \u`)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 32)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return "", fmt.Errorf(`want four hexadecimal digits of a rune after \u`)
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			return "", fmt.Errorf(`unknown escape \%c; write \\ for a backslash`, s[i])
		}
	}
	return b.String(), nil
}

// marshal encodes what cannot fail, without the escapes that are for HTML.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("modelserver: cannot encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
