package tool

// Files that hold credentials, by name (SEC-20).

import (
	"strings"
)

// credentialFolders are the folders in which each file holds secrets, as
// sequences of names.
var credentialFolders = [][]string{
	{".ssh"}, {".aws"}, {".gnupg"}, {".azure"}, {".password-store"}, {".config", "gcloud"},
	{".config", "gh"}, {".kube"},
	{".docker", "config.json"}, {".local", "share", "keyrings"}, {".gemini", "agentls"},
	{".config", "git", "credentials"},
	{".config", "hub"}, {".config", "op"}, {".config", "rclone"}, {".config", "sops"}, {".cargo", "credentials"},
	{".cargo", "credentials.toml"},
	{".gem", "credentials"}, {".m2", "settings.xml"}, {".gradle", "gradle.properties"}, {".composer", "auth.json"},
}

// credentialFiles are the files that hold secrets, in any folder.
var credentialFiles = map[string]bool{
	".env": true, ".netrc": true, "_netrc": true, ".npmrc": true, ".pypirc": true,
	".git-credentials": true, ".pgpass": true,
	".my.cnf": true, ".vault-token": true, ".htpasswd": true, "id_rsa": true, "id_dsa": true,
	"id_ecdsa": true, "id_ed25519": true,
	"id_ecdsa_sk": true, "id_ed25519_sk": true, "oauth_creds.json": true, ".terraformrc": true, ".dockercfg": true,
	".s3cfg": true, ".boto": true,
}

// credentialName reports whether a folded name is one of a file of secrets.
//
// Examples of .env files and public keys are none.
func credentialName(name string) bool {
	if credentialFiles[name] {
		return true
	}
	if rest, ok := strings.CutPrefix(name, ".env"); ok && rest != "" && strings.ContainsRune("._-", rune(rest[0])) {
		return !isExample(rest)
	}
	if rest, ok := strings.CutPrefix(name, "id_"); ok && !strings.Contains(name, ".") {
		kind, _, _ := strings.Cut(strings.ReplaceAll(rest, "-", "_"), "_")
		return kind == "rsa" || kind == "dsa" || kind == "ecdsa" || kind == "ed25519"
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 {
		return false
	}
	stem := name[:dot]
	switch name[dot+1:] {
	case "env":
		return !isExample(stem)
	case "pem", "key":
		return !isPublic(stem)
	case "ppk", "p12", "pfx", "jks", "keystore", "kdbx", "tfstate":
		return true
	case "json":
		flat := strings.NewReplacer("-", "", "_", "").Replace(stem)
		return strings.HasPrefix(flat, "serviceaccount") || strings.HasPrefix(flat, "clientsecret") ||
			flat == "credentials" || flat == "applicationdefaultcredentials"
	}
	return false
}

// isExample reports whether a name says at its end that nothing in it is real.
func isExample(name string) bool {
	switch name[strings.LastIndexAny(name, "._-")+1:] {
	case "example", "examples", "sample", "template", "tmpl", "tpl", "dist", "defaults", "schema":
		return true
	}
	return false
}

// isPublic reports whether a name is one of a certificate or a public key.
func isPublic(stem string) bool {
	for word := range strings.FieldsFuncSeq(stem, func(r rune) bool { return r == '.' || r == '-' || r == '_' }) {
		switch word {
		case "pub", "public", "cert", "certs", "certificate", "certificates", "chain", "fullchain", "ca", "cacert",
			"cacerts", "crt", "bundle", "roots", "csr":
			return true
		}
	}
	return false
}

// withoutCopy returns the name of what a copy is of.
func withoutCopy(name string) string {
	for {
		was := name
		name = strings.Trim(name, "~#")
		for _, suffix := range [...]string{".bak", ".backup", ".old", ".orig", ".save", ".copy", ".swp", ".swo"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if name == was {
			return name
		}
	}
}

// hasPrefix reports whether parts begin with all of prefix.
func hasPrefix(parts, prefix []string) bool {
	if len(parts) < len(prefix) {
		return false
	}
	for i := range prefix {
		if parts[i] != prefix[i] {
			return false
		}
	}
	return true
}
