package modelserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// pipeSize is how many bytes of an answer wait for a slow reader: about what a
// socket holds.
const pipeSize = 64 << 10

// Local is an [http.RoundTripper] that answers requests with a handler in this
// process, without a port. An answer can be read as it is written; a handler
// sees its request's context end when the client gives up or closes the body. It is
// safe for concurrent use, and has nothing to close.
type Local struct {
	handler http.Handler
	running sync.WaitGroup
}

// Transport returns a transport that answers every request with h, whatever
// its host. Each request runs h on a goroutine that ends when h returns; h must
// return when its request's context is done. A panic of h breaks the answer,
// as that of a server does.
func Transport(h http.Handler) *Local { return &Local{handler: h} }

// Wait returns when no handler is running any more. Bodies that nobody has closed or
// read to their end may keep one running.
func (l *Local) Wait() { l.running.Wait() }

// RoundTrip implements [http.RoundTripper]. It returns when the handler has written its
// headers, or with the error of q's context. The caller closes the body, as ever.
func (l *Local) RoundTrip(q *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(q.Context())
	if err := ctx.Err(); err != nil {
		cancel()
		if q.Body != nil {
			_ = q.Body.Close()
		}
		return nil, err
	}
	r := q.Clone(ctx)
	r.RequestURI, r.RemoteAddr = q.URL.RequestURI(), "local"
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	if r.Host == "" {
		r.Host = q.URL.Host
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &localWriter{header: make(http.Header), head: make(chan struct{}), pipe: newPipe()}
	l.running.Go(func() {
		defer cancel()
		defer func() { _ = r.Body.Close() }()
		err := l.run(w, r)
		if err == nil {
			// A handler that returns because the client gave up has not answered.
			err = ctx.Err()
		}
		w.finish(err)
	})
	select {
	case <-w.head:
	case <-ctx.Done():
		// The handler may have ended just now.
		select {
		case <-w.head:
		default:
			cancel()
			return nil, ctx.Err()
		}
	}
	if w.err != nil {
		cancel()
		return nil, w.err
	}
	// A read must end with the request, also while the handler waits.
	stop := context.AfterFunc(q.Context(), func() { w.pipe.breakOff(q.Context().Err()) })
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.code, http.StatusText(w.code)), StatusCode: w.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, ContentLength: -1, Request: q,
		Body: &localBody{pipe: w.pipe, close: func() { stop(); cancel() }},
	}, nil
}

// run calls the handler and returns how it broke off, if it did.
func (l *Local) run(w *localWriter, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = io.ErrUnexpectedEOF
			if v != http.ErrAbortHandler {
				err = fmt.Errorf("the handler panicked: %v", v)
			}
		}
	}()
	l.handler.ServeHTTP(w, r)
	return nil
}

// localWriter is the handler's side of an answer. Only the handler's goroutine
// uses it until head is closed.
type localWriter struct {
	header http.Header
	pipe   *pipe

	head chan struct{} // closed when code, sent and err stand
	code int
	sent http.Header
	err  error // the answer broke off before its headers
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(code int) {
	if w.code != 0 {
		return
	}
	w.code, w.sent = code, w.header.Clone()
	close(w.head)
}

func (w *localWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.write(b)
}

// Flush implements [http.Flusher]: what is written can be read already.
func (w *localWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish ends an answer: with err as what the reader gets, or in place of the headers where there
// are none yet.
func (w *localWriter) finish(err error) {
	if w.code == 0 && err != nil {
		w.code, w.err = http.StatusBadGateway, err
		close(w.head)
		return
	}
	w.WriteHeader(http.StatusOK)
	if err == nil {
		err = io.EOF
	}
	w.pipe.end(err)
}

// localBody is the client's side of an answer.
type localBody struct {
	pipe  *pipe
	close func()
}

func (b *localBody) Read(p []byte) (int, error) { return b.pipe.read(p) }

func (b *localBody) Close() error {
	b.pipe.breakOff(io.ErrClosedPipe)
	b.close()
	return nil
}

// pipe carries the bytes of an answer: the writer runs ahead of the reader by
// pipeSize.
type pipe struct {
	mu     sync.Mutex
	moved  sync.Cond // data, ended or broken changed
	data   bytes.Buffer
	ended  error // what a reader gets after the data; nil while there is a writer
	broken error // the reader is gone; data is lost
}

func newPipe() *pipe {
	p := &pipe{}
	p.moved.L = &p.mu
	return p
}

// write waits while pipeSize bytes are unread; its error is that the reader is gone.
func (p *pipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for p.data.Len() >= pipeSize && p.broken == nil {
			p.moved.Wait()
		}
		if p.broken != nil {
			return n, p.broken
		}
		m := min(len(b), pipeSize-p.data.Len())
		p.data.Write(b[:m])
		n, b = n+m, b[m:]
		p.moved.Broadcast()
	}
	return n, nil
}

// read waits for data. After breakOff data is lost at once; after end the rest is read first.
func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.data.Len() == 0 && p.ended == nil && p.broken == nil {
		p.moved.Wait()
	}
	switch {
	case p.broken != nil:
		return 0, p.broken
	case p.data.Len() == 0:
		return 0, p.ended
	}
	n, _ := p.data.Read(b)
	p.moved.Broadcast()
	return n, nil
}

// end says that no more is written; err is what a reader gets behind the data.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = err
	p.moved.Broadcast()
}

// breakOff wakes both sides and fails them with err; the first err counts.
func (p *pipe) breakOff(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken = err
	}
	p.moved.Broadcast()
}
