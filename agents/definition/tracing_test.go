package definition

import "testing"

// TestTracingOfABundle: an agent of an extension inside of the workspace sends nothing
// elsewhere, one of the person's own extension may.
func TestTracingOfABundle(t *testing.T) {
	text := []byte("---\nkind: agent\nname: x\ntitle: X\ndescription: d\ntracing: {backend: otlp, captureContent: true}\n---\nYou.\n")
	for folder, may := range map[string]bool{"/w": false, "": true} {
		d := Parse(Source{Path: "/e/x.md", Folder: folder, Scope: Extension, Data: text, Dialect: Agentls})
		if d.Tracing == nil || (d.Tracing.Backend == "otlp") != may || (d.Tracing.CaptureContent != nil) != may {
			t.Errorf("folder %q: %+v", folder, d.Tracing)
		}
	}
}
