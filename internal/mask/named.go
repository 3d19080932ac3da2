package mask

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Collect adds the secrets of a value of JSON to found, by the path of keys: of
// settings, or of a variable. Keys of the path are parted by dots, and its last one is
// the name that tells. Values that begin with $ are names of variables, which are read
// elsewhere.
func Collect(path string, value any, found map[string][]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			Collect(path+"."+name, member, found)
		}
	case []any:
		for _, element := range value {
			Collect(path, element, found)
		}
	case string:
		parent, name := filepath.Ext(strings.TrimSuffix(path, filepath.Ext(path))), filepath.Ext(path)
		if strings.HasPrefix(value, "$") {
			return // names a variable
		}
		if values := SecretsIn(strings.TrimPrefix(name, "."), value); len(values) > 0 {
			found[path] = values
		} else if parent == ".headers" && isAuthorization(name[1:]) {
			_, credential, _ := strings.Cut(value, " ")
			found[path] = []string{value, strings.TrimSpace(credential)}
		}
	}
}

// isAuthorization reports a header whose value is secret whatever it is called.
func isAuthorization(header string) bool {
	return slices.Contains([]string{"authorization", "proxy-authorization", "cookie"}, strings.ToLower(header))
}

// SecretsIn returns what is secret in the value of a variable: all of it where the
// name says so (see [SaysSecret]), else the passwords and tokens of a URL. Values
// shorter than Least have none. Those that are returned may be shorter, as a password
// in a URL: [New] leaves these out.
func SecretsIn(name, value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < Least {
		return nil
	}
	var all []string
	if strings.Contains(value, "://") {
		all = secretsOfURL(value)
	}
	if SaysSecret(name, value) {
		all = append(all, value)
		var members map[string]any
		if strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &members) == nil {
			found := make(map[string][]string)
			Collect(name, members, found)
			for _, inner := range found {
				all = append(all, inner...)
			}
		}
	}
	return all
}

// secretsOfURL returns a URL's password, or the token that stands in its user's
// place, and the keys in its query, as written and decoded.
func secretsOfURL(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	var all []string
	if user := u.User.Username(); Telling(user) {
		all = append(all, user)
	}
	if password, ok := u.User.Password(); ok {
		all = append(all, password)
		// As it is written in the URL, too: a program may print either.
		if _, escaped, ok := strings.Cut(u.User.String(), ":"); ok && escaped != password {
			all = append(all, escaped)
		}
	}
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		name, raw, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(name, "key") && !SaysSecret(name, "") {
			continue
		}
		all = append(all, raw)
		if value, err := url.QueryUnescape(raw); err == nil && value != raw {
			all = append(all, value)
		}
	}
	return all
}

// SaysSecret reports whether a name says that the value is secret, which is not
// the path of something that is there: the name's last word does. Many a KEY is
// none, so that one must look like it unless the word before says more. It looks at the
// disk where the value is an absolute path.
func SaysSecret(name, value string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool {
		return r == '_' || r == '-' ||
			('0' <= r && r <= '9')
	})
	if len(words) == 0 || isFile(value) {
		return false
	}
	last := words[len(words)-1]
	switch {
	case last == "KEY":
		kinds := []string{"API", "ACCESS", "SECRET", "PRIVATE", "AUTH", "SIGNING", "ENCRYPTION", "MASTER",
			"ACCOUNT", "SUBSCRIPTION"}
		return (len(words) > 1 && slices.Contains(kinds, words[len(words)-2])) ||
			(len(value) >= 16 && strings.ContainsAny(value, "0123456789"))
	case slices.Contains([]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PAT",
		"PASS", "JWT", "DSN"}, last):
		return true
	case last == "PWD": // the shell's own is the folder it is in
		return len(words) > 1
	case slices.Contains([]string{"AUTH", "CREDENTIAL", "CREDENTIALS"}, last): // may say how, or in which file
		return Telling(value)
	case last == "URL":
		return len(words) > 1 && words[len(words)-2] == "WEBHOOK"
	}
	return strings.HasSuffix(last, "APIKEY") || strings.HasSuffix(last, "TOKEN") || strings.HasSuffix(last, "SECRET") ||
		strings.HasSuffix(last, "PASSWORD")
}

// isFile reports whether a value is the path of something that is there.
func isFile(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Lstat(value)
	return err == nil
}
