package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// webSearchArgs are the arguments of web_search.
type webSearchArgs struct {
	Query string `json:"query"`
}

// webSearch returns the tool that searches the web by the provider's own search.
func webSearch() tool.Tool {
	return define("web_search", tool.Medium, `{
	"type": "object",
	"properties": {
		"query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "What to search for."}
	},
	"required": ["query"],
	"additionalProperties": false
}`, map[string]string{"q": "query", "search": "query"}, planWebSearch)
}

// planWebSearch plans a search: the query leaves the machine.
func planWebSearch(_ context.Context, env *tool.Env, args webSearchArgs) (*tool.Plan, error) {
	if env.Secret != nil && env.Secret(args.Query) {
		return nil, errSecret("query")
	}
	p := &tool.Plan{
		Risk: tool.Medium, Why: "sends the query to the search of the model's provider",
		Title:  "web_search " + title(args.Query),
		Leaves: true, Shape: "search", Covers: "any web search",
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return search(ctx, env, args.Query) },
	}
	if tool.Suspicious(args.Query) {
		p.Risk = p.Risk.Raise()
	}
	return p, nil
}

// search has the provider search, which is a call of a model and counts as one. The pages' words
// are tainted as Web.
func search(ctx context.Context, env *tool.Env, query string) (*tool.Result, error) {
	if env.Search == nil {
		return nil, tool.Errorf(tool.CodeFailed, "The provider of this run's model has no web search.")
	}
	answer, err := env.Search(ctx, query)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, part := range answer.Message.Parts {
		b.WriteString(part.Text)
	}
	if strings.TrimSpace(b.String()) == "" {
		b.WriteString("The search found nothing.")
	}
	if len(answer.Sources) > 0 {
		b.WriteString("\n\nSources:\n")
	}
	// The numbers are those of the sources in the provider's order.
	for i, source := range answer.Sources {
		fmt.Fprintf(&b, "[%d] %s: %s\n", i+1, tool.Escape(source.Title), tool.Escape(source.URL))
	}
	return &tool.Result{
		Content: b.String(), Taint: tool.Web,
		Display: fmt.Sprintf("Searched the web: %s (%s)", tool.MarkdownText(query),
			tool.Count(len(answer.Sources), "source", "sources")),
	}, nil
}

// errSecret says that an argument is not sent, since it holds a secret of the
// daemon's (SEC-102).
func errSecret(argument string) error {
	return tool.Errorf(tool.CodeDenied,
		"/%s: it holds a key or password that agentls keeps secret, as it is or encoded. It is never sent.", argument)
}
