package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/sandbox"
)

// Server is the description of a server in the settings.
// It is made by [Parse] and not changed afterwards, so it may be copied and shared;
// the maps and slices are shared by copies. Variables are put in everywhere but in
// Address, which is what is shown.
type Server struct {
	// The key in mcpServers: one word without a dot, since tools are called
	// mcp.server.tool.
	Name    string
	Project bool // the description is a project's, and not the person's own

	// Via is the key of the address of a server that is not started here, [overHTTP]
	// or [overSSE]; "" = it is started by Command.
	Via string
	// With variables put in, so it may hold a token; "" = it is started by Command.
	URL     string
	Address string      // the URL as it is written, without what variables stand for
	Headers http.Header // of each request
	oauth   oauth       // how the person logs in

	// A program by name or path, ~/ for the person's home; it is not a line for a
	// shell.
	Command string
	Args    []string
	Env     []string // NAME=value, sorted
	Dir     string   // in which it is started; "" = the workspace folder
	// Of one call; from 1 s to 24 h, 10 min where none is given.
	Timeout   time.Duration
	Trust     bool     // its calls have tier low; the person's own settings only
	SafeTools []string // these have tier safe; the person's own settings only
	Sampling  bool     // it may ask the model, through the person; their own settings only
	Include   []string // nil = all tools
	// Tools that are not offered, also where Include has them.
	Exclude []string
	// For the person.
	Description string
	// Whether it is started with the workspace, and not only when a run needs it.
	AutoStart bool
	// The wall around its process: read, write or full; "" = no wall. A project's
	// server has write where it says nothing.
	Sandbox sandbox.Access

	// Problem says why the server cannot be started, for the person; "" = it can be.
	Problem string
	// Digest stands for the whole description, and for what else was approved with
	// it: another digest is another server.
	Digest string
}

// The time that a call has by default and at most.
const (
	defaultTimeout = 10 * time.Minute
	maxTimeout     = 24 * time.Hour
)

// described is a server as it is written in the settings.
type described struct {
	Command      string                    `json:"command"`
	Args         []string                  `json:"args"`
	Env          map[string]jsontext.Value `json:"env"`
	Cwd          string                    `json:"cwd"`
	URL          string                    `json:"url"`
	HTTPURL      string                    `json:"httpUrl"`
	Headers      map[string]string         `json:"headers"`
	Timeout      float64                   `json:"timeout"`
	Trust        bool                      `json:"trust"`
	SafeTools    []string                  `json:"safeTools"`
	Sampling     bool                      `json:"sampling"`
	IncludeTools []string                  `json:"includeTools"`
	ExcludeTools []string                  `json:"excludeTools"`
	Description  string                    `json:"description"`
	AutoStart    bool                      `json:"autoStart"`
	Sandbox      string                    `json:"sandbox"`
	OAuth        jsontext.Value            `json:"oauth"`
}

// Parse reads the description of a server. What cannot be used is returned with
// its Problem. lookup returns variables that ${NAME} may stand for; approved goes
// into the digest, as the digest of a script that the command runs.
// It reads no files and looks nothing up but through lookup, which is called only for
// variables that are written there. Members that are not known are ignored.
func Parse(name string, project bool, raw []byte, approved string, lookup func(string) (string, bool)) Server {
	s := Server{Name: name, Project: project}
	sum := sha256.Sum256(fmt.Appendf(nil, "%t\n%s\n%s", project, approved, raw))
	s.Digest = hex.EncodeToString(sum[:])
	if strings.Contains(name, ".") || !nameable(name) {
		s.Problem = "its name cannot be that of a server: use letters, digits, - and _"
		return s
	}
	var d described
	if err := json.Unmarshal(raw, &d); err != nil {
		s.Problem = fmt.Sprintf("its description in the settings cannot be read: %v", err)
		return s
	}
	s.Description, s.AutoStart = d.Description, d.AutoStart
	s.Include, s.Exclude = d.IncludeTools, d.ExcludeTools
	if !project { // a project does not say how far it is to be trusted
		s.Trust, s.SafeTools, s.Sampling = d.Trust, d.SafeTools, d.Sampling
	}
	if err := s.fill(d, lookup); err != nil {
		s.Problem = err.Error()
	}
	return s
}

