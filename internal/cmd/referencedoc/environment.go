package main

// variable is one environment variable that the program reads.
type variable struct{ name, effect string }

// group is some that belong together.
type group struct {
	title string
	all   []variable
}

// environment are the variables that agentls reads. A test finds names in the
// source that have no row here, and rows that nothing reads.
var environment = []group{
	{"Models", []variable{
		{"GEMINI_API_KEY", "Your key for the Gemini API (<https://aistudio.google.com/apikey>)."},
		{"GOOGLE_API_KEY", "The same; it counts where both are set. On Vertex AI without a project, the key of express mode."},
		{"GOOGLE_GEMINI_BASE_URL", "Another address of the Gemini API, as that of a proxy."},
		{"GOOGLE_GENAI_USE_VERTEXAI", "`true` or `1`: models are reached on Vertex AI."},
		{"GOOGLE_GENAI_USE_ENTERPRISE", "The same, by its newer name, which counts where both are set."},
		{"GOOGLE_CLOUD_PROJECT", "The project on Vertex AI."},
		{"GOOGLE_CLOUD_LOCATION", "The location on Vertex AI."},
		{"GOOGLE_CLOUD_REGION", "The same, where the location is not set."},
		{"GOOGLE_APPLICATION_CREDENTIALS",
			"The file of credentials for Vertex AI; without it, those of `gcloud auth application-default login`."},
		{"GOOGLE_VERTEX_BASE_URL", "Another address of Vertex AI."},
	}},
	{"agentls", []variable{
		{"GEMINI_HOME", "The folder of your settings, agents and sessions, in place of `~/.gemini`; an absolute path."},
		{"AGENTLS_TRUST", "`1`: the folder counts as trusted in this process, as with `--trust`. For CI."},
		{"AGENTLS_DEBUG", "Not empty: the log has everything."},
		{"AGENTLS_DUMPABLE", "`1` (Linux): debuggers and other programs of yours may read the memory of agentls, in which your key is."},
		{"GOMEMLIMIT", "How much memory `agentls serve` aims to stay below, as `1GiB`; it chooses a limit by itself where this is not set."},
		{"HTTPS_PROXY", "The proxy for requests to models and the web; `HTTP_PROXY`, `NO_PROXY` and `ALL_PROXY` as usual."},
	}},
	{"Routing, in place of the settings", []variable{
		{"GEMINI_ROUTING_ENABLED", "`agents.routing.enabled`."},
		{"GEMINI_ROUTING_STRATEGY", "`agents.routing.strategy`."},
		{"GEMINI_ROUTING_THRESHOLD", "`agents.routing.rule.confidence_threshold`."},
	}},
	{"The prompt of main", []variable{
		{"GEMINI_PROMPT_*", "`0` leaves a module out: `GEMINI_PROMPT_PREAMBLE`, `…_CORE_MANDATES`, `…_PRIMARY_WORKFLOWS`, `…_OPERATIONAL_GUIDELINES`, `…_SANDBOX`, `…_GIT`, `…_FINAL_REMINDER`."},
		{"GEMINI_SYSTEM_MD", "`1`: `~/.gemini/system.md` is the prompt; a path: that file is."},
		{"GEMINI_WRITE_SYSTEM_MD", "`1` or a path: the prompt is written there."},
		{"SANDBOX", "As gemini-cli sets it in its own sandbox: the prompt says that the agent is in one."},
	}},
	{"Traces", []variable{
		{"OTEL_EXPORTER_OTLP_ENDPOINT",
			"Where traces with the backend `otlp` are sent; `http://localhost:4318` without it."},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "The whole address for traces; it counts over the one above."},
		{"OTEL_EXPORTER_OTLP_HEADERS", "Headers of these requests, as `name=value,name=value`."},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "More headers, for traces."},
		{"LANGSMITH_API_KEY", "Your key for traces with the backend `langsmith`."},
		{"LANGCHAIN_API_KEY", "The same, by its older name."},
		{"LANGSMITH_PROJECT", "The project there."},
		{"LANGSMITH_ENDPOINT", "Another address of LangSmith."},
	}},
	{"The terminal", []variable{
		{"NO_COLOR", "Not empty: no colours, no moving lines."},
		{"TERM", "`dumb`: plain lines only, no forms."},
		{"ACCESSIBLE", "Not empty: a conversation is plain lines, which screen readers read."},
		{"VISUAL", "The editor for `agentls edit` and for changing a call at a question."},
		{"EDITOR", "The same, where VISUAL is not set."},
	}},
	{"What programs get that agents and hooks start", []variable{
		{"AGENTLS", "`1`, in every program that an agent starts. Keys and most other variables of yours are not passed on ([security](../security.md))."},
		{"GEMINI_PROJECT_DIR", "The workspace folder: of hooks and validators."},
		{"CLAUDE_PROJECT_DIR", "The same, as Claude Code's hooks expect it."},
		{"GEMINI_CWD", "The same, as gemini-cli's hooks expect it."},
		{"GEMINI_SESSION_ID", "The session: of hooks."},
	}},
}

// environmentPage is the page of the variables.
func environmentPage() []byte {
	p := newPage("Environment variables")
	p.say("Those under *Models* may also stand in the section `env` of your own `~/.gemini/settings.json`; the environment counts over it. A project cannot set any of them.")
	for _, g := range environment {
		p.say("## %s", g.title)
		var rows [][]string
		for _, v := range g.all {
			rows = append(rows, []string{code(v.name), v.effect})
		}
		p.table([]string{"variable", "effect"}, rows)
	}
	return p.text()
}
