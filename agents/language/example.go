package language

import (
	"slices"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/definition"
)

// maxExample is how long a sentence is that is kept as an example, in characters.
const maxExample = 500

// AddExample returns the edit that adds a sentence to the examples of an agent, by which
// inputs are routed to it (spec 5.1). It is false where the sentence is there already, and
// where the file cannot say it: one of another tool, or triggers written as a list.
// A sentence has at most 500 characters. The file says nothing else afterwards: that is
// checked.
func AddExample(f *File, sentence string) (Edit, bool) {
	tooLong := utf8.RuneCountInString(sentence) > maxExample
	if f.Tree.Root == nil || f.Definition.Dialect != definition.Agentls || sentence == "" || tooLong ||
		slices.Contains(f.Definition.Examples, sentence) {
		return Edit{}, false
	}
	at, text := f.exampleAt(definition.YAMLText(sentence))
	if text == "" {
		return Edit{}, false
	}
	src := f.source
	src.Data = []byte(f.Text[:at] + text + f.Text[at:])
	after := definition.Parse(src)
	// The examples are all that may be other than before.
	if definition.Worse(f.Definition, after) || !slices.Equal(after.Examples,
		append(slices.Clone(f.Definition.Examples), sentence)) {
		return Edit{}, false
	}
	return Edit{f.URI, f.Index.Range(definition.Span{Start: at, End: at}), text}, true
}

// exampleAt returns where an example is put in and the text for it, "" where that is not
// known.
// at is an offset of the text. example is written as YAML needs it.
func (f *File) exampleAt(example string) (at int, text string) {
	eol := lineEnding(f.Text, f.lineEnd(f.Tree.Open.Start), "\n")
	triggers := f.Tree.Root.Get("triggers")
	if triggers == nil {
		return f.Tree.Close.Start, "triggers:" + eol + "  examples: [" + example + "]" + eol
	}
	if triggers.Kind != definition.Mapping || len(triggers.Items) == 0 {
		return 0, ""
	}
	if list := triggers.Get("examples"); list != nil {
		return f.nextItem(list, eol, example)
	}
	last := triggers.Items[len(triggers.Items)-1]
	if f.Text[triggers.Start] == '{' {
		return last.End, ", examples: [" + example + "]"
	}
	return f.lineEnd(last.End), eol + f.lineBefore(triggers.Keys[0].Start) + "examples: [" + example + "]"
}

// nextItem returns where the next entry of a list is put in and the text for it.
// "" is returned for a value that is no list. An entry of lines gets the indentation and
// the dash of the one before.
func (f *File) nextItem(list *definition.Value, eol, item string) (at int, text string) {
	switch {
	case list.Kind != definition.List:
		return 0, ""
	case len(list.Items) == 0:
		return list.Start + 1, item
	case f.Text[list.Start] == '[':
		return list.Items[len(list.Items)-1].End, ", " + item
	}
	last := list.Items[len(list.Items)-1]
	return f.lineEnd(last.End), eol + f.lineBefore(last.Start) + item
}

// lineBefore returns what stands on a line before a place.
func (f *File) lineBefore(at int) string { return f.Text[lineStart(f.Text, at):at] }
