package handlers

import (
	"bytes"
	"context"
	"strings"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// getState serves agents/state/get.
// Without atSeq it is the state as it is now, else as it was after that event.
func (h *Handlers) getState(_ context.Context, _ struct{}, p *wire.StateParams) (*wire.StateResult, error) {
	var at uint64
	if p.AtSeq != nil {
		at = *p.AtSeq
	}
	state, seq, err := h.daemon.Agents.SessionState(strings.Clone(p.Session), at)
	if fault.KindOf(err) == fault.Invalid {
		return nil, server.BadParams(wire.MethodStateGet, "atSeq", "cannot be used: %s", fault.Message(err))
	}
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	return &wire.StateResult{Seq: seq, SessionState: state}, nil
}

// setState serves agents/state/set.
// null removes the key. The error has the reason unknownSession, or busy where another
// daemon has the session; a key or value that cannot be is bad params.
func (h *Handlers) setState(ctx context.Context, _ struct{}, p *wire.StateSetParams) (*wire.Empty, error) {
	err := h.daemon.Agents.SetState(ctx, strings.Clone(p.Session), strings.Clone(p.Key), bytes.Clone(p.Value))
	if fault.KindOf(err) == fault.Invalid {
		at := "value"
		if session.CheckKey(p.Key) != nil || strings.HasPrefix(p.Key, "temp:") {
			at = "key"
		}
		return nil, server.BadParams(wire.MethodStateSet, at, "cannot be set: %s", fault.Message(err))
	}
	return &wire.Empty{}, h.language.EncodeError(err)
}

// clearState serves agents/state/clear.
// Keys that begin with user: or app: stay.
func (h *Handlers) clearState(ctx context.Context, _ struct{}, p *wire.StateClearParams) (*wire.Empty, error) {
	return &wire.Empty{}, h.language.EncodeError(h.daemon.Agents.ClearState(ctx, strings.Clone(p.Session)))
}
