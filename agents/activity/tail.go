package activity

import "sort"

// Sizes of the tail, in bytes.
const (
	blockMin   = 4 << 10   // the first block after a rest, so that an idle log is small
	blockMax   = 32 << 10  // the others; a longer line has a block of its own
	tailMax    = 128 << 10 // what is kept for readers although it is on disk
	unsafeMax  = 512 << 10 // what may be unsynced before a sync is started for it
	memoryMax  = 16 << 20  // what a log without a file keeps
	pointEvery = 32 << 10  // the distance of the index's points, at least
)

// block is a stretch of encoded lines. Bytes that were appended never change
// and never move, so readers may hold slices of buf.
type block struct {
	first uint64
	buf   []byte   // never grown past its capacity
	ends  []uint32 // where each line ends, after its line feed
}

func (b *block) last() uint64 { return b.first + uint64(len(b.ends)) - 1 }

// lines returns the bytes of the lines from..to, both in b.
func (b *block) lines(from, to uint64) []byte {
	start := uint32(0)
	if from > b.first {
		start = b.ends[from-b.first-1]
	}
	return b.buf[start:b.ends[to-b.first]]
}

// tail holds the newest lines of a log, without a gap. The log's lock guards
// it.
type tail struct {
	blocks []*block
	size   int // of the blocks' buffers
}

// first returns the first event that is held; 0 where none is.
func (t *tail) first() uint64 {
	if len(t.blocks) == 0 {
		return 0
	}
	return t.blocks[0].first
}

// add appends the line of an event.
// seq must follow the last one that is held. The lines before it stay where
// they are in memory.
func (t *tail) add(seq uint64, line []byte) {
	var b *block
	if n := len(t.blocks); n > 0 {
		b = t.blocks[n-1]
	}
	if b == nil || cap(b.buf)-len(b.buf) < len(line) {
		size := blockMin
		if b != nil {
			size = min(cap(b.buf)*4, blockMax)
		}
		size = max(size, len(line))
		b = &block{first: seq, buf: make([]byte, 0, size)}
		t.blocks = append(t.blocks, b)
		t.size += size
	}
	b.buf = append(b.buf, line...)
	b.ends = append(b.ends, uint32(len(b.buf)))
}

// at returns the index of the block that holds seq.
func (t *tail) at(seq uint64) int {
	return sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].last() >= seq })
}

// drop lets go of blocks from the oldest on, while more than keep bytes are
// held, of those whose events are all at or before done. The newest block goes
// only when nothing is to be kept.
//
// done is what is safe elsewhere: on stable storage, and announced. What is
// only written must stay, since a new segment would have to begin with it.
func (t *tail) drop(keep int, done uint64) {
	end := len(t.blocks)
	if keep > 0 {
		end--
	}
	n := 0
	for n < end && t.size > keep && t.blocks[n].last() <= done {
		t.size -= cap(t.blocks[n].buf)
		n++
	}
	if n == 0 {
		return
	}
	t.blocks = append([]*block(nil), t.blocks[n:]...)
}

// from returns a tail with the lines from seq on.
func (t *tail) from(seq uint64) tail {
	var out tail
	for _, b := range t.blocks {
		for at := max(seq, b.first); at <= b.last(); at++ {
			out.add(at, b.lines(at, at))
		}
	}
	return out
}
