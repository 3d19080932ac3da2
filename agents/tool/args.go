package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The limits of a call's arguments and of a tool's schema (SEC-104, SEC-124,
// SEC-125). More is refused before anything looks at it.
const (
	MaxArgs   = 1 << 20 // bytes of a call's arguments
	maxSchema = 256 << 10
	maxDepth  = 64     // of nesting
	maxNodes  = 20_000 // values in all
	maxNumber = 400    // characters of a number, and its exponent
)

// Schema checks the arguments of one tool's calls. It is compiled at the first
// check and safe for concurrent use; make one with [NewSchema].
//
// Compiling is put off because an agent has some thirty tools and a run calls a few of
// them.
type Schema struct {
	parameters json.RawMessage
	aliases    map[string]string
	compile    func() (*jsonschema.Schema, error)
}

// NewSchema returns the check of arguments by the JSON Schema parameters.
// aliases holds other spellings of its properties: other name → name. Both are
// kept and must not be changed. A schema that does not compile, or that refers
// to anything outside of itself, makes each Check fail.
//
// It does not fail and does not look at parameters; an MCP server's schema, which
// somebody else wrote, is only found wrong when a call is checked.
func NewSchema(parameters json.RawMessage, aliases map[string]string) *Schema {
	s := &Schema{parameters: parameters, aliases: aliases}
	s.compile = sync.OnceValues(s.build)
	return s
}

// nowhere refuses to load: a schema has no business outside of itself.
type nowhere struct{}

// Load returns an error.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, and nothing outside of it is loaded", url)
}

// build compiles the schema, once (sync.OnceValues).
func (s *Schema) build() (*jsonschema.Schema, error) {
	compiled, err := CompileSchema(s.parameters, false)
	if err != nil {
		return nil, fmt.Errorf("the schema of the tool's arguments: %w", err)
	}
	return compiled, nil
}

// CompileSchema returns a JSON Schema 2020-12 that values of [ParseJSON] can be checked
// against. formats has its formats count (email, uri, date-time …). One that refers to
// anything outside of itself does not compile.
// It may have 256 KiB, and is read as strictly as arguments are. The result may be
// used from any goroutine.
func CompileSchema(schema json.RawMessage, formats bool) (*jsonschema.Schema, error) {
	doc, err := parse(schema, maxSchema)
	if err != nil {
		return nil, err
	}
	const self = "https://agentls.invalid/arguments.json" // never fetched; relative references need a base
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if formats {
		c.AssertFormat()
	}
	// The library would compile a pattern twice wherever it stands. Values of the
	// format regex go through here too, at each check and from many goroutines:
	// they are not kept.
	patterns := make(map[string]jsonschema.Regexp)
	var done atomic.Bool
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		if done.Load() {
			return regexp.Compile(text)
		}
		if re, ok := patterns[text]; ok {
			return re, nil
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		patterns[text] = re
		return re, nil
	})
	if err := c.AddResource(self, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(self)
	done.Store(true)
	return compiled, err
}

// Check returns args in canonical form: other spellings of properties replaced,
// keys sorted, whole numbers of 64 bits as integers. Arguments that are no JSON
// object, that have a key twice, are too large (also in canonical form) or too
// deep, hold a number that is no float64 or is longer than any has to be, or do
// not fit the schema are an *Error CodeArgs; where it is the schema, it names
// each place as a JSON pointer. Nothing is converted to make them fit. Empty args
// and null are an empty object.
//
// An error that is no *Error is the schema's fault and not the model's: the tool
// cannot be called at all. args is not changed; the result is a new slice. Two calls
// with the same meaning have the same canonical form, which is what answers, digests
// and the loop detection go by.
func (s *Schema) Check(args json.RawMessage) (json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		args = json.RawMessage("{}")
	}
	value, err := parse(args, MaxArgs)
	if err != nil {
		return nil, Errorf(CodeArgs, "The arguments cannot be read: %v.", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, Errorf(CodeArgs, "The arguments must be a JSON object.")
	}
	if err := s.rename(object); err != nil {
		return nil, err
	}
	schema, err := s.compile()
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(object); err != nil {
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			return nil, fmt.Errorf("checking the arguments: %w", err)
		}
		return nil, Errorf(CodeArgs, "The arguments do not fit the tool:\n%s", strings.Join(complaints(invalid), "\n"))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, fmt.Errorf("writing the arguments: %w", err)
	}
	canonical := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if err := fits(canonical, MaxArgs); err != nil { // escapes and aliases make them longer
		return nil, Errorf(CodeArgs, "The arguments cannot be read: %v.", err)
	}
	return canonical, nil
}

// rename replaces other spellings of properties. A property that is given in
// two spellings is refused: either could be the one that is meant.
func (s *Schema) rename(object map[string]any) error {
	for other, name := range s.aliases {
		value, given := object[other]
		if !given {
			continue
		}
		if _, twice := object[name]; twice {
			return Errorf(CodeArgs, "The arguments do not fit the tool:\n/%s: given twice, as %s too", name,
				Name(other))
		}
		object[name] = value
		delete(object, other)
	}
	return nil
}

