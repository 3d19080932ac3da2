package server

import (
	"errors"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// asks holds the calls of ours that the client has not answered, by id.
//
// They do not go through the transport's own Call (jsonrpc2 v1.0.1): it keeps
// the channels of calls in a pool of the process, so that a test in a synctest
// bubble and one outside would kill each other, and its table of open calls
// grows with every call that is made while an older one waits for a person.
//
// A call ends in one of three ways, and each removes it from open: give brings
// the answer, drop says that nobody waits any more, and withdraw does the same
// but leaves a function for an answer that comes later. The client may answer an
// id twice or one that was never sent; both are ignored.
//
// Safe for concurrent use: give is called on the read loop, the others by
// whoever asks.
type asks struct {
	mu   sync.Mutex
	last int64
	open map[int64]chan reply
	late map[int64]func(reply) // who hears of the answer to a call that was withdrawn; nil before the first
}

// reply is what the client answered.
type reply struct {
	result []byte // ours to keep
	err    error  // a [*jsonrpc2.Error] of the client's, or what is wrong with its answer
}

// errMalformed is what a caller gets when the client did answer its id, but with
// a message that is not a JSON-RPC response: no second answer will come, so
// there is no point in waiting for one.
var errMalformed = errors.New("the client's answer is malformed")

// add enters a call and returns its id and where its one answer will come.
// The channel has room for the one answer, so that give never waits for a caller
// who has gone.
func (a *asks) add() (id int64, answer <-chan reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = make(map[int64]chan reply)
	}
	a.last++
	c := make(chan reply, 1)
	a.open[a.last] = c
	return a.last, c
}

// drop strikes out a call that nobody waits for any more; an answer to it is
// then ignored.
func (a *asks) drop(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// give hands over the answer to a call; what answers none is dropped.
func (a *asks) give(id jsonrpc2.IDView, r reply) {
	n, ok := id.Number()
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.open[n]; c != nil {
		delete(a.open, n)
		c <- r
	}
	if late := a.late[n]; late != nil {
		delete(a.late, n)
		late(r)
	}
}

// withdraw strikes out a call as drop does, and has the answer that may come yet
// told to late, under the lock, or at once if it has come meanwhile.
// late is forgotten only when it is called: an entry for a call that the client
// never answers stays until the connection ends.
func (a *asks) withdraw(id int64, answer <-chan reply, late func(reply)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id] == nil {
		late(<-answer) // give has put it there, under the lock
		return
	}
	delete(a.open, id)
	if a.late == nil {
		a.late = make(map[int64]func(reply))
	}
	a.late[id] = late
}
