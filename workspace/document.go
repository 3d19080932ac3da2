package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"unsafe"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
)

// Digest is the SHA-256 of the content of a file or a document in hexadecimal
// digits. The zero Digest, "", stands for a file that is not there.
type Digest string

// DigestOf returns the digest of content.
func DigestOf[T string | []byte](content T) Digest {
	hash := sha256.New()
	for part := range 1 + len(content)/digestPart { // a string is copied to be hashed
		hash.Write([]byte(content[part*digestPart : min(len(content), (part+1)*digestPart)]))
	}
	sum := hash.Sum(nil)
	return Digest(hex.EncodeToString(sum))
}

// digestPart is how many bytes of a string are copied at a time.
const digestPart = 64 << 10

// A Document is one version of one open file. It is never modified.
// It is safe for concurrent use.
type Document struct {
	URI        uri.URI // as the client spells it, which is how it must be named to the client
	LanguageID string  // as the client says: "go", "markdown"
	Version    int32   // as the client counts; larger is newer, gaps are allowed
	Text       string

	// Lost says that an edit of the client's was refused: Text and Version are
	// as they were before it, and behind what the editor shows. Edits of ranges
	// are refused until the client sends the whole text or opens it again.
	Lost bool

	path    string      // of the file when it was opened, links resolved; "" for what is no file
	saved   string      // the text when it was opened or last saved
	written func() bool // reports whether saved is what the file had then
	dirty   func() bool
	digest  func() Digest
	lines   func() *Lines
}

// LostText is why a file is neither read nor written whose document is [Document.Lost]:
// what the editor shows is another text.
// The error has the reason [fault.OutOfDate].
func LostText(path string) error {
	return fault.New(fault.Stale, "workspace.lost",
		"the editor's text of %s is not known; ask the person to save it and to open it again",
		path).Because(fault.OutOfDate)
}

// newDocument completes d with what is computed from its text when it is
// first asked for.
// Copies of the document share what was computed, since the functions hold the text and
// not the document.
func newDocument(d Document) *Document {
	text, path, saved, written := d.Text, d.path, d.saved, d.written
	d.dirty = sync.OnceValue(func() bool {
		if text == saved {
			return !written()
		}
		return !fileHas(path, text, false) // an editor may have read the file again, which it does not tell
	})
	d.digest = sync.OnceValue(func() Digest { return DigestOf(text) })
	d.lines = sync.OnceValue(func() *Lines { return NewLines(text) })
	return &d
}

// Dirty reports whether the text was not saved: it differs from what was last
// saved, and from what its file has. An editor may open a document with a text that
// it restored, so the first text is compared with the file too. The file is read
// once for each version, when it is first asked for.
func (d *Document) Dirty() bool { return d.dirty() }

// maxCompared is the size in bytes of the largest file that a document is compared
// with; no tool reads a larger one.
const maxCompared = 16 << 20

// fileHas reports whether the file at an absolute path has a text, in whatever
// charset, with whatever line ends, and with or without the last of them: editors
// change these when they read a file. A file that does not exist has only the empty
// text. For what cannot be compared, or is no file, it returns otherwise.
func fileHas(path, text string, otherwise bool) bool {
	if path == "" {
		return otherwise
	}
	content, _, err := folder.ReadPlain(path, maxCompared)
	if errors.Is(err, fs.ErrNotExist) {
		return normalize(text) == ""
	}
	now, problem := DecodeText(content)
	if err != nil || problem != nil {
		return otherwise
	}
	return normalize(now.Text) == normalize(text)
}

// normalize returns text without what editors change when they read a file.
func normalize(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.TrimSuffix(text, "\n")
}

// SavedText returns the text as it was opened or last saved.
func (d *Document) SavedText() string { return d.saved }

// Digest returns the digest of Text. For a file that lies on disk as UTF-8
// without a byte order mark it is that of the file with the same text.
func (d *Document) Digest() Digest { return d.digest() }

// Lines returns the lines of Text. They are found once for each version.
func (d *Document) Lines() *Lines { return d.lines() }

// An Edit is one content change: the text that takes the place of a range, or,
// without a range, of everything.
// The range is about the text that the edits before it left, not the first one.
type Edit struct {
	Range *Range
	Text  string
}

// ApplyEdits returns text after edits, each of which is about the text that the
// one before it left (LSP 3.17, didChange). The result shares no memory with
// the edits. The error is [fault.Stale] for a line that is not there and
// [fault.Invalid] for a range that ends before it begins.
func ApplyEdits(text string, edits []Edit, e Encoding) (string, error) {
	if len(edits) == 0 {
		return text, nil
	}
	if len(edits) == 1 && edits[0].Range != nil {
		start, end, err := span(scanLines(text), *edits[0].Range, e)
		if err != nil {
			return "", err
		}
		// Not by "+": that returns one of them itself when the others are empty.
		var b strings.Builder
		b.Grow(start + len(edits[0].Text) + len(text) - end)
		b.WriteString(text[:start])
		b.WriteString(edits[0].Text)
		b.WriteString(text[end:])
		return b.String(), nil
	}
	// Many edits of one large text share a buffer: a copy of the text for each
	// would make a formatted file of 1 MB cost gigabytes.
	buffer := make([]byte, len(text), len(text)+len(text)/8+64)
	copy(buffer, text)
	lines := lineStarts{at: []int{0}, cr: strings.Contains(text, "\r")}
	for _, edit := range edits {
		lines.cr = lines.cr || strings.Contains(edit.Text, "\r")
		if edit.Range == nil {
			buffer = append(buffer[:0], edit.Text...)
			lines.forget(0)
			continue
		}
		// The view ends before the buffer changes again.
		view := unsafe.String(unsafe.SliceData(buffer), len(buffer))
		start, end, err := span(lines.scan(view, edit.Range.Start.Line), *edit.Range, e)
		if err != nil {
			return "", err
		}
		buffer = splice(buffer, start, end, edit.Text)
		lines.forget(edit.Range.Start.Line)
	}
	return string(buffer), nil
}

// splice replaces buffer[start:end] by text in place.
func splice(buffer []byte, start, end int, text string) []byte {
	length, tail := len(buffer), len(buffer)-end
	if grow := len(text) - (end - start); grow > 0 {
		buffer = append(buffer, text[:grow]...) // the bytes are overwritten below: only the length counts
	}
	copy(buffer[start+len(text):], buffer[end:length])
	copy(buffer[start:], text)
	return buffer[:start+len(text)+tail]
}

// span returns the bytes of a range in the text of a scanner, which is not behind the
// range's first line.
func span(s lineScanner, r Range, e Encoding) (start, end int, err error) {
	if start, err = s.offset(r.Start, e); err != nil {
		return 0, 0, err
	}
	// The scanner goes forward only. It can still find an end that lies in the line of
	// the start, not in one before.
	backwards := r.End.Line < r.Start.Line
	if !backwards {
		if end, err = s.offset(r.End, e); err != nil {
			return 0, 0, err
		}
	}
	if backwards || end < start {
		return 0, 0, fault.New(fault.Invalid, "workspace.edit", "the range %d:%d-%d:%d ends before it begins",
			r.Start.Line, r.Start.Character, r.End.Line, r.End.Character)
	}
	return start, end, nil
}
