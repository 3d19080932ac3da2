package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// edge is what a kind of fault is on the wire.
type edge struct {
	code  jsonrpc2.Code
	retry bool // asking the same again may succeed
}

// edges is the only place where a kind of fault meets a number on the wire.
//
// Codes are from LSP 3.18, "Response Message": -32803 RequestFailed is for a
// request that was fine but cannot be met, and is the one that clients show to
// the user without calling it a bug.
var edges = [fault.Count]edge{
	fault.Internal:    {jsonrpc2.InternalError, false},
	fault.Invalid:     {jsonrpc2.InvalidParams, false},
	fault.NotFound:    {requestFailed, false},
	fault.NotReady:    {jsonrpc2.ServerNotInitialized, true},
	fault.Stale:       {protocol.CodeContentModified, true},
	fault.Canceled:    {protocol.CodeRequestCancelled, false},
	fault.Denied:      {requestFailed, false},
	fault.Unavailable: {requestFailed, true},
	fault.Unserved:    {jsonrpc2.MethodNotFound, false},
	fault.Misplaced:   {jsonrpc2.InvalidRequest, false},
}

const requestFailed = jsonrpc2.Code(protocol.LSPErrorCodesRequestFailed)

// reasons says where a reason of spec 2.5 knows better than its kind whether
// asking again helps; data may say it of one fault (data.retryable).
// The same request is meant, word for word: a question that is not open any more
// stays closed, and a file that has changed has to be read again.
var reasons = map[fault.Reason]bool{
	fault.Busy:           true,
	fault.Overloaded:     true,
	fault.OutOfDate:      false,
	fault.UnknownAgent:   false,
	fault.UnknownSession: false,
	fault.UnknownRun:     false,
	fault.NoAgent:        false,
	fault.AuthRequired:   false,
	fault.Untrusted:      false,
	fault.InvalidAgent:   false,
	fault.Config:         false,
	fault.Refused:        false,
	fault.Bug:            false,
}

// errAskedFor is why a call's context ends after $/cancelRequest.
var errAskedFor = errors.New("cancelled by the client")

// errorObject turns err into what the client sees. The kind travels along as data,
// since several kinds share a code (spec 2.5). A fault with a reason is one of
// the domain's: -32803 whatever its kind, but for a bug, which is -32603, and
// for what the client cancelled.
//
// -32800 is for what the client asked for: a context that ended for another
// reason (a model's, a tool's) is a failure like any other. An error with a code
// that came from the client, which refused a call of ours, is an error of ours
// here: its code answered our question, not the client's.
func errorObject(ctx context.Context, err error) *jsonrpc2.Error {
	kind := fault.KindOf(err)
	asked := errors.Is(context.Cause(ctx), errAskedFor)
	switch {
	case asked && (kind == fault.Canceled || errors.Is(err, context.Canceled) || errors.Is(err, errAskedFor)):
		kind = fault.Canceled
	case kind == fault.Canceled:
		kind = fault.Unavailable
	}
	reason, data := fault.ReasonOf(err)
	if reason == "" {
		if e, ok := errors.AsType[*fault.Error](err); ok {
			data = e.Data
		}
	}
	code := edges[kind].code
	switch {
	case kind == fault.Canceled || reason == "":
	case reason == fault.Bug:
		code = edges[fault.Internal].code
	default:
		code = requestFailed
	}
	return newError(code, kind, fault.Message(err), reason, data)
}

// newError builds the error object of spec 2.5.
func newError(code jsonrpc2.Code, kind fault.Kind, message string, reason fault.Reason,
	data map[string]any) *jsonrpc2.Error {
	retry := edges[kind].retry
	name := kind.String()
	if reason != "" {
		name = string(reason)
		if r, known := reasons[reason]; known {
			retry = r
		}
	}
	// By hand, in order: one value that is no JSON is left out, and the same
	// error is the same bytes.
	all := maps.Clone(data)
	if all == nil {
		all = make(map[string]any, 2)
	}
	if _, said := all["retryable"]; !said {
		all["retryable"] = retry
	}
	all["kind"] = name
	raw := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		k, err1 := wire.Codec{}.Marshal(key)
		v, err2 := wire.Codec{}.Marshal(all[key])
		if err1 != nil || err2 != nil {
			continue
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(append(append(raw, k...), ':'), v...)
	}
	raw = append(raw, '}')
	// A message may quote the client, whose bytes need not be UTF-8.
	return &jsonrpc2.Error{Code: code, Message: strings.ToValidUTF8(message, "\ufffd"), Data: raw}
}
