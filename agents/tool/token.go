package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
)

// Identity says whose call a plan is. It is part of the digest: a yes for one
// agent's call is no yes for another's (SEC-68).
type Identity struct {
	Session string `json:"session"`
	Run     string `json:"run"`
	Call    string `json:"call"`
	Agent   string `json:"agent"`
}

// Digest returns the hex SHA-256 of all that a person agrees to: who calls
// what with which arguments, where, on which files, with what new content, and
// what a command is let do.
// "" for a plan whose arguments are no JSON. What it leaves out is words only:
// title, reasons and the shape of an answer.
func (p *Plan) Digest(id Identity) string {
	body, err := json.Marshal(struct {
		Identity
		Tool    string          `json:"tool"`
		Args    json.RawMessage `json:"args"`
		Risk    string          `json:"risk"`
		Reads   []string        `json:"reads"`
		Writes  []string        `json:"writes"`
		Preview Preview         `json:"preview"`
		Access  sandbox.Access  `json:"access,omitempty"`
	}{id, p.Tool, p.Args, p.Risk.String(), p.Reads, p.Writes, p.Preview, p.Access})
	if err != nil {
		return "" // arguments that are no JSON: no token fits, so nothing runs
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Token is the permission to run one plan once. The zero Token permits nothing.
//
// It is handed from the gate to Run and kept nowhere. It must not be copied.
type Token struct {
	digest string
	spent  atomic.Bool
	run    context.Context // the token dies with it
}

// Mint returns the token of a plan that was decided to run. Only package guard
// calls it; the layering test holds that.
func Mint(run context.Context, digest string) *Token { return &Token{digest: digest, run: run} }

// Run spends the token and does what was planned. It returns fault.Denied, and
// does nothing, when the token is not of this plan and caller, was spent, or
// its run has ended.
//
// The digest is reckoned again here, so a plan that was changed after the
// decision does not run. A token is spent when Do begins, whatever comes of it.
// ctx is the call's: when it ends, Do has half a second before the run goes on
// without it. Other errors are those of Do; see the package doc.
func (p *Plan) Run(ctx context.Context, env *Env, t *Token) (*Result, error) {
	id := Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}
	if t == nil || t.digest == "" || t.digest != p.Digest(id) {
		return nil, fault.New(fault.Denied, "tool.run", "%s was not permitted with these arguments", p.Tool)
	}
	if t.run.Err() != nil {
		return nil, fault.New(fault.Denied, "tool.run", "the run that %s was permitted for has ended", p.Tool)
	}
	if !t.spent.CompareAndSwap(false, true) {
		return nil, fault.New(fault.Denied, "tool.run", "%s was permitted once, and ran", p.Tool)
	}
	r, err := p.Do(ctx, env)
	if r != nil {
		r.Taint = r.Taint.Max(p.taint(env))
	}
	return r, err
}
