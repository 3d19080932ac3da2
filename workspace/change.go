package workspace

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/fault"
)

// Opened says that the client opened a document and now owns its text. One that
// was open already is opened anew.
type Opened struct {
	URI        uri.URI
	LanguageID string
	Version    int32
	Text       string
}

// Edited says that the client changed the text of an open document: all content
// changes of one didChange, which are applied in order, or none (spec 2.1).
// Version must be larger than the document's.
type Edited struct {
	URI     uri.URI
	Version int32
	Edits   []Edit
}

// Saved says that the client wrote a document to disk. Text is what it wrote,
// where it says so; nil means the document's text.
type Saved struct {
	URI  uri.URI
	Text *string
}

// Closed says that the client gave a document back to the disk.
type Closed struct{ URI uri.URI }

// FoldersSet says which workspace folders there are now, in the client's order.
type FoldersSet struct{ Folders []Folder }

// Negotiated says in which unit the client counts characters. It comes before
// the first document.
type Negotiated struct{ Encoding Encoding }

// String returns what happened, for logs.
func (c Opened) String() string { return fmt.Sprintf("opened %s, version %d", c.URI, c.Version) }

// String returns what happened, for logs.
func (c Edited) String() string {
	return fmt.Sprintf("edited %s to version %d, %d edits", c.URI, c.Version, len(c.Edits))
}

// String returns what happened, for logs.
func (c Saved) String() string { return fmt.Sprintf("saved %s", c.URI) }

// String returns what happened, for logs.
func (c Closed) String() string { return fmt.Sprintf("closed %s", c.URI) }

// String returns what happened, for logs.
func (c FoldersSet) String() string { return fmt.Sprintf("set %d folders", len(c.Folders)) }

// String returns what happened, for logs.
func (c Negotiated) String() string { return "agreed on " + c.Encoding.String() }

// What is kept is cloned: strings of a decoded message share one copy of all of
// it, so a URI of a message of 10 MB would keep the 10 MB.

// An error is of kind fault.Invalid: no URI.
func (c Opened) apply(s *Snapshot) (*Snapshot, error) {
	if c.URI == "" {
		return nil, fault.New(fault.Invalid, "workspace.open", "a document without a URI cannot be opened")
	}
	text := strings.Clone(c.Text)
	u := uri.URI(strings.Clone(string(c.URI)))
	path := canonicalPath(u)
	return s.with(u, newDocument(Document{
		URI: u, LanguageID: strings.Clone(c.LanguageID), Version: c.Version, Text: text, path: path,
		// The file is compared when somebody first asks, and once for all versions that
		// edits make of this one.
		saved: text, written: sync.OnceValue(func() bool { return fileHas(path, text, true) }),
	})), nil
}

// apply makes the next version. An edit that cannot be applied leaves the
// document lost: see [Document.Lost].
func (c Edited) apply(s *Snapshot) (*Snapshot, error) {
	old, ok := s.Document(c.URI)
	if !ok {
		return nil, notOpen("workspace.edit", c.URI)
	}
	if len(c.Edits) == 0 && c.Version == old.Version {
		return s, nil // Neovim 0.7 tells a change that comes to nothing so, under the version before
	}
	text, err := c.text(old, s.encoding)
	if err != nil {
		// The text stays the one before the edit, so its digest and lines stay valid.
		lost := *old
		lost.Lost = true
		return s.with(old.URI, &lost), err
	}
	return s.with(old.URI, newDocument(Document{
		URI: old.URI, LanguageID: old.LanguageID, Version: c.Version, Text: text, path: old.path,
		saved: old.saved, written: old.written,
	})), nil
}

// text returns the text of old after the edits.
func (c Edited) text(old *Document, e Encoding) (string, error) {
	if c.Version <= old.Version {
		return "", fault.New(fault.Stale, "workspace.edit", "version %d of %s came after version %d",
			c.Version, c.URI, old.Version)
	}
	// A whole text as the first edit makes the document known again.
	if old.Lost && (len(c.Edits) == 0 || c.Edits[0].Range != nil) {
		return "", fault.New(fault.Stale, "workspace.edit", "an earlier edit of %s was refused; open the file again",
			c.URI)
	}
	text, err := ApplyEdits(old.Text, c.Edits, e)
	if err != nil {
		return "", fault.New(fault.KindOf(err), "workspace.edit", "version %d of %s: %w", c.Version, c.URI, err)
	}
	return text, nil
}

// apply notes what the file has now.
func (c Saved) apply(s *Snapshot) (*Snapshot, error) {
	old, ok := s.Document(c.URI)
	if !ok {
		return nil, notOpen("workspace.save", c.URI)
	}
	saved := old.Text
	if c.Text != nil && *c.Text != saved {
		saved = strings.Clone(*c.Text)
	}
	// A lost document stays lost: the client saved a text that is not known here.
	d := *old
	// The client says that the file has the text, so the disk is not read.
	d.saved, d.written = saved, func() bool { return true }
	return s.with(old.URI, newDocument(d)), nil
}

// apply takes the document out.
func (c Closed) apply(s *Snapshot) (*Snapshot, error) {
	if _, ok := s.Document(c.URI); !ok {
		return nil, notOpen("workspace.close", c.URI)
	}
	return s.with(c.URI, nil), nil
}

// apply replaces the folders. Documents stay open.
func (c FoldersSet) apply(s *Snapshot) (*Snapshot, error) {
	next := s.next()
	next.folders = slices.Clone(c.Folders)
	for i, f := range next.folders {
		next.folders[i].URI = uri.URI(strings.Clone(string(f.URI)))
		next.folders[i].Name = strings.Clone(f.Name)
	}
	return next, nil
}

// apply sets the encoding. With a document open it would change what its
// positions mean.
func (c Negotiated) apply(s *Snapshot) (*Snapshot, error) {
	if len(s.documents) > 0 {
		return nil, fault.New(fault.Misplaced, "workspace.negotiate",
			"the position encoding cannot change while documents are open")
	}
	next := s.next()
	next.encoding = c.Encoding
	return next, nil
}

// notOpen is the error of a document that the client has not opened, or has
// closed.
func notOpen(op string, u uri.URI) error {
	return fault.New(fault.NotFound, op, "%s is not open", u)
}
