package mask

import "testing"

// TestSEC115AWordIsNoSecret: what a variable called a password may hold, and
// still stand everywhere.
func TestSEC115AWordIsNoSecret(t *testing.T) {
	for _, word := range []string{
		"", "hunter2", "postgres", "password", "PASSWORD", "Password", "changeme", "changeMe", "change-me", "change_me", "development",
		"localhost", "localhost:5432", "not-set.yet", "myPassword", "test-token", "100000000", "2024-01-01", "192.168.100.1", "postgres:postgr",
		"/var/lib/postgresql/data", "~/keys/of/mine.pem", "./secrets/key.json", `C:\keys\mine.pem`, "/usr/lib/python3.11/site-packages",
		"<your-api-key>", "${GITHUB_TOKEN}", "$GITHUB_TOKEN", "{{ token }}", "your-api-key-goes-here", "xxxxxxxxxxxxxxxxxxxxxxxx", "********",
	} {
		if Telling(word) {
			t.Errorf("%q is a secret", word)
		}
	}
	for _, secret := range []string{
		"abcdefgh1", "hunter2hunter2", "hunter2-hunter", "server1-token", "changeme123", "p@ssw0rd!", "xKbQzRtY", "qWeRtYuIoP", "/bPx+abcdefg",
		"correct horse battery", "abcdefghijklmnopqrstuvwx", "1234567890123456", "held-by-us-12345", "3f2a9c0e7b1d", "user:hunter2hunter2",
		"/K7MDENGbPxRfiCYEXAMPLEKEY1a/wJalrXUtnFEMI", "sk-" + "abcdefghijklmnopqrstuvwxyz012345", "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
		"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
	} {
		if !Telling(secret) {
			t.Errorf("%q is a word", secret)
		}
	}
}
