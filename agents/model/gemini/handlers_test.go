package gemini_test

import (
	"io"
	"net/http"
)

// recorder is a server that takes down the body of a request and refuses it.
type recorder func(body string)

func (f recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	b, _ := io.ReadAll(q.Body)
	f(string(b))
	w.WriteHeader(http.StatusTeapot)
}

// paths is one that takes down its path.
type paths func(path string)

func (f paths) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	f(q.URL.Path)
	w.WriteHeader(http.StatusTeapot)
}
