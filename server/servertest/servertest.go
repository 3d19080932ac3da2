// Package servertest is a client that pipelines, lies, splits, stalls and hangs
// up: what a server has to live through, as bytes.
//
// [Hostile] is the table of what it sends. The tests of package server run it
// against a connection in memory and the tests of the binary against a process,
// so both are held to the same. It speaks bytes only and imports nothing of
// this module.
package servertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Frame returns body with its header.
func Frame(body string) string {
	return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// Message is one message from the server.
type Message struct {
	Raw    string          `json:"-"`
	ID     json.RawMessage `json:"id"` // as the server wrote it; nil for none
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// Code returns the error's code, 0 for a result.
func (m *Message) Code() int {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// Client is the other end of a server's connection.
type Client struct {
	rwc  io.ReadWriteCloser
	in   *bufio.Reader
	wait time.Duration
}

// NewClient returns a client that closes rwc when an answer takes longer than
// wait.
func NewClient(rwc io.ReadWriteCloser, wait time.Duration) *Client {
	return &Client{rwc, bufio.NewReader(rwc), wait}
}

// Close hangs up.
func (c *Client) Close() error { return c.rwc.Close() }

// Send sends bytes as they are. It waits until they are taken.
func (c *Client) Send(raw string) error {
	_, err := io.WriteString(c.rwc, raw)
	return err
}

// Chunks sends bytes in pieces of size bytes, a write each.
func (c *Client) Chunks(raw string, size int) error {
	for len(raw) > 0 {
		n := min(size, len(raw))
		if err := c.Send(raw[:n]); err != nil {
			return err
		}
		raw = raw[n:]
	}
	return nil
}

// Next reads one message. It fails if none comes in time, and for anything that
// is not a frame of JSON.
func (c *Client) Next() (*Message, error) {
	late := time.AfterFunc(c.wait, func() { c.rwc.Close() })
	defer func() {
		if !late.Stop() {
			c.rwc.Close()
		}
	}()
	size := -1
	for {
		h, err := c.in.ReadString('\n')
		if err != nil {
			if h != "" {
				err = fmt.Errorf("half a header %q: %w", h, err)
			}
			return nil, err
		}
		if h = strings.TrimRight(h, "\r\n"); h == "" {
			break
		}
		if n, ok := strings.CutPrefix(h, "Content-Length: "); ok {
			if size, err = strconv.Atoi(n); err != nil {
				return nil, err
			}
		}
	}
	if size < 0 {
		return nil, errors.New("a header without Content-Length")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return nil, fmt.Errorf("half a body: %w", err)
	}
	m := &Message{Raw: string(body)}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%q: %w", body, err)
	}
	return m, nil
}

// Answer reads until the answer to an id, which is given as it is written in
// JSON, and returns it. Requests and notifications of the server's, and answers
// to other ids, are passed over.
func (c *Client) Answer(id string) (*Message, error) {
	for {
		m, err := c.Next()
		if err != nil {
			return nil, fmt.Errorf("no answer to %s: %w", id, err)
		}
		if m.Method == "" && string(m.ID) == id {
			return m, nil
		}
	}
}

// Handshake initializes the connection as a plain LSP client without a parent.
func (c *Client) Handshake() error {
	sent := make(chan error, 1)
	go func() {
		sent <- c.Send(Frame(`{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`))
	}()
	m, err := c.Answer(`"initialize"`)
	if err := errors.Join(err, <-sent); err != nil {
		return err
	}
	if m.Error != nil {
		return fmt.Errorf("initialize: %s", m.Raw)
	}
	return c.Send(Frame(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
}

// probe is a request that every server answers, after shutdown too.
const probe, probeID = `{"jsonrpc":"2.0","id":"probe","method":"servertest/probe"}`, `"probe"`

// Converse sends what a case says, in writes of chunk bytes, and returns how the
// server's answers differ from what is wanted. The connection has been
// initialized.
func (c *Client) Converse(k Case, chunk int) error {
	raw := k.Bytes
	if !k.Ends {
		raw += Frame(probe)
	}
	sent := make(chan error, 1)
	go func() { sent <- c.Chunks(raw, chunk) }()
	want := slices.Clone(k.Want)
	var problems []error
	for {
		m, err := c.Next()
		switch {
		case err != nil && k.Ends && len(want) == 0:
			<-sent // it fails, or was taken before the end
			return errors.Join(problems...)
		case err != nil:
			return errors.Join(append(problems, fmt.Errorf("%w before %v", err, want))...)
		case m.Method != "":
			continue // the server may say what it likes
		case string(m.ID) == probeID:
			if k.Ends || len(want) > 0 {
				problems = append(problems, fmt.Errorf("the next message was served before %v", want))
			}
			return errors.Join(append(problems, <-sent)...)
		}
		i := slices.IndexFunc(want, func(a Answer) bool {
			return a.ID == string(m.ID) && (slices.Contains(a.Codes, m.Code()) || len(a.Codes) == 0)
		})
		switch {
		case i >= 0:
			want = slices.Delete(want, i, i+1)
		case k.Ends && string(m.ID) == "null":
			// A last word is allowed where the next message cannot be found.
		default:
			problems = append(problems, fmt.Errorf("unexpected %.300s", m.Raw))
		}
	}
}
