package tool

import "slices"

// Taint says who may have written what a model has read (spec 11.1 rule 6). The
// zero Taint is of what the person, the agent and trusted folders wrote.
type Taint uint8

// The taints, mildest first.
const (
	Clean   Taint = iota
	Foreign       // a file of an untrusted folder, an MCP server: what leaves the machine asks for the rest of the session
	Web           // a page of the web: the same, and in this run all but safe calls ask
)

var taintNames = [...]string{Clean: "", Foreign: "foreign", Web: "web"}

// String returns the name of the taint in events; "" for Clean.
func (t Taint) String() string {
	if int(t) < len(taintNames) {
		return taintNames[t]
	}
	return taintNames[Web]
}

// TaintOf returns the taint of that name; one that is unknown is the worst.
func TaintOf(name string) Taint {
	if i := slices.Index(taintNames[:], name); i >= 0 {
		return Taint(i)
	}
	return Web
}

// Max returns the worse of t and u.
func (t Taint) Max(u Taint) Taint { return max(t, u) }

// taint is what comes of where a plan reads.
func (p *Plan) taint(env *Env) Taint {
	for _, path := range p.Reads {
		inner := "" // the innermost folder counts: a trusted one in an untrusted is trusted
		for _, folder := range env.Folders {
			if Within(folder, path) && len(folder) > len(inner) {
				inner = folder
			}
		}
		if inner != "" && slices.Contains(env.Strange, inner) || inner == "" && !env.Trusted {
			return Foreign
		}
	}
	return Clean
}
