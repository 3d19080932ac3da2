package definition

// Typed values of nodes; what has another type is agent/type at the value.
//
// For all of them an empty value is as if the field were not there, and a value that is
// wrong is a finding and leaves what was there before, which is the default.

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// trimSmartQuotes takes typographic quotes around a plain text for quotes.
// It changes the node and leaves a warning; the fix writes straight quotes.
func (r *reader) trimSmartQuotes(v *node) {
	// Each of these quotes takes three bytes, of which the first is 0xE2.
	if v.kind != str || !v.plain || len(v.text) < 6 || v.text[0] != 0xE2 {
		return
	}
	for _, pair := range [...][2]string{{"“", "”"}, {"‘", "’"}, {"”", "”"}, {"’", "’"}} {
		if inner, ok := strings.CutPrefix(v.text, pair[0]); ok {
			if inner, ok = strings.CutSuffix(inner, pair[1]); ok && !strings.Contains(inner, pair[0]) {
				r.at(v, "agent/yaml-repaired", Warning,
					"YAML takes typographic quotes for a part of the text; write straight ones.")
				v.text = inner
				return
			}
		}
	}
}

// reportType reports a value of a wrong type.
// want is a noun with its article. An empty value is told in other words, since there is
// no type to correct.
func (r *reader) reportType(v *node, field, want string) {
	if v.kind == null {
		r.at(v, "agent/type", Error, "%s is empty and must be %s; write it, or remove it.", field, want)
		return
	}
	got := kindNames[v.kind]
	hint := ""
	if want == "a string" && (v.kind == number || v.kind == boolean) && free(field) {
		hint = fmt.Sprintf("; write it in quotes: %q", v.text)
	}
	r.at(v, "agent/type", Error, "%s must be %s, not %s%s.", field, want, got, hint)
}

// free reports whether a field may be any text.
func free(field string) bool {
	switch field {
	case "name", "version", "color":
		return false
	}
	f, known := FieldAt(field)
	return !known || f.Values == nil
}

// oneOf reports a string that is none of the values that a field of the table
// may have.
// format makes a sentence with its full stop; the word that was meant is added to it.
func (r *reader) oneOf(v *node, field, format string, args ...any) {
	meant := ""
	if f := fieldIndex[field]; f != nil {
		meant = r.nearest(v.text, f.Values)
	}
	message := fmt.Sprintf(format, args...)
	if meant != "" {
		message = strings.TrimSuffix(message, ".") + "; did you mean " + meant + "?"
	}
	r.suggest("agent/type", Error, v.start, v.end, meant, message)
}

// loose makes a text of another scalar in another tool's file, where types are
// not strict. It reports whether v may be read at all.
// The node becomes a string of what is written there.
func (r *reader) loose(v *node) bool {
	if v.kind == null {
		return false
	}
	if r.Dialect != Agentls && (v.kind == number || v.kind == boolean) {
		v.kind = str
	}
	return true
}

// stringField reads a string; an empty value leaves what is there.
// It reports whether to was set.
func (r *reader) stringField(v *node, field string, to *string) bool {
	if !r.loose(v) {
		return false
	}
	if v.kind != str {
		r.reportType(v, field, "a string")
		return false
	}
	*to = v.text
	return true
}

// boolField reads a boolean; an empty value leaves what is there.
func (r *reader) boolField(v *node, field string, to *bool) {
	switch v.kind {
	case boolean:
		*to = v.truth
	case null:
	default:
		r.reportType(v, field, "true or false")
	}
}

// intField reads a whole number from low to high.
// false where it is not given, or has a finding.
func (r *reader) intField(v *node, field string, low, high int) (int, bool) {
	switch {
	case v.kind == null:
		return 0, false
	case v.kind != number || !v.integral():
		r.reportType(v, field, "a whole number")
		return 0, false
	case v.num < float64(low):
		r.at(v, "agent/type", Error, "%s must be %d or more.", field, low)
		return 0, false
	case v.num > float64(high):
		r.at(v, "agent/type", Error, "%s must be %d or less.", field, high)
		return 0, false
	}
	return int(v.num), true
}

