package main

import (
	"net/http"
	"net/url"
	"os"

	"github.com/agentls/agentls/internal/daemon"
)

// inherited is the environment that the program was started with, and nil in its tests,
// which do not begin with main.
var inherited []string

// environ returns the person's environment, as KEY=value, with its secrets. os.Environ
// does not have those any more.
func environ() []string {
	if inherited == nil {
		return os.Environ()
	}
	return inherited
}

// private keeps the secrets of the person's environment from all but the program
// itself (SEC-113). They leave the process's environment, so that nothing that is
// started gets them by accident, and what the system shows of the process to
// other programs; see [environ] for what they were. From then on the programs of
// the same person cannot look into the process, unless AGENTLS_DUMPABLE=1 is set,
// as what measures its memory needs it.
func private() {
	inherited = os.Environ()
	// net/http reads the environment once, so it does now: the address of a proxy may hold
	// a password, and is taken out of the environment then.
	_, _ = http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: "localhost"}})
	for _, name := range daemon.SecretVariables(inherited) {
		_ = os.Unsetenv(name) // it is set
	}
	hide(inherited, os.Getenv("AGENTLS_DUMPABLE") == "1")
}
