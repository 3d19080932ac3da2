package server

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// Checker is what a type of parameters implements to refuse what its fields
// alone cannot: one that is required, one that has a few values only. Check
// returns the path of the offending field, as in "inputs.files[2]" ("" for the
// whole), and what is wrong with it in a few words ("is required").
//
// The server calls Check after decoding and before the row's function, on the read
// loop, so it must look at the value alone: no disk, no locks, no state. A failure is
// answered with code -32602, and the path travels as data.path (spec 2.2).
type Checker interface {
	Check() (path string, err error)
}

// decode returns the parameters of a call. Absent and null ones are decoded as
// an empty object, so that Check decides whether that will do. It fails with
// [fault.Invalid] and the path of the field (spec 2.2).
func decode[P any](method string, raw []byte) (*P, error) {
	p := new(P)
	raw = bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case len(raw) == 0:
		raw = []byte("{}")
	case raw[0] != '{' && raw[0] != '[':
		return nil, badParams(method, "", "params must be an object")
	}
	if err := (wire.Codec{}).Unmarshal(raw, p); err != nil {
		path, problem := explain("", raw, err)
		return nil, badParams(method, dotPath(path), problem)
	}
	if withoutDocument(p) {
		return nil, badParams(method, "textDocument.uri", "is required")
	}
	if c, ok := any(p).(Checker); ok {
		if path, err := c.Check(); err != nil {
			return nil, badParams(method, path, err.Error())
		}
	}
	return p, nil
}

// withoutDocument reports whether parameters are about a document of which they do not
// say which: LSP's own types have no Check.
func withoutDocument(p any) bool {
	v := reflect.ValueOf(p).Elem()
	if v.Kind() != reflect.Struct {
		return false
	}
	doc := v.FieldByName("TextDocument")
	if doc.Kind() != reflect.Struct {
		return false
	}
	u := doc.FieldByName("URI")
	return u.Kind() == reflect.String && u.Len() == 0
}

// BadParams returns the [fault.Invalid] error of a parameter that only a
// handler can tell is wrong. path is as for [Checker]; the format says what is
// wrong with it in a few words, as in "names no agent".
func BadParams(method, path, format string, args ...any) error {
	return badParams(method, path, fmt.Sprintf(format, args...))
}

// It makes the error of BadParams of a text that is not a format.
func badParams(method, path, problem string) error {
	path, problem = clip(path), clip(problem) // both may quote the client
	e := fault.New(fault.Invalid, "server.decode", "%s: %s", method, problem)
	if path != "" {
		e = fault.New(fault.Invalid, "server.decode", "%s: %s %s", method, path, problem)
	}
	e.Data = map[string]any{"path": path}
	return e
}

// repetitionError is the error of a member that stands twice in one object of
// the parameters; at is a JSON pointer into them.
func repetitionError(method, at string) error {
	return badParams(method, dotPath(jsontext.Pointer(at)), "is given twice")
}

// Explain says what is wrong with a value that could not be decoded, and where in it:
// "input must be a string, not a number". name is what the value is called.
func Explain(name string, raw []byte, err error) string {
	path, problem := explain("", raw, err)
	if at := dotPath(path); at != "" {
		name += "." + at
	}
	return clip(name + " " + problem)
}

// Texts of the protocol package's own decoders (go.lsp.dev/protocol v1.0.1),
// which say where they stopped only in words.
var (
	atOffset   = regexp.MustCompile(`^protocol: invalid JSON (.+) at offset (\d+)$`)
	intoUnion  = regexp.MustCompile(`(?s)^cannot unmarshal (.*) into (\w+)$`)
	offsetless = regexp.MustCompile(`^protocol: invalid JSON (.+)$`)
)

