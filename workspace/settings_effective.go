package workspace

import (
	"strings"

	"github.com/agentls/agentls/internal/settings"
)

// Effective is one key with the value that holds.
type Effective struct {
	Key    string // with dots
	Doc    string
	Value  any // string, bool, int, float64 or []string
	Origin settings.Origin
}

// Find returns a typed key, or those of a section, with what holds. key may lack
// "agents." at its beginning, which whole then has; "" is all keys.
func (s *Settings) Find(key string) (whole string, found []Effective) {
	// A key as it is typed counts first, so that a section of gemini-cli's is found under
	// its own name.
	for _, whole := range []string{key, "agents." + key} {
		var found []Effective
		for _, e := range s.Effective() {
			if key == "" || e.Key == whole || strings.HasPrefix(e.Key, whole+".") {
				found = append(found, e)
			}
		}
		if len(found) > 0 {
			return whole, found
		}
	}
	return key, nil
}

// Effective returns the typed keys in alphabetical order.
func (s *Settings) Effective() []Effective {
	var list []Effective
	for _, k := range settingKeys(&s.Values) {
		list = append(list, Effective{Key: k.key, Doc: k.doc, Value: k.value(), Origin: s.Origins[k.key]})
	}
	return list
}
