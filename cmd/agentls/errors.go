package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// about is what the data of the daemon's error says. Fields that its kind does not have
// are zero.
type about struct {
	Kind        string   `json:"kind"`
	Path        string   `json:"path"`        // of parameters that make no sense: which
	Session     string   `json:"session"`     // of unknownSession and busy
	Holder      string   `json:"holder"`      // of busy: who has the session
	Suggestions []string `json:"suggestions"` // of unknownAgent
}

// answered is an error that the daemon answered, in the words of the command line: where
// an editor calls a method, a person types a command. The error as it came stays reachable
// by errors.As, for its code.
type answered struct {
	about about
	text  string
	error // as it came
}

// Error implements error.
func (a *answered) Error() string { return a.text }

// Unwrap returns the error as it came.
func (a *answered) Unwrap() error { return a.error }

// Call asks the daemon and stores its answer in result, which may be nil. It hides the
// client's own Call, so that every error of a command is in the words of the command line.
func (c *connection) Call(ctx context.Context, method string, params, result any) error {
	return inOurWords(method, c.Client.Call(ctx, method, params, result))
}

// inOurWords turns the error of a method into one for a person at the command line, by its
// kind or the path of what is wrong. Errors that are not the daemon's answer, as of a
// connection that broke, are returned as they are.
func inOurWords(method string, err error) error {
	e, ok := errors.AsType[*jsonrpc2.Error](err)
	if !ok {
		return err
	}
	a := &answered{text: e.Message, error: err}
	_ = json.Unmarshal(e.Data, &a.about) // what has no data is told as it is
	// What the daemon advises is for an editor, and is replaced below.
	what, _ := advice(e.Message)
	switch fault.Reason(a.about.Kind) {
	case fault.UnknownAgent:
		if len(a.about.Suggestions) == 0 {
			a.text = what + "; see `agentls list`"
		}
	case fault.UnknownSession:
		a.text = fmt.Sprintf("there is no session %s; see `agentls sessions list`", tool.Escape(a.about.Session))
	case fault.Busy:
		if a.about.Holder != "" {
			a.text = what + "; end that one first, or use another: --session NAME, or --session new"
		}
	}
	a.text = withoutEditor(a.text)
	if method == wire.MethodCreate {
		a.text = inFlags.Replace(a.text)
	}
	// An error about parameters begins with the method.
	if rest, ok := strings.CutPrefix(a.text, method+": "); ok && e.Code == jsonrpc2.InvalidParams {
		a.text = rest
		if ours := ourNames[a.about.Path]; ours != "" {
			a.text = ours + strings.TrimPrefix(rest, a.about.Path)
		}
	}
	return a
}

// inFlags adds the flags to what the daemon says to do with the members of a request.
var inFlags = strings.NewReplacer("replace it with force", "replace it with --force",
	"under another name", "under another name: --name NAME", "to another folder", "to another folder: --out DIR")

// withoutEditor leaves out of a text the command of an editor that does the same as the
// one of the command line behind it.
func withoutEditor(text string) string {
	text = strings.Replace(text, "the command agentls.trustWorkspace of your editor (agents/trust) or ", "", 1)
	return strings.Replace(text, "agents/run or `", "`", 1)
}

// ourNames are what the command line calls parameters of the protocol, by their path in an
// error about invalid parameters. A path that is not here is shown as it is.
var ourNames = map[string]string{
	"agent": "the agent's name", "name": "the agent's name", "session": "the session's name",
	"input": "the prompt", "inputs": "--inputs",
	"toSeq": "the place", "atSeq": "the place", "template": "--template",
}

// aboutOf returns what the data of an error says; nothing where it is none of
// the daemon's.
func aboutOf(err error) about {
	if a, ok := errors.AsType[*answered](err); ok {
		return a.about
	}
	return about{}
}

// misread explains an error of a run whose command line may have been meant otherwise:
// args are what was given besides flags, the agent's name first. A missing prompt becomes
// a usage error. For an unknown agent it adds the command that takes the arguments as a
// request, since the name may be the first word of one that was not quoted. Other errors
// are returned unchanged.
func misread(err error, args []string, agent string) error {
	of := aboutOf(err)
	switch {
	case of.Path == "input":
		return usage{fmt.Errorf("there is nothing to do; give a prompt, as in agentls run %s \"your request\"",
			cmp.Or(agent, "main"))}
	// A second argument of several words was a prompt in quotes, so the first was meant
	// as a name.
	case of.Kind != string(fault.UnknownAgent) || len(args) == 0 ||
		(len(args) == 2 && strings.ContainsAny(args[1], " \n")):
		return err
	}
	how := "agentls run " + shellQuote(strings.Join(args, " "))
	if len(args) == 1 {
		how = "agentls run --prompt " + shellQuote(args[0]) // one word is taken for a name
	}
	what, do := advice(err.Error())
	if !strings.HasSuffix(do, "?") {
		do += ", or"
	}
	return &answered{of, fmt.Sprintf("%s; %s for a request: %s", what, do, how), err}
}

// shellQuote quotes a text for a POSIX shell, to be shown in a command that a person
// copies. Control characters are escaped first, so the text may differ from the original.
func shellQuote(text string) string {
	if text = tool.Escape(text); strings.ContainsAny(text, "\"$`\\!") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return `"` + text + `"`
}

// textsOf returns what a person is shown of an error, not yet escaped: one text, or one
// for each error that [errors.Join] has put together. A line end within a text is a part
// of it, as of a file's name, and does not begin another. The kind that package fault adds
// is for programs and is left out.
func textsOf(err error) []string {
	switch e := err.(type) {
	case *fault.Error:
		return textsOf(e.Err)
	case *os.SyscallError:
		if e.Syscall == "getwd" && errors.Is(e, fs.ErrNotExist) {
			return []string{"the folder that you are in was removed or moved; change to another one"}
		}
	case interface{ Unwrap() []error }:
		var whole, texts []string
		for _, one := range e.Unwrap() {
			whole, texts = append(whole, one.Error()), append(texts, textsOf(one)...)
		}
		// errors.Join puts texts below each other; other errors that wrap several do not.
		if strings.Join(whole, "\n") == err.Error() { // else they stand in a sentence
			return texts
		}
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil {
			break
		}
		before, ok := strings.CutSuffix(err.Error(), inner.Error())
		if texts := textsOf(inner); ok && len(texts) > 1 {
			texts[0] = before + texts[0]
			return texts
		}
	}
	return []string{err.Error()}
}

// errorText is an error as it is printed: what is wrong, and below it what to do, of each
// of its texts. It relies on how our errors are written: the last part behind "; " is the
// advice. Every line is escaped.
func errorText(err error) string {
	var lines []string
	if aboutOf(err).Kind == string(fault.NoAgent) { // has a list, of which each line is escaped where it is made
		lines = strings.Split(strings.Join(textsOf(err), "\n"), "\n")
	} else {
		for _, text := range textsOf(err) {
			what, do := advice(text)
			if lines = append(lines, what); do != "" {
				lines = append(lines, "  "+capital(do))
			}
		}
	}
	for i, line := range lines {
		lines[i] = tool.Escape(line)
	}
	return strings.Join(lines, "\n")
}

// advice splits the text of an error into what is wrong and what to do, which stands
// behind the last semicolon; "" where there is none.
func advice(text string) (what, do string) {
	n := strings.LastIndex(text, "; ")
	if n < 0 {
		return text, ""
	}
	return text[:n], text[n+len("; "):]
}

// capital begins a text with a capital letter, but for a command.
func capital(text string) string {
	if strings.HasPrefix(text, "agentls ") {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
