package language

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// explain serves agents/explain: what an agent really gets, by its name, the URI of its
// file, or a text that is to take that file's place. Nothing runs, so an agent of a folder
// that is not trusted is explained as well. The errors are those of [Handlers.Find] and
// [Query.AnyFile].
func (h *Handlers) explain(ctx context.Context, s *workspace.Snapshot,
	p *wire.ExplainParams) (*wire.ExplainResult, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	explained := a.withReview
	if p.AsIfTrusted {
		explained = h.daemon.Agents.ExplainAsIfTrusted
	}
	if p.URI != "" {
		f, err := a.AnyFile(wire.MethodExplain, p.URI)
		if err != nil {
			return nil, err
		}
		if p.Text != "" {
			f = a.open(uri.URI(f.URI), f.Path, registry.Place{Scope: f.Scope, Folder: f.Folder}, p.Text)
			if !p.AsIfTrusted {
				explained = h.daemon.Agents.Explain // nobody reviews what is not there
			}
		}
		return a.encodeExplanation(explained(f.Definition, f.Text), f.Definition, f.Text), nil
	}
	e, err := h.Find(a.Catalog, p.Name)
	if err != nil {
		return nil, h.EncodeError(err)
	}
	text := a.textOf(e.Definition)
	return a.encodeExplanation(explained(e.Definition, text), e.Definition, text), nil
}

// encodeExplanation adds why the file of a definition cannot be read, if so: what an
// agent gets by default is not what it gets.
func (a *Query) encodeExplanation(e *explanation.Explanation, d *definition.Definition, text string) *wire.ExplainResult {
	result := &wire.ExplainResult{Explanation: *e}
	// These are the findings after which nothing of the front-matter is known.
	i := slices.IndexFunc(d.Problems, func(p definition.Problem) bool {
		return p.Code == "agent/yaml" || p.Code == "agent/yaml-feature" || p.Code == "agent/too-large"
	})
	if i >= 0 && d.FrontMatter() == nil {
		result.Unreadable = new(d.Problems[i])
		result.Unreadable.Range = a.Columns(text).Encode(d.Problems[i].Range)
	}
	return result
}

// textOf returns the text that a definition was read from, as the editor or the
// disk has it. "" where neither does any more, nor has what is built in one: lines
// of another text would be the wrong ones.
func (a *Query) textOf(d *definition.Definition) string {
	if doc, open := a.Snapshot.DocumentAt(d.Path); open && string(doc.Digest()) == d.Digest {
		return doc.Text
	}
	if text, ok := DiskText(d.Path); ok && string(workspace.DigestOf(text)) == d.Digest {
		return text
	}
	return ""
}

// withReview explains an agent, and says where its file waits for a review.
// It does not ask for reviews in a folder that is not trusted, whose agents cannot run anyway.
func (a *Query) withReview(d *definition.Definition, text string) *explanation.Explanation {
	e := a.h.daemon.Agents.Explain(d, text)
	if _, _, ok := a.place(d.Path); ok && e.Trusted && a.h.daemon.Agents.Reviewed != nil {
		if a.h.daemon.Agents.Reviewed(d) != nil {
			e.Refused = append(e.Refused,
				"it waits for your review: look at it and approve it with agentls trust "+d.Name)
		}
	}
	return e
}

// hoverLines is how much of an explanation a hover has.
const hoverLines = 24

// explaining gives a world what tells what agents really get. Each of these functions
// reads the agent's explanation when it is called first, so a world that nobody asks costs
// nothing.
func (a *Query) explaining(w *language.World) {
	w.Explain = func(d *definition.Definition) string { return authority.Markdown(a.explanationOf(d), hoverLines) }
	w.Offered = func(d *definition.Definition) []string { return a.explanationOf(d).ToolNames() }
	w.Worst = func(d *definition.Definition) string { return a.explanationOf(d).Worst.Text() }
	w.Last = func(d *definition.Definition) string {
		last, ok := a.h.daemon.Agents.Last(d)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s tok, %s", tool.Tokens(last.Tokens), took(last.Took))
	}
}

// took is a time in a few characters, as 3.1 s.
func took(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		return strings.TrimSuffix(text, "0s")
	}
	return text
}

// explanations are those of the files that were asked about last, by path.
type explanations struct {
	files memo[explainedState, *explanation.Explanation]
	bases memo[circumstances, *explanationBasis] // of open agent files
}

// circumstances are what an explanation depends on beside its file.
type circumstances struct {
	catalog    *registry.Snapshot // another one when trust changes, too
	generation uint64             // of the settings
}

// explainedState is one reading of a file, with what else an explanation depends on.
type explainedState struct {
	of *definition.Definition
	circumstances
}

// explanationBasis is what an edited file is compared with, to say where it gives more
// power.
type explanationBasis struct {
	text string
	// approved says that the person approved text; else it is what the disk has.
	approved bool
	// is is what text gives; nil where the file is not compared.
	is *explanation.Explanation
}

// circumstances returns what holds for this query.
// They can be compared: equal ones mean that an explanation of the same file holds.
func (a *Query) circumstances() circumstances { return circumstances{a.Catalog, a.generation()} }

