package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/workspace"
)

// Secrets are the values that a daemon holds (spec 7.2): those of its
// environment and, once they were read, those of the person's settings. What was
// a secret once stays one. It is safe for concurrent use.
type Secrets struct {
	// Of all values so far; nil before the first.
	masker atomic.Pointer[mask.Masker]

	mu    sync.Mutex
	names map[string]string // by value
	all   map[string]string // by name, which is told in a value's place
}

// NewSecrets returns those of an environment, as KEY=value: the values of
// variables whose names say that they are keys, tokens or passwords, and the
// passwords and tokens in the URLs of others. A value that is a word, a number or
// a path is none of them: it would be taken out wherever it stands (see
// [mask.Telling]).
func NewSecrets(environ []string) *Secrets {
	s := &Secrets{names: make(map[string]string), all: make(map[string]string)}
	found := make(map[string][]string)
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			found[name] = mask.SecretsIn(name, value)
		}
	}
	s.add(found)
	return s
}

// SecretVariables returns the names of the variables of an environment, as
// KEY=value, that hold a secret; see [NewSecrets]. Here it counts whatever it is:
// nothing is lost by keeping a word from a child.
func SecretVariables(environ []string) []string {
	var names []string
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && (mask.SaysSecret(name, strings.TrimSpace(value)) || len(mask.SecretsIn(name, value)) > 0) {
			names = append(names, name)
		}
	}
	return names
}

// MaskKnown returns data without the secrets; see [mask.Masker.MaskKnown].
func (s *Secrets) MaskKnown(data []byte) []byte { return s.masker.Load().MaskKnown(data) }

// MaskAll returns data without the secrets and what looks like a credential; see
// [mask.Masker.MaskAll].
func (s *Secrets) MaskAll(data []byte) []byte { return s.masker.Load().MaskAll(data) }

// Stream returns what takes the secrets out of a text that comes in pieces; see
// [mask.Stream].
// Secrets that become known later are not taken out of it.
func (s *Secrets) Stream() *mask.Stream { return s.masker.Load().Stream() }

// add takes over values by name. A name that has another value already gets a
// number.
// Values that are too short or too plain to be told from other text are ignored.
// The masker is replaced as a whole, so that readers need no lock.
func (s *Secrets) add(found map[string][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.all)
	for name, values := range found {
		for _, value := range values {
			if !mask.Telling(value) || s.names[value] != "" {
				continue
			}
			free := name
			for n := 2; s.all[free] != ""; n++ {
				free = fmt.Sprintf("%s-%d", name, n)
			}
			s.all[free], s.names[value] = value, free
		}
	}
	if len(s.all) > before {
		s.masker.Store(mask.New(s.all))
	}
}

// read takes over what the person's settings hold.
//
// Sections that are no JSON are passed over; whoever reads them tells the problem.
func (s *Secrets) read(all *workspace.Settings) {
	found := make(map[string][]string)
	for _, section := range []string{"env", "providers", "mcpServers", "hooks", "agents"} {
		for _, raw := range all.Lookup(section) {
			var value any
			if json.Unmarshal(raw.JSON, &value) == nil { // another's problem
				mask.Collect(section, value, found)
			}
		}
	}
	s.add(found)
}
