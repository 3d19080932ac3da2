package daemon

import (
	"cmp"
	"io"
	"net/http"
	"path/filepath"

	"github.com/agentls/agentls/agents/trace/export"
)

// newTracer returns who passes the traces of runs on.
func (b *daemon) newTracer() *export.Tracer {
	return export.New(b.ctx, export.Config{
		Dir: filepath.Join(b.Home, "traces"), Console: cmp.Or[io.Writer](b.Console, io.Discard), Env: b.env,
		Mask:  b.Secrets.MaskAll,
		Proxy: http.ProxyFromEnvironment, Version: b.Version, Now: b.Now, Log: b.Log,
	})
}
