package modelserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestLocalTransport(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 3*pipeSize+7)
	h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/big":
			w.Write(big)
		case "/panic":
			panic("oh")
		case "/late":
			w.WriteHeader(http.StatusTeapot)
			panic("oh")
		case "/forever":
			for {
				if _, err := w.Write(big); err != nil {
					return
				}
			}
		case "/echo":
			io.Copy(w, q.Body)
		}
	})
	l := Transport(h)
	c := &http.Client{Transport: l}
	get := func(path string) (*http.Response, error) { return c.Get("http://x" + path) }
	resp, err := get("/big")
	if err != nil {
		t.Fatal(err)
	}
	if readAll(t, resp) != string(big) {
		t.Error("the body differs")
	}
	if _, err := get("/panic"); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Error(err)
	}
	resp, err = get("/late")
	if err != nil || resp.StatusCode != http.StatusTeapot {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a broken answer looks whole")
	}
	resp.Body.Close()
	if resp, err = get("/nothing"); err != nil || resp.StatusCode != 200 || readAll(t, resp) != "" {
		t.Error(err)
	}
	if resp, err = get("/forever"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	resp.Body.Close()
	if resp, err = c.Post("http://x/echo", "", bytes.NewReader(big)); err != nil || readAll(t, resp) != string(big) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://x/big", nil)
	if _, err := c.Do(q); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.Wait()
}