// complaints returns one line for each place where the arguments do not fit, in
// order, at most 20.
func complaints(e *jsonschema.ValidationError) []string {
	var lines []string
	var collect func(u *jsonschema.OutputUnit)
	collect = func(u *jsonschema.OutputUnit) {
		if u.Error != nil && len(u.Errors) == 0 {
			at := u.InstanceLocation
			if at == "" {
				at = "/"
			}
			why, _ := CutTo(Escape(u.Error.String()), 300)
			lines = append(lines, Escape(at)+": "+why)
		}
		for i := range u.Errors {
			collect(&u.Errors[i])
		}
	}
	collect(e.DetailedOutput())
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) > 20 {
		lines = append(lines[:20], fmt.Sprintf("… and %d more", len(lines)-20))
	}
	return lines
}

// ParseJSON reads one JSON value as strictly as arguments of calls are read.
// Objects are map[string]any, arrays []any, numbers json.Number. The error says what
// is wrong, beginning with "they" or "the", as of arguments.
func ParseJSON(data []byte) (any, error) { return parse(data, MaxArgs) }

// parse reads one JSON value of at most limit bytes. It refuses what
// encoding/json would forgive: keys given twice, deep nesting, what follows the
// value, and bytes that are no UTF-8.
func parse(data []byte, limit int) (any, error) {
	if err := fits(data, limit); err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, errors.New("they are not UTF-8")
	}
	p := parser{dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return value, nil
}

// fits returns an error where data have more bytes than limit.
func fits(data []byte, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("they have %d bytes, more than the %d that are taken", len(data), limit)
	}
	return nil
}

// parser reads one value and counts what it has seen, so that the bounds hold over the
// whole value.
type parser struct {
	dec   *json.Decoder
	nodes int
}

// value reads one value at a depth.
// The bounds on nodes and depth come first, since the text is a model's: what is
// refused must cost little.
func (p *parser) value(depth int) (any, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, fmt.Errorf("they hold more than %d values", maxNodes)
	}
	token, err := p.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	switch token := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return nil, fmt.Errorf("they are nested deeper than %d", maxDepth)
		}
		if token == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case json.Number:
		return number(string(token))
	}
	return token, nil
}

// object reads the rest of an object, whose brace was read.
// A key that is there twice is refused: what a person is shown and what a tool reads
// could differ.
func (p *parser) object(depth int) (any, error) {
	object := make(map[string]any)
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return nil, fmt.Errorf("no JSON: %w", err)
		}
		key, ok := token.(string)
		if !ok {
			return nil, errors.New("no JSON: a key is not a string")
		}
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("the key %q is given twice", key)
		}
		if object[key], err = p.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := p.dec.Token()
	return object, err
}

// array reads the rest of an array, whose bracket was read.
func (p *parser) array(depth int) (any, error) {
	array := []any{}
	for p.dec.More() {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := p.dec.Token()
	return array, err
}

// number returns a JSON number as it is, but whole numbers of 64 bits without
// fraction and exponent: a model's 10.0 is an integer to JSON Schema, and has to
// be one to Go. One that no float64 holds or that is longer than maxNumber is an
// error: checks reckon exactly, with as many digits as the number stands for.
func number(n string) (json.Number, error) {
	if len(n) > maxNumber {
		return "", fmt.Errorf("the number %s… has %d characters, more than the %d that are taken",
			n[:20], len(n), maxNumber)
	}
	digits, exponent := n, 0
	if at := strings.IndexAny(n, "eE"); at >= 0 {
		var err error
		digits = n[:at]
		if exponent, err = strconv.Atoi(n[at+1:]); err != nil || exponent < -maxNumber || exponent > maxNumber {
			shown, _ := CutLine(n, 20)
			return "", fmt.Errorf("the number %s has an exponent beyond %d", shown, maxNumber)
		}
	}
	if _, err := strconv.ParseFloat(n, 64); err != nil {
		shown, _ := CutLine(n, 20)
		return "", fmt.Errorf("the number %s is larger than numbers can be", shown)
	}
	if digits == n && !strings.Contains(n, ".") {
		return json.Number(n), nil
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	sign := strings.HasPrefix(whole, "-")
	all := strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0")
	shown := strings.TrimRight(all, "0")
	zeros := exponent - len(fraction) + len(all) - len(shown) // behind shown
	switch {
	case shown == "":
		return "0", nil
	case zeros < 0 || len(shown)+zeros > len("9223372036854775807"):
		return json.Number(n), nil
	}
	if shown += strings.Repeat("0", zeros); sign {
		shown = "-" + shown
	}
	if _, err := strconv.ParseInt(shown, 10, 64); err != nil {
		return json.Number(n), nil
	}
	return json.Number(shown), nil
}
