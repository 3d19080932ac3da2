package workspace

import (
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"go.lsp.dev/uri"
)

// A Snapshot is the workspace at one instant.
//
// It is immutable: every field is set before the snapshot is published and
// read-only ever after. A change makes a new snapshot that shares whatever the
// change did not touch. The zero Snapshot is the empty workspace.
type Snapshot struct {
	seq       uint64
	encoding  Encoding
	folders   []Folder
	documents map[uri.URI]*Document       // by canonical URI
	byPath    func() map[string]*Document // of documents, see [Document.path]; nil where there are none
}

// Seq is the snapshot's place in its workspace's history. The empty workspace
// is 0, and each change adds 1.
func (s *Snapshot) Seq() uint64 { return s.seq }

// Encoding is the unit in which the client counts characters.
func (s *Snapshot) Encoding() Encoding { return s.encoding }

// Folders returns the workspace folders in the client's order. The caller owns
// the slice.
func (s *Snapshot) Folders() []Folder { return slices.Clone(s.folders) }

// FirstFolder returns the canonical path of the workspace folder that is meant where none
// is named; "" where there is none.
func (s *Snapshot) FirstFolder() string {
	if len(s.folders) == 0 {
		return ""
	}
	return s.folders[0].Canonical
}

// Document returns the open document at u. Spellings of one URI ("@" and "%40")
// are the same document.
// false = it is not open.
func (s *Snapshot) Document(u uri.URI) (*Document, bool) {
	d, ok := s.documents[canonicalURI(u)]
	return d, ok
}

// DocumentAt returns the open document of the file at an absolute path. A path
// below the canonical path of a folder finds the document that the client opened
// below the folder's own path, which may lead there by a symbolic link; a
// canonical path finds the one that the client opened through any other. Of
// several it is one whose text was not saved, if there is one.
// The first question to a snapshot may read files, to tell which document of several is
// dirty.
func (s *Snapshot) DocumentAt(path string) (*Document, bool) {
	if d, ok := s.Document(uri.File(path)); ok {
		return d, true
	}
	for _, f := range s.folders {
		if f.Path == f.Canonical {
			continue
		}
		// Both ways, since the client may have opened the document by either path.
		for _, pair := range [][2]string{{f.Canonical, f.Path}, {f.Path, f.Canonical}} {
			if rel, ok := Below(pair[0], path); ok {
				if d, ok := s.Document(uri.File(filepath.Join(pair[1], rel))); ok {
					return d, true
				}
			}
		}
	}
	if s.byPath == nil {
		return nil, false
	}
	d, ok := s.byPath()[filepath.Clean(path)]
	return d, ok
}

// pathsOf returns documents by the paths of their files. Of several that are one
// file it is one whose text was not saved, if there is one, and the first by URI.
func pathsOf(documents map[uri.URI]*Document) map[string]*Document {
	byPath := make(map[string]*Document, len(documents))
	for _, d := range documents {
		if d.path == "" {
			continue
		}
		if other := byPath[d.path]; other == nil || (d.Dirty() && !other.Dirty()) ||
			(d.Dirty() == other.Dirty() && d.URI < other.URI) {
			byPath[d.path] = d
		}
	}
	return byPath
}

// canonicalPath returns the path of the file that u names, links resolved, ""
// for what is no file or cannot be followed.
func canonicalPath(u uri.URI) string {
	path, ok := FilePath(u)
	if !ok {
		return ""
	}
	path, err := Canonical(path)
	if err != nil {
		return ""
	}
	return path
}

// Documents yields every open document, in no particular order.
func (s *Snapshot) Documents() iter.Seq[*Document] { return maps.Values(s.documents) }

// Dirty returns the documents whose text was not saved, by URI.
// It may read a file of each document, once for each version.
func (s *Snapshot) Dirty() []*Document {
	var dirty []*Document
	for d := range s.Documents() {
		if d.Dirty() {
			dirty = append(dirty, d)
		}
	}
	slices.SortFunc(dirty, func(a, b *Document) int {
		switch {
		case a.URI < b.URI:
			return -1
		case a.URI > b.URI:
			return 1
		}
		return 0
	})
	return dirty
}

// next returns a copy of s that is the one after it.
// Maps and lists are shared with s, so the caller replaces them and changes none.
func (s *Snapshot) next() *Snapshot {
	n := *s
	n.seq++
	return &n
}

// with returns the snapshot after s in which u is d, or is closed if d is nil.
// The map of documents is copied as a whole.
func (s *Snapshot) with(u uri.URI, d *Document) *Snapshot {
	documents := maps.Clone(s.documents) // a client has tens of files open, not thousands
	if documents == nil {
		documents = make(map[uri.URI]*Document)
	}
	if key := canonicalURI(u); d == nil {
		delete(documents, key)
	} else {
		documents[key] = d
	}
	n := s.next()
	n.documents = documents
	// It may read files to tell which documents are dirty, so it waits until somebody
	// asks for a path.
	n.byPath = sync.OnceValue(func() map[string]*Document { return pathsOf(documents) })
	return n
}

// canonicalURI returns the one spelling of u under which documents are kept.
// A text that is no URI is its own spelling.
func canonicalURI(u uri.URI) uri.URI {
	if parsed, err := uri.Parse(string(u)); err == nil {
		return parsed
	}
	return u
}
