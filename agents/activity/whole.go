package activity

// whole returns an entry with the result that lies in a blob put back into it,
// so that whoever follows sees what the model got (spec 2.11). Anything else,
// and a result whose blob is lost, is returned as it is.
// A Blob function that fails is told in the daemon's log; the reader gets the shortened result
// then.
func (l *Log) whole(e Entry) Entry {
	if l.cfg.Blob == nil || e.Type != "tool.state" {
		return e
	}
	from, to, ok := locate(e.rest, e.data, "result")
	if !ok || e.rest[from] != '{' {
		return e
	}
	at, end, ok := locate(e.rest, from, "content")
	if !ok || at+2 != end || e.rest[at] != '"' {
		return e
	}
	sha := unquote(find(e.rest[from:to], "blob"))
	if sha == "" {
		return e
	}
	data, err := l.cfg.Blob(sha)
	if err != nil {
		l.logger().Warn("result lost", "session", l.cfg.Session, "event", e.Seq, "err", err)
		return e
	}
	rest := make([]byte, 0, len(e.rest)+len(data)+len(data)/8)
	rest = append(rest, e.rest[:at]...)
	rest = appendString(rest, string(data))
	rest = append(rest, e.rest[end:]...)
	fresh := Entry{Seq: e.Seq, FromSeq: e.FromSeq, rest: rest}
	if !fresh.index(false) {
		return e
	}
	return fresh
}

// locate returns where the value of a member lies, of the object that begins at
// b[start].
func locate(b []byte, start int, name string) (from, to int, ok bool) {
	if start >= len(b) || b[start] != '{' {
		return 0, 0, false
	}
	for i := start + 1; ; i = to + 1 {
		var key []byte
		if key, from, to, ok = member(b, i); !ok {
			return 0, 0, false
		}
		if string(key) == name {
			return from, to, true
		}
	}
}
