package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// page writes docs/protocol.md.
type page struct {
	*surface
	strings.Builder
	anchors map[string]string // heading of each anchor, so that none is taken twice
	err     error
}

// markdown returns docs/protocol.md.
func (s *surface) markdown() ([]byte, error) {
	p := &page{surface: s, anchors: make(map[string]string)}
	p.intro()
	p.negotiation()
	p.lspMethods()
	for _, f := range s.families {
		p.family(f)
	}
	p.commandTable()
	p.eventList()
	p.typeList()
	p.errors()
	return []byte(strings.TrimRight(p.String(), "\n") + "\n"), p.err
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// heading writes a heading and notes its anchor.
func (p *page) heading(level int, text string) {
	a := anchor(text)
	if have, taken := p.anchors[a]; taken && p.err == nil {
		p.err = fmt.Errorf("the headings %q and %q would have one anchor", have, text)
	}
	p.anchors[a] = text
	p.line("%s %s\n", strings.Repeat("#", level), text)
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchor returns the fragment that a heading gets.
func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func link(name string) string { return "[" + name + "](#" + anchor(name) + ")" }

func (p *page) intro() {
	p.heading(1, "The daemon's own part of the protocol")
	p.line(`<!-- Written by "go run ./internal/cmd/protocoldoc" from the Go source. Do not edit. -->

The daemon speaks the Language Server Protocol: its framing, its life cycle, its rules of order. What LSP does not have is the methods whose names begin with ` + "`agents/`" + `, the commands of ` + "`workspace/executeCommand`" + ` that begin with ` + "`agentls.`" + `, and one object in the capabilities of both sides. This page is all of that; [protocol.schema.json](protocol.schema.json) is the same as JSON Schema.

Names of members are matched by case. Times are RFC 3339 with milliseconds, durations integer milliseconds, URIs as LSP has them. Absent means unknown or none, and unknown members are to be ignored: members may be added within a version, never renamed. An id of a request is a string or an integer of at most 64 KiB; a longer one is answered with the id null. Positions in ranges count from 0 in the negotiated encoding.
`)
}

func (p *page) negotiation() {
	p.heading(2, "Negotiation")
	p.line("A client says what it can do in `capabilities.experimental.agents` of `initialize`, or in `initializationOptions.agents` where it cannot set the former. The daemon answers in `capabilities.experimental.agents`; what is not built is not advertised. A client that says nothing knows only LSP, and gets what stands under *Without it* below. This is version %s. A client that can do everything says:\n\n```json\n%s\n```\n", p.version, example)
	for _, o := range offered {
		p.heading(3, "`"+o.name+"`")
		p.line("%s:\n", o.title)
		p.definition(p.types.defs[o.name])
	}
}

func (p *page) lspMethods() {
	p.heading(2, "Methods of LSP")
	p.line("What the daemon serves of LSP itself.\n\n| method | kind | here |\n|---|---|---|")
	for _, name := range p.lsp {
		m := standard[name]
		p.line("| `%s` | %s | %s |", m.method, m.kind, m.purpose)
	}
	p.line("")
}

// family writes the methods that go one way.
func (p *page) family(f family) {
	p.heading(2, f.title)
	request := strings.HasPrefix(f.title, "Request")
	p.line("| method | what | needs |\n|---|---|---|")
	for _, m := range f.methods {
		p.line("| [`%s`](#%s) | %s | %s |", m.name, anchor(m.name),
			cell(withoutName(m.constant, m.doc)), cell(short(m.needs)))
	}
	p.line("")
	for _, m := range f.methods {
		p.heading(3, "`"+m.name+"`")
		p.line("It %s\n", paragraph(withoutName(m.constant, m.doc)))
		p.line("- Direction: %s", direction(f.title))
		p.line("- Needs: %s", capability(m.needs))
		p.line("- Without it: %s\n", m.without)
		p.line("**Params**: %s\n", typeDoc(p.types.defs[m.params]))
		p.members(p.types.defs[m.params])
		if !request {
			continue
		}
		if len(m.results) == 0 {
			p.line("**Result**: an empty object.\n")
		}
		for i, name := range m.results {
			when := ""
			if i < len(m.when) {
				when = " " + m.when[i]
			}
			d := p.types.defs[name]
			if p.anchors[anchor(name)] != "" { // another method has the same result
				p.line("**Result**%s: %s\n", when, link(name))
				continue
			}
			p.heading(4, "`"+name+"`")
			p.line("**Result**%s: %s\n", when, typeDoc(d))
			p.members(d)
		}
	}
}

func direction(title string) string {
	what, way, _ := strings.Cut(title, " ")
	return strings.ToLower(strings.TrimSuffix(what, "s")) + " " + way
}

// short is capability for a table.
func short(needs string) string {
	if needs == "" {
		return "–"
	}
	return needs
}

// capability says what a method needs of the client.
func capability(needs string) string {
	if needs == "" {
		return anyClient
	}
	return needs
}

func (p *page) commandTable() {
	p.heading(2, "Commands")
	p.line("Commands of `workspace/executeCommand`, for a client that knows only LSP. Each works without arguments too.\n\n| command | what | result |\n|---|---|---|")
	for _, c := range p.commands {
		i := slices.IndexFunc(commands, func(known command) bool { return known.constant == c.name })
		p.line("| `%s` | %s | %s |", c.value, cell(withoutName(c.name, c.doc)), cell(commands[i].result))
	}
	p.line("")
}

func (p *page) eventList() {
	p.heading(2, "Events")
	p.line("What `data` of [`agents/activity`](#%s) is, by `type`. A type that is not here is from a newer daemon: leave it out. Where `activity` has gemini-cli's name for an event, `data` has gemini-cli's members besides: `output` in a `tool.state` that ended, `error` and `context` in an `error`.\n", anchor("agents/activity"))
	p.line("| type | what |\n|---|---|")
	for _, e := range p.events {
		p.line("| [`%s`](#%s) | %s |", e.name, anchor(e.name), cell(withoutName(e.def, p.types.defs[e.def].doc)))
	}
	p.line("")
	for _, e := range p.events {
		p.heading(3, "`"+e.name+"`")
		d := p.types.defs[e.def]
		p.line("%s\n", typeDoc(d))
		p.members(d)
	}
}

// typeList writes the types that no method or event has shown yet.
func (p *page) typeList() {
	shown := slices.Clone(p.negotiat)
	for _, f := range p.families {
		for _, m := range f.methods {
			shown = append(append(shown, m.results...), m.params)
		}
	}
	for _, e := range p.events {
		shown = append(shown, e.def)
	}
	p.heading(2, "Types")
	for _, name := range p.types.names() {
		if slices.Contains(shown, name) {
			continue
		}
		p.heading(3, "`"+name+"`")
		p.definition(p.types.defs[name])
	}
}

// definition writes what a type is.
func (p *page) definition(d *namedType) {
	p.line("%s\n", typeDoc(d))
	switch {
	case d.either != nil:
		var forms []string
		for _, f := range d.either {
			forms = append(forms, p.typeName(f))
		}
		p.line("One of: %s.\n", strings.Join(forms, ", "))
	case d.values != nil:
		p.line("| value | what |\n|---|---|")
		for _, c := range d.values {
			p.line("| `%s` | %s |", c.value, cell(c.doc))
		}
		p.line("")
	case d.other != nil:
		p.line("On the wire: %s.\n", p.typeName(*d.other))
	default:
		p.members(d)
	}
}

// members writes the table of an object's members.
func (p *page) members(d *namedType) {
	if d == nil {
		return
	}
	if len(d.members) == 0 {
		p.line("No members.\n")
		return
	}
	p.line("| member | type | required | what |\n|---|---|---|---|")
	for _, m := range d.members {
		p.line("| `%s` | %s | %s | %s |", m.name, p.typeName(m.typ), yes(m.required), cell(onTheWire(m.doc, d.members)))
	}
	p.line("")
}

// typeName returns a type as tables show it.
func (p *page) typeName(t shape) string {
	name := ""
	switch t.kind {
	case isAny:
		name = "any"
	case isString, isInteger, isNumber, isBoolean:
		name = string(t.kind)
	case isCount:
		name = "integer ≥ 0"
	case isBytes:
		name = "string (base64)"
	case isList:
		name = p.typeName(*t.elem) + "[]"
	case isMap:
		name = "object"
		if t.elem.kind != isAny {
			name = "object of " + p.typeName(*t.elem)
		}
	case isNamed:
		name = p.typeLink(t.name)
	}
	if t.null {
		name += " or null"
	}
	return name
}

// typeLink links to where a type's members stand: an event's type has the
// event's heading, parameters that of their method.
func (p *page) typeLink(name string) string {
	for _, e := range p.events {
		if e.def == name {
			return "[" + name + "](#" + anchor(e.name) + ")"
		}
	}
	for _, f := range p.families {
		for _, m := range f.methods {
			if m.params == name {
				return "[" + name + "](#" + anchor(m.name) + ")"
			}
		}
	}
	return link(name)
}

func (p *page) errors() {
	p.heading(2, "Errors")
	p.line("`error.data` has `kind` and `retryable` (asking the same again may succeed); `error.message` is a sentence for a person: what happened, and what to do. `data.kind` is the reason where the failure has one, else the kind. With -32602, `data.path` is the offending member.\n")
	p.line("| kind | code | retryable | what |\n|---|---|---|---|")
	for _, k := range p.kinds {
		p.line("| `%s` | %d | %s | %s |", k.name, k.code, yes(k.retry), cell(k.doc))
	}
	p.line("\nThe reasons. Their code is %d whatever the kind, but for `internal`: the one of that kind.\n",
		codes["requestFailed"])
	p.line("| reason | more |\n|---|---|")
	for _, r := range p.reasons {
		more := cell(r.doc)
		if r.retry {
			more = strings.TrimPrefix(more+"; retryable", "; ")
		}
		p.line("| `%s` | %s |", r.name, more)
	}
	p.line("")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// typeDoc returns a type's comment, with the names that its members have on the
// wire.
func typeDoc(d *namedType) string {
	if d == nil {
		return "none."
	}
	if rest, ok := strings.CutPrefix(d.doc, d.name+" "); ok {
		return "`" + d.name + "` " + paragraph(onTheWire(rest, d.members))
	}
	return "`" + d.name + "`. " + paragraph(onTheWire(d.doc, d.members))
}

var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// onTheWire returns a comment in which fields have the names of their members.
// Initialisms stay: a URI is more often the thing than the field.
func onTheWire(doc string, members []member) string {
	return word.ReplaceAllStringFunc(doc, func(w string) string {
		for _, m := range members {
			if w == m.field && w != strings.ToUpper(w) && w != "URIs" {
				return "`" + m.name + "`"
			}
		}
		return w
	})
}

// withoutName cuts the name from the first words of its comment, and "is",
// "says" and "says that" after it.
func withoutName(name, doc string) string {
	rest, ok := strings.CutPrefix(doc, name+" ")
	if !ok || strings.HasPrefix(name, "Method") {
		return rest
	}
	for _, verb := range []string{"is ", "says that ", "says "} {
		if after, ok := strings.CutPrefix(rest, verb); ok {
			return after
		}
	}
	return rest
}

var (
	// Numbers of the specification say nothing to who reads only this page.
	inBrackets = regexp.MustCompile(` \((see )?spec [0-9][^)]*\)`)
	inText     = regexp.MustCompile(` (of|in) spec [0-9.]+|, as spec [0-9.]+ lists them`)
	goLink     = regexp.MustCompile(`\*?\[([A-Za-z.]+)\]([^(]|$)`) // no link of Markdown
	spaces     = regexp.MustCompile(`\s+`)
)

// paragraph returns a comment as one line of Markdown.
func paragraph(doc string) string {
	doc = spaces.ReplaceAllString(strings.TrimSpace(doc), " ")
	doc = inBrackets.ReplaceAllString(doc, "")
	doc = inText.ReplaceAllString(doc, "")
	return goLink.ReplaceAllString(doc, "`$1`$2")
}

// cell returns a comment as a cell of a table.
func cell(doc string) string {
	return strings.TrimSuffix(strings.ReplaceAll(paragraph(doc), "|", `\|`), ".")
}