// floatField reads a number from low to high.
// nil where it is not given, or has a finding.
func (r *reader) floatField(v *node, field string, low, high float64) *float64 {
	switch {
	case v.kind == null:
		return nil
	case v.kind != number:
		r.reportType(v, field, "a number")
		return nil
	case v.num < low || v.num > high:
		if high > 1e9 {
			r.at(v, "agent/type", Error, "%s must be %g or more.", field, low)
		} else {
			r.at(v, "agent/type", Error, "%s must be from %g to %g.", field, low, high)
		}
		return nil
	}
	n := v.num
	return &n
}

// durationField reads seconds, or a Go duration; at most a year.
//
// A number is seconds and may have a fraction. 0 is allowed here; limits that must be over
// 0 check it themselves.
func (r *reader) durationField(v *node, field string) (time.Duration, bool) {
	const year = 366 * 24 * time.Hour
	var d time.Duration
	switch v.kind {
	case null:
		return 0, false
	case number:
		// More seconds would overflow, and are refused below in any case.
		d = time.Duration(min(math.Abs(v.num), 1e9) * float64(time.Second))
		if v.num < 0 {
			d = -d
		}
	case str:
		parsed, err := time.ParseDuration(v.text)
		if err != nil {
			r.at(v, "agent/type", Error, "%s must be seconds or a duration such as 90s, 5m or 1h30m.", field)
			return 0, false
		}
		d = parsed
	default:
		r.reportType(v, field, "seconds or a duration such as 90s, 5m or 1h30m")
		return 0, false
	}
	if d < 0 || d > year {
		r.at(v, "agent/type", Error, "%s must be from 0 to a year.", field)
		return 0, false
	}
	return d, true
}

// shape checks a value's type and reports whether it has one of the wanted.
// An empty value is false as well, without a finding: most fields may be left empty.
func (r *reader) shape(v *node, field string, want ...kind) bool {
	if v.kind == null {
		return false
	}
	names := make([]string, len(want))
	for i, k := range want {
		if v.kind == k {
			return true
		}
		names[i] = kindNames[k]
	}
	r.reportType(v, field, strings.Join(names, " or "))
	return false
}

// strings reads a list of strings.
// An entry that is no text is reported and left out, and the others count.
func (r *reader) strings(v *node, field string) []listed {
	if v.kind == null {
		return nil
	}
	if v.kind != list {
		r.reportType(v, field, "a list of strings")
		return nil
	}
	names := make([]listed, 0, len(v.items))
	for i := range v.items {
		item := &v.items[i]
		r.trimSmartQuotes(item)
		if item.kind != str || item.text == "" {
			r.reportType(item, "An entry of "+field, "a string")
			continue
		}
		names = append(names, listed{item.text, item.start, item.end})
	}
	return names
}

// words reads a list of strings, or one text with commas between them, as other
// tools have it. A comma inside parentheses does not count.
//
// Places are those of the words where the text stands in the file without escapes, and
// else that of the whole value. TestPlacesInCommaText holds them.
func (r *reader) words(v *node, field string) []listed {
	if v.kind != str {
		return r.strings(v, field)
	}
	// Places inside the value are known where it stands in the file as it is.
	offset := strings.Index(r.text.src[v.start:max(v.start, v.end)], v.text)
	var names []listed
	depth, from := 0, 0
	for i := 0; i <= len(v.text); i++ {
		if i < len(v.text) {
			switch v.text[i] {
			case '(':
				depth++
			case ')':
				depth = max(0, depth-1)
			}
			if v.text[i] != ',' || depth > 0 {
				continue
			}
		}
		word := v.text[from:i]
		trimmed := strings.TrimSpace(word)
		if trimmed != "" {
			w := listed{trimmed, v.start, v.end}
			if offset >= 0 {
				w.start = v.start + offset + from + strings.Index(word, trimmed)
				w.end = w.start + len(trimmed)
			}
			names = append(names, w)
		}
		from = i + 1
	}
	return names
}
