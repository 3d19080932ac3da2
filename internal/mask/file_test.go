package mask

import (
	"maps"
	"reflect"
	"slices"
	"testing"
)

// TestSEC38SecretsOfFiles of every kind, and what in them is none.
func TestSEC38SecretsOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string][]string
	}{
		".env": {"# API_OLD=old-5ecret-x\nexport API_KEY=\"new#5ecret\" # rotated\nDB_HOST=postgres\nPORT=5432\nDEBUG=true\nAPP_URL=http://localhost:3000\n" +
			"DATABASE_URL=postgres://app:hunter2x9@db/app\nAPP_NAME='My Cool Application'\nDB_PASSWORD=correct horse battery\nIMAGE=python:3.11-slim\nTOKEN=${OTHER}\nMAIL_PASSWORD=\nAWS_S3_SECRET =\nAPIKEY2=\nKEY_FILE=/etc/ssl/my.key\n",
			map[string][]string{"API_OLD": {"old-5ecret-x"}, "API_KEY": {"new#5ecret"}, "DATABASE_URL": {"hunter2x9"}, "DB_PASSWORD": {"correct horse battery"}}},
		"a key in lines": {"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSj9w0==\n-----END PRIVATE KEY-----\n",
			map[string][]string{"": {"MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSj9w0=="}}},
		"a key in one line": {`KEY="-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----"`,
			map[string][]string{"KEY": {"MIIEvQIBADANBgkqhkiG9w0B"}}},
		".npmrc":      {"//registry.npmjs.org/:_authToken=npm-5ecret-abc\nregistry=https://registry.npmjs.org/\n", map[string][]string{"_authToken": {"npm-5ecret-abc"}}},
		".netrc":      {"machine example.com login ann password n3trc-5ecret\n", map[string][]string{"password": {"n3trc-5ecret"}}},
		"credentials": {"[default]\naws_access_key_id = AKIA0123456789ABCDEF\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPx=\nregion = eu-west-1\n", map[string][]string{"aws_access_key_id": {"AKIA0123456789ABCDEF"}, "aws_secret_access_key": {"wJalrXUtnFEMI/K7MDENG+bPx="}}},
		"git":         {"https://ann:t0ken-5ecret@example.com\n", map[string][]string{"": {"t0ken-5ecret"}}},
		"YAML":        {"users-of-the-cluster2:\n- name: me\n  user:\n    token: eyJ0b2tlbiI6MX0==\n", map[string][]string{"token": {"eyJ0b2tlbiI6MX0=="}}},
		"JSON":        {`{"type":"service_account","project_id":"my-project-1","list":[{"client_secret":"j5on-5ecret"}]}`, map[string][]string{"client_secret": {"j5on-5ecret"}}},
		"webhooks": {"SLACK=https://hooks.slack.com/services/T0/B0/aXb2cYd3eZf4\nCI=https://ci.example.com/oauth2/chat-completions-v2/graphql-v2\n" +
			"REPO=https://git.example.com/acme/my-app-k8s/x86_64-linux/release2024\nDB=sqlite:///srv/some3data5here/app\n",
			map[string][]string{"SLACK": {"aXb2cYd3eZf4"}}},
		"signed URLs": {"BLOB=https://x.blob.core.windows.net/logs-1?sv=2022-11-02&sp=r&sig=aB1c%2FdE2f%3D\nMAPS=https://example.com/?key=m4ps%2B5ecret&q=new-york\n",
			map[string][]string{"BLOB": {"aB1c%2FdE2f%3D", "aB1c/dE2f="}, "MAPS": {"m4ps%2B5ecret", "m4ps+5ecret"}}},
		"connection strings": {"STORE='BlobEndpoint=http://127.0.0.1:10000/dev;AccountKey=aB1c/dE2f+gH3i=='\nDB=host=localhost user=app password=p4ss-w0rd-9 sslmode=disable\n",
			map[string][]string{"STORE": {"aB1c/dE2f+gH3i=="}, "DB": {"p4ss-w0rd-9", "host=localhost user=app password=p4ss-w0rd-9 sslmode=disable"}}},
		"Latin-1": {"# caf\xe9\nKEY=latin-5ecret-1\nPASS=caf\xe9-5ecret\n", map[string][]string{"KEY": {"latin-5ecret-1"}, "PASS": {"caf\uFFFD-5ecret"}}},
		"no text": {"\x00\x01KEY=abcdefgh-12345", nil},
	} {
		got := SecretsOfFile([]byte(c.text))
		for _, values := range got {
			slices.Sort(values)
		}
		maps.DeleteFunc(got, func(_ string, v []string) bool { return len(v) == 0 })
		for name, values := range got {
			got[name] = slices.Compact(values)
		}
		for _, values := range c.want {
			slices.Sort(values)
		}
		if len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
