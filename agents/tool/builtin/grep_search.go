package builtin

// The built-in engine of grep.

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sourcegraph/conc"
)

// search walks and searches with all processors, and returns the files that
// matched in no particular order.
// It ends early, and reports partial, when ctx ends, the walk meets one of its
// bounds, or there are maxHits matches. A file that cannot be read has none.
// The walk feeds a channel and each worker reads from it until it is closed. Workers drain
// what is left after the end of ctx, since the walk would otherwise wait for ever at a
// full channel.
func (q *query) search(ctx context.Context) (found []hits, partial bool) {
	if q.isFile {
		if !q.wanted(q.start) {
			return nil, false
		}
		if lines, err := q.file(q.dir, q.start); err == nil && len(lines) > 0 {
			found = append(found, hits{q.start, lines})
		}
		return found, false
	}
	var mu sync.Mutex
	var count atomic.Int64
	paths := make(chan string, 256)
	var workers conc.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			// The walk goes folder by folder, so a worker often gets files of the folder it has open.
			in := nearby{dir: q.dir}
			defer in.close()
			for rel := range paths {
				if ctx.Err() != nil || count.Load() >= maxHits {
					continue // the walk ends too; what is in the channel is drained
				}
				lines, err := q.file(in.of(rel), rel)
				if err != nil || len(lines) == 0 {
					continue
				}
				h := hits{rel, lines}
				count.Add(int64(h.count()))
				mu.Lock()
				found = append(found, h)
				mu.Unlock()
			}
		})
	}
	w := &walker{ctx: ctx, dir: q.dir, hidden: q.hidden}
	w.visit = func(rel string) bool {
		if q.wanted(rel) {
			paths <- rel
		}
		return count.Load() < maxHits
	}
	w.walk(q.start)
	close(paths)
	workers.Wait()
	return found, w.partial || ctx.Err() != nil || count.Load() >= maxHits
}

// nearby opens files through the folder that they lie in, which it keeps open
// for the next: half of what a search costs is the way down from the root.
//
// Each worker has its own: it is not safe for concurrent use.
type nearby struct {
	dir  *opened // the root
	name string  // of the folder that is open, relative to the root
	last *opened // nil if none is
}

// of returns the handle of the folder that holds rel; where that cannot be
// opened, the root's.
func (n *nearby) of(rel string) *opened {
	folder := path.Dir(rel)
	if folder == "." {
		return n.dir
	}
	if n.last == nil || n.name != folder {
		n.close()
		in, err := n.dir.sub(filepath.FromSlash(folder))
		if err != nil {
			return n.dir
		}
		n.name, n.last = folder, in
	}
	return n.last
}

// close closes the folder that is kept open.
func (n *nearby) close() {
	if n.last != nil {
		n.last.close()
		n.last = nil
	}
}

// file searches one file, which is opened through dir.
func (q *query) file(dir *opened, rel string) ([]line, error) {
	data, info, err := dir.file(filepath.Join(q.dir.folder, filepath.FromSlash(rel)), maxSearched)
	if err != nil {
		return nil, err
	}
	text, ok := decode(data)
	if !ok {
		return nil, nil
	}
	// The match first: secrets are looked for only in files that would be shown.
	found := q.match(text)
	if len(found) > 0 && q.secret(rel, info, text) {
		return nil, nil
	}
	return found, nil
}

// decode returns the text of a file as ripgrep sees it: UTF-16 by its mark,
// without a mark, and not at all if it holds a NUL.
func decode(data []byte) (string, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		if bytes.IndexByte(data, 0) >= 0 {
			return "", false
		}
		return string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), true
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	text := string(utf16.Decode(units))
	// In UTF-16 half of the bytes may be zero, so a NUL is looked for in what they mean.
	return text, !strings.ContainsRune(text, 0)
}

// match returns the lines of a text that match, with their neighbours.
// A text of one line feed after the other has no last empty line. It stops
// at maxHits matches, however many lines stand around them, and with the search's time.
func (q *query) match(text string) []line {
	if !q.needs.in(text) {
		return nil
	}
	var out []line
	next := 0    // offset of what is not looked at yet
	number := 1  // of the line at next
	written := 0 // the last line in out
	after := 0   // lines of context still to come
	matched := 0
	emit := func(n int, s string, hit bool) { out, written = append(out, line{n, s, hit}), n }
	for next < len(text) && q.ctx.Err() == nil {
		if piece := firstLines(text[next:]); q.whole != nil && after == 0 && piece != "" {
			// Lines without a match are passed over as a whole.
			at := q.whole.FindStringIndex(piece)
			if at == nil {
				number += strings.Count(piece, "\n")
				next += len(piece)
				continue
			}
			if jump := strings.LastIndexByte(text[next:next+at[0]], '\n') + 1; jump > 0 {
				number += strings.Count(text[next:next+jump], "\n")
				next += jump
			}
			if next >= len(text) {
				return out // a match of nothing behind the last line
			}
		}
		end := strings.IndexByte(text[next:], '\n')
		rest := len(text)
		if end >= 0 {
			end, rest = next+end, next+end+1
		} else {
			end = len(text)
		}
		// re decides, line by line: whole may match beyond the end of a line.
		s := text[next:end]
		switch {
		// Context that was written for the match before is not written again.
		case q.matches(s):
			for _, b := range before(text, next, number, q.context) {
				if b.number > written {
					emit(b.number, b.text, false)
				}
			}
			emit(number, s, true)
			after = q.context
			matched++
		case after > 0:
			emit(number, s, false)
			after--
		}
		if matched == maxHits {
			return out
		}
		next, number = rest, number+1
	}
	return out
}

// longLine is how many bytes are asked about at once: an expression such as .{0,200}x takes
// some microseconds for each.
const longLine = 64 << 10

// firstLines returns the lines that a text begins with, of longLine bytes at most; "" where
// the first one is longer.
func firstLines(text string) string {
	if len(text) <= longLine {
		return text
	}
	return text[:strings.LastIndexByte(text[:longLine], '\n')+1]
}

// matches reports whether a line matches. The search's time ends it in a long one as well.
func (q *query) matches(line string) bool {
	if _, plain := q.re.LiteralPrefix(); plain || len(line) <= longLine {
		return q.re.MatchString(line)
	}
	return q.re.MatchReader(&timedReader{strings.NewReader(line), q.ctx, 0}) && q.ctx.Err() == nil
}

// timedReader ends with a context.
type timedReader struct {
	*strings.Reader
	ctx  context.Context
	read int
}

// ReadRune implements [io.RuneReader].
func (r *timedReader) ReadRune() (rune, int, error) {
	if r.read++; r.read%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}

// before returns up to n lines that stand before the one at offset.
func before(text string, offset, number, n int) []line {
	var out []line
	for ; n > 0 && offset > 0; n-- {
		end := offset - 1
		start := strings.LastIndexByte(text[:end], '\n') + 1
		number--
		out = append([]line{{number, text[start:end], false}}, out...)
		offset = start
	}
	return out
}

// valid returns s with what is no UTF-8 replaced.
func valid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }
