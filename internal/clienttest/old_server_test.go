package clienttest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
)

// beOld is the variable with which this test's own program is another language server:
// with "1" one that knows nothing of agents, as an agentls would be that is too old; with
// "crash" an agentls that ends as soon as it is told anything more.
const beOld = "AGENTLS_TEST_OLD_SERVER"

var errCrash = errors.New("crashed")

// serveOld answers initialize and shutdown, and refuses all other requests, until it is
// told to exit.
func serveOld(in io.Reader, out io.Writer, kind string) error {
	r := textproto.NewReader(bufio.NewReader(in))
	for {
		header, err := r.ReadMIMEHeader()
		if err != nil {
			return err
		}
		length, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return err
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r.R, body); err != nil {
			return err
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(body, &message); err != nil {
			return err
		}
		if message.Method == "exit" {
			return nil
		}
		if kind == "crash" && message.Method != "initialize" {
			return errCrash
		}
		if message.ID == nil {
			continue
		}
		answer := `"error": {"code": -32601, "message": "no such method"}`
		switch {
		case message.Method == "initialize" && kind == "crash":
			answer = `"result": {"capabilities": {"experimental": {"agents": {"version": 1}}}}`
		case message.Method == "initialize":
			answer = `"result": {"capabilities": {}}`
		case message.Method == "shutdown":
			answer = `"result": null`
		}
		text := fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, %s}`, message.ID, answer)
		if _, err := fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(text), text); err != nil {
			return err
		}
	}
}