// fill checks a description and takes it over. The error is the Problem: it says what
// to write instead.
// A server that a project brings gets the wall for writing where it names none; the
// person's own is not walled then. Variables are put in last (expand).
func (s *Server) fill(d described, lookup func(string) (string, bool)) error {
	for via, address := range map[string]string{overHTTP: d.HTTPURL, overSSE: d.URL} {
		switch {
		case address == "":
		case d.Command != "" || s.Via != "":
			return errors.New("its description has more than one of command, httpUrl and url; leave one")
		default:
			s.Via, s.Address = via, address
		}
	}
	// What could not be heeded is refused: a person who writes it relies on it.
	switch remote := s.Via != ""; {
	case !remote && d.Command == "":
		return errors.New("its description has no command, httpUrl or url; add the program that starts it, or its address")
	case remote && (len(d.Args) > 0 || len(d.Env) > 0 || d.Cwd != "" || d.Sandbox != ""):
		return errors.New("args, env, cwd and sandbox are for servers that are started by a command; leave them out")
	case !remote && len(d.Headers) > 0:
		return errors.New("headers are for servers over HTTP; leave them out")
	}
	if s.Timeout = time.Duration(d.Timeout * float64(time.Millisecond)); d.Timeout == 0 {
		s.Timeout = defaultTimeout
	} else if s.Timeout < time.Second || s.Timeout > maxTimeout {
		return errors.New("its timeout is in milliseconds, from 1000 to 86400000")
	}
	switch access := sandbox.Access(d.Sandbox); {
	case s.Via != "":
	case access == "" && s.Project:
		s.Sandbox = sandbox.Write
	case access == "", access == sandbox.Full:
		s.Sandbox = access
	case access.Connects():
		return fmt.Errorf("sandbox: %s is not supported for servers yet; use read, write or full", access)
	case access.Valid():
		s.Sandbox = access
	default:
		return fmt.Errorf("its sandbox is %q; use read, write or full", d.Sandbox)
	}
	return s.expand(d, lookup)
}

// expand puts variables into what starts the server.
// A variable with a default that is not set, or empty, is its default. All that are
// missing are named in one error.
func (s *Server) expand(d described, lookup func(string) (string, bool)) error {
	var missing []string
	put := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(whole string) string {
			m := variable.FindStringSubmatch(whole)
			value, ok := lookup(m[1])
			if m[2] != "" { // :-default
				return cmp.Or(value, m[2][2:])
			}
			if !ok && !slices.Contains(missing, m[1]) {
				missing = append(missing, m[1])
			}
			return value
		})
	}
	s.Command, s.Dir, s.URL = put(d.Command), put(d.Cwd), put(s.Address)
	if err := s.parseOAuth(d.OAuth, put); err != nil {
		return err
	}
	// Sorted, so that the first error is always the same one.
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		value := put(d.Headers[name])
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("headers has %q, which no request can have", name)
		}
		if s.Headers == nil {
			s.Headers = make(http.Header)
		}
		s.Headers.Set(name, value)
	}
	for _, arg := range d.Args {
		s.Args = append(s.Args, put(arg))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		var value string
		if raw := d.Env[name]; json.Unmarshal(raw, &value) != nil {
			if kind := raw.Kind(); kind == '{' || kind == '[' || kind == 'n' {
				return fmt.Errorf("env.%s must be a text", name)
			}
			value = string(raw) // a number, true or false
		}
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env has the name %q, which no variable can have", name)
		}
		s.Env = append(s.Env, name+"="+put(value))
	}
	if len(missing) > 0 {
		where := "set it in the environment that starts agentls"
		if s.Project {
			where = "a project's server gets only the variables that commands get; describe the server in your own settings to give it others"
		}
		return fmt.Errorf("the variable %s is not set; %s", strings.Join(missing, ", "), where)
	}
	// Checked last, since variables may hold the address.
	if s.Via != "" {
		return s.checkAddress()
	}
	return nil
}

// checkAddress refuses addresses that cannot be used, and those at which others could
// read what is sent: http is for this machine and private addresses.
func (s *Server) checkAddress() error {
	u, err := dial.ParseURL(s.URL)
	if err != nil {
		return fmt.Errorf("its %s: %w", s.Via, err)
	}
	// Only what the name itself says: to look it up now would prove nothing about the calls.
	inside := new(dial.Dialer).Check(u.Hostname, 80) != nil
	switch {
	case inside && s.Project:
		return fmt.Errorf("its %s is an address of this machine or a private network; describe the server in your own settings", s.Via)
	case u.Scheme == "http" && !inside:
		return fmt.Errorf("its %s is not encrypted; use https (http is for this machine, and for private networks by an IP address)", s.Via)
	}
	return nil
}

// variable is ${NAME}, or ${NAME:-default}.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// offers reports whether the settings let a tool of the server be offered.
func (s *Server) offers(tool string) bool {
	return (s.Include == nil || slices.Contains(s.Include, tool)) && !slices.Contains(s.Exclude, tool)
}
