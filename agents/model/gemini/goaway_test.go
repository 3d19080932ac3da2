package gemini

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/model"
)

// TestGoAwayOnEachConnection: a server that ends each HTTP/2 connection before
// it answers is connected to a few times, and then the call fails, so that the
// run waits and tells of its retries. Go's transport alone connects without end.
func TestGoAwayOnEachConnection(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	config := certified.TLS.Clone()
	config.NextProtos = []string{"h2"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var connections atomic.Int64
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			defer conn.Close() // with the listener, where the client has not
			go goAway(conn)
		}
	}()
	c, err := New(Config{APIKey: "test-key", BaseURL: "https://" + l.Addr().String(), Table: model.NewTable(nil), Now: time.Now, HeaderTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.own.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	req := &model.Request{Model: "gemini-3.8-flash", Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "Hello."}}}}}
	var failed *model.Error
	for _, err := range c.Generate(t.Context(), req) {
		failed, _ = errors.AsType[*model.Error](err)
	}
	if failed == nil || failed.Class != model.Busy || !strings.Contains(failed.Message, "ended 4 connections before it answered") {
		t.Errorf("the call ended %v", failed)
	}
	if n := connections.Load(); n > 4 {
		t.Errorf("%d connections", n)
	}
}

// goAway accepts an HTTP/2 connection and ends it: SETTINGS, then GOAWAY for all
// streams.
func goAway(conn net.Conn) {
	defer conn.Close()
	_, _ = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
	_, _ = conn.Write([]byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	_, _ = io.Copy(io.Discard, conn)
}