// explanationOf returns what an agent gets, made once for each reading of its file.
func (a *Query) explanationOf(d *definition.Definition) *explanation.Explanation {
	return a.h.explanations.files.get(d.Path, explainedState{d, a.circumstances()},
		func() *explanation.Explanation { return a.withReview(d, a.textOf(d)) })
}

// basis returns what an open project's file is compared with: the text that the
// person approved, else that of the disk.
func (a *Query) basis(f *language.File) *explanationBasis {
	return a.h.explanations.bases.get(f.Path, a.circumstances(), func() *explanationBasis { return a.newBasis(f) })
}

// newBasis reads what basis keeps. Of a folder that is not trusted nothing is
// compared: nothing of it runs.
func (a *Query) newBasis(f *language.File) *explanationBasis {
	known := new(explanationBasis)
	if a.h.daemon.Trusted(f.Folder) {
		known.text, known.approved = a.approvedText(f)
		if !known.approved {
			known.text, _ = DiskText(f.Path)
		}
		// The older text is read as if it stood in the file's place, so that the two
		// explanations differ only by the text.
		path, place, _ := a.place(f.Path)
		before := a.open(uri.URI(f.URI), path, place, known.text)
		// What cannot be used gives no power to compare with.
		if ok, _ := before.Definition.Usable(); ok {
			known.is = a.h.daemon.Agents.Explain(before.Definition, known.text)
		}
	}
	return known
}

// approvedText returns the text of a file that the person approved, where it is known.
// It is false as well for a text that cannot be decoded, so that the disk's is compared.
func (a *Query) approvedText(f *language.File) (string, bool) {
	rel, ok := workspace.Below(f.Folder, f.Path)
	if !ok {
		return "", false
	}
	data, ok := a.h.ApprovedText(f.Folder, rel)
	if !ok {
		return "", false
	}
	text, err := workspace.DecodeText(data)
	if err != nil {
		return "", false
	}
	return text.Text, true
}

// grows is the code of what [Query.powerFindings] tells.
const grows = "agent/authority-grows"

// powerFindings says how an open agent file of a trusted folder gives more power
// than the text that the person approved, or else the disk's: a finding for each
// place in the file that does.
func (a *Query) powerFindings(f *language.File) []definition.Problem {
	if _, open := a.Snapshot.Document(uri.URI(f.URI)); !open || f.Scope != definition.Project || f.Folder == "" {
		return nil
	}
	if ok, _ := f.Definition.Usable(); !ok {
		return nil
	}
	basis := a.basis(f)
	if basis.is == nil || basis.text == f.Text {
		return nil
	}
	// Whether a run begins depends on more than the file: on the review, too. What
	// the file itself has against it is compared by itself.
	before, after := *basis.is, *a.explanationOf(f.Definition)
	before.Refused, after.Refused = nil, nil
	than := "as it is on the disk"
	if basis.approved {
		than = "as you approved it"
	}
	var list []definition.Problem
	lines := make(map[definition.Range][]string)
	for _, c := range authority.Compare(&before, &after).Lines {
		if !c.Grows {
			continue
		}
		at := rangeOfChange(f, c)
		if lines[at] == nil {
			list = append(list, definition.Problem{URI: f.URI, Code: grows, Severity: definition.Info, Range: at})
		}
		lines[at] = append(lines[at], c.Text())
	}
	for i := range list {
		list[i].Message = strings.Join(lines[list[i].Range], ", ") + ": more power than the file has " + than
	}
	slices.SortStableFunc(list, func(x, y definition.Problem) int {
		return int(x.Range.Start.Line) - int(y.Range.Start.Line)
	})
	return list
}

// rangeOfChange returns where a file has what a change of its power comes from: the
// entry of a list, the field, or else the agent's name.
// Power may also grow because a field was taken out; then there is no entry and no field
// to point at.
func rangeOfChange(f *language.File, c authority.Change) definition.Range {
	fields := strings.Split(c.Field, ".")
	if v := f.Tree.Find(fields...); v != nil && c.Name != "" {
		for _, item := range v.Strings() {
			canonical, _ := definition.CanonicalTool(item.Text)
			if item.Text == c.Name || canonical == c.Name {
				return f.Index.Range(item.Span)
			}
		}
	}
	for _, path := range [][]string{fields, fields[:1], {"name"}} {
		if at, ok := keySpan(f.Tree.Root, path); ok {
			return f.Index.Range(at)
		}
	}
	return f.Index.Range(f.Tree.Open)
}

// keySpan returns where the key of a field stands.
// v is the value that the path begins in, and may be nil. False is for a key that is not there.
func keySpan(v *definition.Value, path []string) (definition.Span, bool) {
	for i, name := range path {
		if v == nil {
			return definition.Span{}, false
		}
		at := slices.IndexFunc(v.Keys, func(k definition.Key) bool { return k.Name == name })
		if at < 0 {
			return definition.Span{}, false
		}
		if i == len(path)-1 {
			return v.Keys[at].Span, true
		}
		v = &v.Items[at]
	}
	return definition.Span{}, false
}
