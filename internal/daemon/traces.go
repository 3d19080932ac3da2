package daemon

import (
	"cmp"
	"io"
	"net/http"
	"path/filepath"

	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/workspace"
)

// newTracer returns who passes the traces of runs on.
func (b *daemon) newTracer() *export.Tracer {
	return export.New(b.ctx, export.Config{
		Dir: filepath.Join(b.Home, "traces"), Console: cmp.Or[io.Writer](b.Console, io.Discard), Env: b.env,
		Mask:  b.Secrets.MaskAll,
		Proxy: http.ProxyFromEnvironment, Version: b.Version, Now: b.Now, Log: b.Log,
	})
}

// tracing returns what settings say of traces.
func (b *daemon) tracing(all *workspace.Settings) export.Options {
	if b.Apart {
		return export.Options{}
	}
	t := all.Agents.Tracing
	o := export.Options{Enabled: t.Enabled.Value, Backend: t.Backend.Value, Events: t.Events.Value,
		SampleRate: t.SampleRate.Value}
	if t.CaptureContent.Origin.Scope != workspace.DefaultScope {
		o.Content = &t.CaptureContent.Value
	}
	return o
}