// explain turns an error of decoding raw, the value at the pointer at, into the
// pointer of the value that does not fit and what it should be.
func explain(at jsontext.Pointer, raw []byte, err error) (where jsontext.Pointer, problem string) {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		at += e.JSONPointer
		if e.Err == nil {
			return at, "must be " + jsonOf(e.GoType) + ", not " + kindName(e.JSONKind)
		}
		if errors.Is(e.Err, strconv.ErrRange) || errors.Is(e.Err, strconv.ErrSyntax) {
			if errors.Is(e.Err, strconv.ErrRange) {
				return at, "is out of range"
			}
			return at, "must be " + jsonOf(e.GoType)
		}
		return explain(at, find(raw, e.JSONPointer), e.Err)
	}
	text := err.Error()
	if m := atOffset.FindStringSubmatch(text); m != nil {
		offset, _ := strconv.Atoi(m[2])
		return at + pointerAt(raw, offset), "must be " + article(m[1])
	}
	if m := intoUnion.FindStringSubmatch(text); m != nil {
		return at + pointerOf(raw, m[1]), "has a form that is not known here"
	}
	if m := offsetless.FindStringSubmatch(text); m != nil {
		return at, "must be " + article(m[1])
	}
	return at, text
}

// find returns the value at p in raw, or raw if there is none.
func find(raw []byte, p jsontext.Pointer) []byte {
	found := raw
	walk(raw, func(at jsontext.Pointer, _ int, value []byte) bool {
		if at == p {
			found = value
			return false
		}
		return true
	})
	return found
}

// pointerAt returns the pointer of the value that begins at or spans an offset
// of raw: the innermost one.
func pointerAt(raw []byte, offset int) jsontext.Pointer {
	var found jsontext.Pointer
	walk(raw, func(at jsontext.Pointer, begin int, value []byte) bool {
		if begin > offset {
			return false
		}
		if offset < begin+len(value) {
			found = at
		}
		return true
	})
	return found
}

// pointerOf returns the pointer of the first value in raw that is spelled so.
func pointerOf(raw []byte, value string) jsontext.Pointer {
	var found jsontext.Pointer
	walk(raw, func(at jsontext.Pointer, _ int, v []byte) bool {
		if string(v) == value {
			found = at
			return false
		}
		return true
	})
	return found
}

// maxWalk bounds the parameters in which a field is looked for, since the read
// loop does it; in larger ones the path ends earlier. So does maxDepth.
const (
	maxWalk  = 256 << 10 // bytes
	maxDepth = 32
)

// walk visits every value in raw, parents first, in order, until visit returns
// false. It is for the way of an error only: its cost is depth times size.
func walk(raw []byte, visit func(at jsontext.Pointer, begin int, value []byte) bool) {
	if len(raw) > maxWalk {
		return
	}
	var down func(at jsontext.Pointer, begin int, value []byte, depth int) bool
	down = func(at jsontext.Pointer, begin int, value []byte, depth int) bool {
		if !visit(at, begin, value) {
			return false
		}
		if kind := jsontext.Value(value).Kind(); depth > maxDepth || (kind != '{' && kind != '[') {
			return true
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowInvalidUTF8(true),
			jsontext.AllowDuplicateNames(true))
		object, _ := dec.ReadToken()
		for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
			if object.Kind() == '{' {
				if _, err := dec.ReadToken(); err != nil {
					return true
				}
			}
			v, err := dec.ReadValue()
			if err != nil {
				return true
			}
			end := int(dec.InputOffset())
			if !down(at+dec.StackPointer(), begin+end-len(v), value[end-len(v):end], depth+1) {
				return false
			}
		}
		return true
	}
	down("", 0, bytes.TrimSpace(raw), 0)
}

// dotPath spells a JSON pointer as a person would: /a/b/0 is a.b[0].
func dotPath(p jsontext.Pointer) string {
	var b strings.Builder
	for t := range p.Tokens() {
		switch {
		case number.MatchString(t):
			b.WriteString("[" + t + "]")
		case name.MatchString(t):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(t)
		default:
			b.WriteString("[" + strconv.Quote(t) + "]")
		}
	}
	return b.String()
}

var (
	number = regexp.MustCompile(`^[0-9]+$`)
	name   = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)
)

// jsonOf says what JSON a Go type is decoded from, without naming the type.
func jsonOf(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "of another type"
}

// kindName names what was sent instead.
func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "that"
}

// article puts the protocol package's word for a kind of value into a sentence.
func article(what string) string {
	switch {
	case what == "unsigned integer":
		return "a whole number that is not negative"
	case strings.HasPrefix(what, "boolean"):
		return "true or false"
	case strings.ContainsAny(what[:1], "aeio"):
		return "an " + what
	}
	return "a " + what
}
