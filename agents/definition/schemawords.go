package definition

// What is wrong with a JSON Schema, in our words.

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	faults "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaFault says what is wrong with a schema and what to do, as a clause.
//
// The library's own texts name its URL of the schema and are not for people.
func schemaFault(err error) string {
	if regex, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return fmt.Sprintf("the pattern %s does not compile; patterns have RE2's syntax", regex.Regex)
	}
	if twice, ok := errors.AsType[*jsonschema.DuplicateAnchorError](err); ok {
		return fmt.Sprintf("the anchor %s is there twice; rename one", twice.Anchor)
	}
	if found, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		_, pointer, _ := strings.Cut(found.URL, "#")
		return fmt.Sprintf("a $ref leads to #%s, which is not there; correct it, or add that", pointer)
	}
	if found, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		_, anchor, _ := strings.Cut(found.URL, "#")
		return fmt.Sprintf("a $ref leads to #%s, which is not there; correct it, or add that", anchor)
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if cause, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return fmt.Sprintf("%s %s", cmp.Or(strings.Join(placeOf(cause), "/"), "it"), worst(cause))
		}
	}
	return "it cannot be compiled; write it in a simpler form"
}

// deepest is the first cause of a fault that has no cause of its own.
func deepest(cause *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(cause.Causes) > 0 {
		cause = cause.Causes[0]
	}
	return cause
}

// placeOf is where in a schema a fault is.
func placeOf(cause *jsonschema.ValidationError) []string { return deepest(cause).InstanceLocation }

// worst says what is wrong there.
// It is the end of a sentence whose beginning names the place.
func worst(cause *jsonschema.ValidationError) string {
	switch k := deepest(cause).ErrorKind.(type) {
	case *faults.Type:
		return "must be " + either(k.Want, schemaTypes)
	case *faults.Enum:
		names := make([]string, 0, len(k.Want))
		for _, v := range k.Want {
			names = append(names, fmt.Sprint(v))
		}
		return "must be " + either(names, nil)
	case *faults.Minimum, *faults.ExclusiveMinimum, *faults.Maximum, *faults.ExclusiveMaximum:
		return "is out of range; correct the number"
	case *faults.UniqueItems:
		return "has an entry twice; remove one"
	case *faults.MinItems, *faults.MinLength:
		return "is too short; add what is missing"
	case *faults.Format, *faults.Pattern:
		return "is not written as it must be; correct it"
	}
	return "is not what a JSON Schema has there; correct or remove it"
}

// schemaTypes has the words of messages for JSON Schema's types.
var schemaTypes = map[string]string{
	"object": "an object", "array": "a list", "string": "a string", "number": "a number", "integer": "a whole number",
	"boolean": "a boolean", "null": "empty",
}

// either joins names with commas and or.
func either(names []string, words map[string]string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(cmp.Or(words[name], name))
	}
	return b.String()
}
