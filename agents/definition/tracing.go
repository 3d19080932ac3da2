package definition

import "slices"

// tracing reads the field of that name, after its keys were checked. Where traces are
// sent, and whether with content, only a file of the person's own says.
//
// A project's file may say less, as to switch traces off, but not send anything away: that
// is the person's own decision.
func (r *reader) tracing(v *node) {
	if v.kind != mapping || r.Dialect != Agentls {
		return
	}
	t := &Tracing{Project: r.FromProject()}
	for i := range v.keys {
		n := v.items[i] // a copy: the tree is the next file's
		switch v.keys[i].name {
		case "enabled":
			if n.kind == boolean {
				t.Enabled = &n.truth
			}
		case "events":
			for _, item := range n.items {
				if item.kind == str && slices.Contains(fieldIndex["tracing.events"].Values, item.text) {
					t.Events = append(t.Events, item.text)
				}
			}
		case "backend":
			switch n.text {
			case "opentelemetry", "otlp", "langsmith":
				if r.FromProject() {
					r.sendsAway(&n, "tracing.backend: "+n.text)
					continue
				}
				if t.Backend = n.text; n.text == "opentelemetry" {
					t.Backend = "otlp"
				}
			case "file", "console":
				t.Backend = n.text
			}
		case "sample_rate":
			if n.kind == number && n.num >= 0 && n.num <= 1 {
				t.SampleRate = &n.num
			}
		case "captureContent":
			if n.kind == boolean && n.truth && r.FromProject() {
				r.sendsAway(&n, "tracing.captureContent: true")
				continue
			}
			if n.kind == boolean {
				t.CaptureContent = &n.truth
			}
		}
	}
	r.Tracing = t
}

// sendsAway reports what an agent of a project may not say.
func (r *reader) sendsAway(n *node, what string) {
	r.at(n, "agent/no-effect", Warning,
		"%s counts in your own settings and agents only, not in a project's: it sends data elsewhere.", what)
}
