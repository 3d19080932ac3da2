package activity

import (
	"bufio"
	"cmp"
	"strconv"
)

// Replay tells fold the events up to until once more, as Open would tell them:
// every one but deltas, in order, also those that are not announced yet. A log in
// memory tells those that it still has. The error is fault.Unavailable: the log
// cannot be read.
//
// It runs on the caller's goroutine, without the log's lock, and takes as long as
// reading the file does. A rewind uses it to fold the contexts anew.
func (l *Log) Replay(until uint64, fold func(Event)) error {
	o := opener{log: &Log{cfg: Config{Session: l.cfg.Session, Log: l.cfg.Log, Fold: fold}}}
	return l.lines(until, o.fold)
}

// lines tells fn the entries up to until, as their lines have them.
func (l *Log) lines(until uint64, fn func(Entry)) error {
	for f := (&Follower{log: l, raw: true}); ; {
		batch, _, _ := f.take(false)
		if f.err != nil || len(batch) == 0 {
			return f.err
		}
		for _, e := range batch {
			if e.Seq > until {
				return nil
			}
			fn(e)
		}
	}
}

// Names tells fn the names of blobs that the log's events may refer to. The error
// is that of Replay.
func (l *Log) Names(fn func(sha string)) error {
	return l.lines(l.Last(), func(e Entry) {
		for sha := range Digests(e.rest) {
			fn(sha)
		}
	})
}

// line returns the whole line of an entry, with checksum and line feed.
func (e Entry) line(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	if e.FromSeq < e.Seq {
		dst = append(dst, `,"fromSeq":`...)
		dst = strconv.AppendUint(dst, e.FromSeq, 10)
	}
	dst = append(dst, ',')
	dst = append(dst, e.rest...)
	return seal(dst, start)
}

// copyEvents takes the events of [Config.Copy] into a log that is begun; put keeps
// each of them.
func (o *opener) copyEvents(put func(Entry) error) error {
	var failed error
	err := o.log.cfg.Copy.Of.lines(o.log.cfg.Copy.Until, func(e Entry) {
		if failed == nil {
			failed = put(e)
		}
		if failed == nil {
			o.log.last = e.Seq
			o.fold(e)
		}
	})
	return cmp.Or(failed, err)
}

// copy writes the events of [Config.Copy] into a segment that is begun.
func (o *opener) copy(s *segment) error {
	l := o.log
	out := bufio.NewWriterSize(onlyWriter{s.file}, 256<<10)
	var line []byte
	err := o.copyEvents(func(e Entry) error {
		l.mark(s, e.FromSeq)
		line = e.line(line[:0])
		s.size += int64(len(line))
		_, err := out.Write(line)
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = s.sync(l.files)
	}
	l.written, l.synced, l.announced, l.restLast = l.last, l.last, l.last, l.last
	return err
}
