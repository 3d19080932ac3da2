package guardrail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// Patience is how long a validator may take (spec 6.1). It is for executables; what
// takes longer is an error of the validator, so the output is refused.
const Patience = 30 * time.Second

// MaxOutput is how much a command may print on each stream, in bytes. More is an error.
const MaxOutput = 64 << 10

// builtin returns one of the validators that are in the program. max-length(n) counts
// characters of the whole output.
func (g *Guard) builtin(name string) func(context.Context, Subject) ([]activity.GuardError, error) {
	switch {
	case name == "no-secrets":
		return g.noSecrets
	case name == "no-harmful-code":
		return g.noHarmfulCode
	}
	// A name that is none of these has no number, so its validator fails each time.
	digits, _ := strings.CutPrefix(strings.TrimSuffix(name, ")"), "max-length(")
	most, err := strconv.Atoi(digits)
	return func(_ context.Context, s Subject) ([]activity.GuardError, error) {
		if err != nil {
			return nil, errors.New("there is no such built-in validator")
		}
		if n := utf8.RuneCountInString(s.all()); n > most {
			return []activity.GuardError{{Message: fmt.Sprintf("has %d characters, and %d are allowed", n, most)}}, nil
		}
		return nil, nil
	}
}

// noSecrets finds credentials: those of the workspace and of the program, and what
// looks like one. What it found is not told. The texts are judged one by one and the
// output as a whole, since a secret may be escaped in JSON.
func (g *Guard) noSecrets(ctx context.Context, s Subject) ([]activity.GuardError, error) {
	if g.config.Secret == nil {
		return nil, errors.New("secrets are not known here")
	}
	for _, text := range append(s.texts(), s.all()) {
		what, err := g.config.Secret(ctx, text)
		if err != nil {
			return nil, err
		}
		if what != "" {
			return []activity.GuardError{{Message: "holds " + what + "; leave it out"}}, nil
		}
	}
	return nil, nil
}

// harm is code that does harm wherever it stands, with what it does.
type harm struct {
	code *regexp.Regexp
	does string
}

// patterns are what noHarmfulCode looks for, compiled at its first use.
var patterns = sync.OnceValues(func() (harmful []harm, commands []*regexp.Regexp) {
	for _, h := range [][2]string{
		{`\b(?:curl|wget)\b[^\n|;&]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b`,
			"runs what it fetches from the network"},
		{`\b(?:ba|z|da|k)?sh\s+<\(\s*(?:curl|wget)\b`, "runs what it fetches from the network"},
		{`/dev/(?:tcp|udp)/[^\s/]+/\d+`, "opens a shell to another machine"},
		{`\b(?:nc|ncat)\b[^\n]{0,80}\s-e\s+\S*sh\b`, "opens a shell to another machine"},
		{`\bbase64\s+(?:-d|-D|--decode)\b[^\n|]{0,100}\|\s*(?:ba|z)?sh\b`, "runs code that it hides"},
		{`\b(?:eval|exec)\s*\(\s*(?:atob|base64\.b64decode|Buffer\.from)\s*\(`, "runs code that it hides"},
		{`\bshutil\.rmtree\(\s*(?:r?["'](?:/|~|/home|/etc|/usr)/?["']|Path\.home\(\))`, "deletes a whole system"},
		{`\bfs\.rm(?:Sync)?\(\s*["'](?:/|~)["']`, "deletes a whole system"},
		{`:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:`, "starts processes without end"},
		{`(?i)\bDROP\s+DATABASE\b`, "deletes a whole database"},
	} {
		harmful = append(harmful, harm{regexp.MustCompile(h[0]), h[1]})
	}
	for _, where := range []string{"(?s)```[^\\n`]*\\n(.*?)```", "`([^`\\n]+)`",
		`(?m)^\s*[$#]\s+(\S.*)$`} { // blocks, spans, after a prompt
		commands = append(commands, regexp.MustCompile(where))
	}
	return harmful, commands
})

// noHarmfulCode finds code that plainly does harm. It knows the usual forms; what wants
// to hide from it can.
func (g *Guard) noHarmfulCode(_ context.Context, s Subject) ([]activity.GuardError, error) {
	harmful, places := patterns()
	for _, text := range s.texts() {
		for _, h := range harmful {
			if h.code.MatchString(text) {
				return []activity.GuardError{{Message: "holds code that " + h.does}}, nil
			}
		}
		if g.config.Disaster == nil {
			continue
		}
		for _, command := range commandsIn(text, places, s.Output != nil) {
			if why := g.config.Disaster(command); why != "" {
				shown, _ := tool.CutTo(command, 100)
				return []activity.GuardError{{Message: fmt.Sprintf("holds the command %q: %s", shown, why)}}, nil
			}
		}
	}
	return nil, nil
}

// commandsIn returns what of a text may be commands, a line each: in code blocks, in code
// spans and after a prompt. every has all lines be, as in a field of a result.
func commandsIn(text string, places []*regexp.Regexp, every bool) []string {
	var lines []string
	for _, pattern := range places {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			lines = append(lines, strings.Split(found[1], "\n")...)
		}
	}
	if every {
		lines = append(lines, strings.Split(text, "\n")...)
	}
	return lines
}

// command returns the validator of an executable (spec 6.1): it gets the output on its
// standard input, exit code 0 passes, 2 fails with what it wrote to standard error, any
// other is an error. It has Patience. Too much output is an error and not a finding: it
// was not read to its end.
func (g *Guard) command(text string, bare bool) Validator {
	return func(ctx context.Context, output json.RawMessage) ([]activity.GuardError, error) {
		// A bare name is the name of a file, which may have blanks in it.
		words := []string{text}
		if !bare {
			words = split(text)
		}
		if len(words) == 0 || g.config.Command == nil || g.config.Find == nil {
			return nil, errors.New("there is no such command")
		}
		path := g.config.Find(words[0], bare)
		if path == "" {
			return nil, fmt.Errorf("there is no executable %s", words[0])
		}
		ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("it did not end within %v", Patience))
		defer cancel()
		ended, err := g.config.Command(ctx, path, words, append([]byte(output), '\n'))
		switch {
		// The cause says whether it was the command's own time or the run's.
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		case ended.Stdout.Over() || ended.Stderr.Over():
			return nil, fmt.Errorf("it printed more than %d KiB", MaxOutput>>10)
		case ended.Code == 0:
			return nil, nil
		}
		complaint, _ := tool.CutTo(ended.Stderr.Text(), 2000)
		if ended.Code == 2 {
			if complaint == "" {
				complaint = "is refused, and no reason is given"
			}
			return []activity.GuardError{{Message: complaint}}, nil
		}
		return nil, errors.New(strings.TrimSuffix(fmt.Sprintf("it ended with exit code %d: %s",
			ended.Code, complaint), ": "))
	}
}

// split takes a command apart into words, which may be in quotes. Nothing is expanded.
// There are no escapes; a quote that does not end goes on to the end of the text.
func split(text string) []string {
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
