package daemon

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
			found[name] = secretsIn(name, value)
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
		if ok && (saysSecret(name, strings.TrimSpace(value)) && !isFile(strings.TrimSpace(value)) || len(secretsIn(name, value)) > 0) {
			names = append(names, name)
		}
	}
	return names
}

// Known returns data without the secrets; see [mask.Masker.Known].
func (s *Secrets) Known(data []byte) []byte { return s.masker.Load().Known(data) }

// Shown returns data without the secrets and what looks like a credential; see
// [mask.Masker.Shown].
func (s *Secrets) Shown(data []byte) []byte { return s.masker.Load().Shown(data) }

// Stream returns what takes the secrets out of a text that comes in pieces; see
// [mask.Stream].
func (s *Secrets) Stream() *mask.Stream { return s.masker.Load().Stream() }

// add takes over values by name. A name that has another value already gets a
// number.
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
func (s *Secrets) read(all *workspace.Settings) {
	found := make(map[string][]string)
	for _, section := range []string{"env", "providers", "mcpServers"} {
		for _, raw := range all.Lookup(section) {
			var value any
			if json.Unmarshal(raw.JSON, &value) == nil { // another's problem
				collect(section, value, found)
			}
		}
	}
	s.add(found)
}

// collect adds the secrets of a section of the settings, by the path of keys.
func collect(path string, value any, found map[string][]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			collect(path+"."+name, member, found)
		}
	case []any:
		for _, element := range value {
			collect(path, element, found)
		}
	case string:
		parent, name := filepath.Ext(strings.TrimSuffix(path, filepath.Ext(path))), filepath.Ext(path)
		if strings.HasPrefix(value, "$") {
			return // names a variable
		}
		if values := secretsIn(strings.TrimPrefix(name, "."), value); len(values) > 0 {
			found[path] = values
		} else if parent == ".headers" && isAuthorization(name[1:]) {
			_, credential, _ := strings.Cut(value, " ")
			found[path] = []string{value, strings.TrimSpace(credential)}
		}
	}
}

func isAuthorization(header string) bool {
	return slices.Contains([]string{"authorization", "proxy-authorization", "cookie"}, strings.ToLower(header))
}

// secretsIn returns what is secret in the value of a variable.
func secretsIn(name, value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < mask.Least {
		return nil
	}
	var all []string
	if strings.Contains(value, "://") {
		all = secretsOfURL(value)
	}
	if saysSecret(name, value) && !isFile(value) {
		all = append(all, value)
		var members map[string]any
		if strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &members) == nil {
			found := make(map[string][]string)
			collect(name, members, found)
			for _, inner := range found {
				all = append(all, inner...)
			}
		}
	}
	return all
}

// secretsOfURL returns a URL's password, or the token that stands in its user's
// place, and the keys in its query.
func secretsOfURL(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	var all []string
	if user := u.User.Username(); mask.Telling(user) {
		all = append(all, user)
	}
	if password, ok := u.User.Password(); ok {
		all = append(all, password)
		if _, escaped, ok := strings.Cut(u.User.String(), ":"); ok && escaped != password {
			all = append(all, escaped)
		}
	}
	for name, values := range u.Query() {
		if strings.EqualFold(name, "key") || saysSecret(name, "") {
			all = append(all, values...)
		}
	}
	return all
}

// saysSecret reports whether a name says that the value is secret: its last
// word does. Many a KEY is none, so that one must look like it unless the word
// before says more.
func saysSecret(name, value string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || '0' <= r && r <= '9' })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	switch {
	case last == "KEY":
		kinds := []string{"API", "ACCESS", "SECRET", "PRIVATE", "AUTH", "SIGNING", "ENCRYPTION", "MASTER", "ACCOUNT", "SUBSCRIPTION"}
		return len(words) > 1 && slices.Contains(kinds, words[len(words)-2]) || len(value) >= 16 && strings.ContainsAny(value, "0123456789")
	case slices.Contains([]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PAT", "PASS", "JWT", "DSN"}, last):
		return true
	case last == "PWD": // the shell's own is the folder it is in
		return len(words) > 1
	case slices.Contains([]string{"AUTH", "CREDENTIAL", "CREDENTIALS"}, last): // may say how, or in which file
		return mask.Telling(value)
	case last == "URL":
		return len(words) > 1 && words[len(words)-2] == "WEBHOOK"
	}
	return strings.HasSuffix(last, "APIKEY") || strings.HasSuffix(last, "TOKEN") || strings.HasSuffix(last, "SECRET") || strings.HasSuffix(last, "PASSWORD")
}

// isFile reports whether a value is the path of something that is there.
func isFile(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Lstat(value)
	return err == nil
}
