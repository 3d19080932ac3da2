package definition

// Code is the code of a finding and what it means. Codes are never renamed: people
// filter by them.
type Code struct {
	Name    string
	Meaning string // one sentence, for people
}

// Codes are the codes of all findings in agent files, settings and files of tests, in the order of
// their reference page. A test holds them to those that the code uses. Do not change it.
// [Problem.Fatal] says which of them keep an agent from running.
var Codes = []Code{
	{"agent/yaml", "The front-matter is no YAML, so nothing of it counts; the finding is where it cannot be read on."},
	{"agent/yaml-repaired", "The YAML was wrong in a way that leaves no doubt; the file is read as if it were corrected."},
	{"agent/yaml-feature", "YAML that agent files do not have: anchors, tags, several documents, a key twice."},
	{"agent/too-large", "The file, or its front-matter, is larger than agent files may be."},
	{"agent/missing-field", "A field that every agent needs is not there."},
	{"agent/unknown-field", "A key that no field has; with a fix where another one was meant."},
	{"agent/type", "A value has the wrong type or is out of its range."},
	{"agent/no-effect", "A field or value that changes nothing: the model does not take it, or another value stands beside it."},
	{"agent/name", "The name cannot be an agent's name."},
	{"agent/file-name", "The agent and its file have different names."},
	{"agent/duplicate-name", "Two agents of one folder have the same name."},
	{"agent/dialect", "A file in another tool's format, and what is read differently for it."},
	{"agent/authority", "A restriction of another tool that cannot be kept, so the agent does not run."},
	{"agent/authority-grows", "What an edit gives the agent that it could not do before."},
	{"agent/unreviewed", "The agent's file changed since you approved it; it runs with less until you review it."},
	{"agent/runsubagent", "The other tool's right to run every agent is read as delegation to the named ones."},
	{"agent/model-unknown", "No model of the table has this name."},
	{"agent/model-retired", "The provider has retired the model; another one is used."},
	{"agent/tool-unknown", "No tool has this name, so the entry gives or takes nothing."},
	{"agent/tool-unverified", "The tool belongs to an MCP server that is not connected yet."},
	{"agent/tool-conflict", "A tool is both allowed and denied; denied counts."},
	{"agent/mcp-unknown", "No MCP server of this name is configured."},
	{"agent/prompt-empty", "The system prompt is empty, so the agent does not run."},
	{"agent/prompt-twice", "The prompt is given as a field and as the body; the body counts."},
	{"agent/placeholder", "A placeholder that nothing fills in."},
	{"agent/regex", "A pattern that does not compile, or is too large."},
	{"agent/expression", "A condition that does not compile, or is too large."},
	{"agent/schema", "A JSON Schema that cannot be used."},
	{"agent/validator", "A guard that cannot be run, or that checks nothing."},
	{"agent/handoff-target", "A handoff to an agent that is not there or cannot take it."},
	{"agent/handoff-cycle", "Agents hand over to each other without a condition that ends it."},
	{"agent/subagent-unknown", "A subagent that is not there."},
	{"agent/overlap", "Two agents are for the same inputs, so routing cannot tell them apart."},
	{"agent/dead", "Nothing can ever choose this agent."},
	{"agent/graph", "The graph cannot be run: a node or an edge is wrong."},
	{"agent/secret", "A text that looks like a credential."},
	{"agent/hidden-text", "Characters that a reader does not see."},
	{"mcp/left-out", "A server's tools are left out of a run, with the reason."},
	{"settings/json", "The settings file is no JSON, so nothing of it counts."},
	{"settings/unknown-key", "A key that no setting has."},
	{"settings/value", "A value that a setting cannot have; its default counts."},
	{"settings/agent-unknown", "An override names an agent that is not there."},
	{"settings/override", "What an override asks for and does not get."},
	{"settings/mcp-unpinned", "An MCP server is started from a package without an exact version."},
	{"agent-test/yaml", "The file of tests is no YAML."},
	{"agent-test/unknown-key", "A key that tests do not have."},
	{"agent-test/value", "A value that a test cannot have."},
	{"agent-test/agent-unknown", "The test names an agent that is not there."},
	{"agent-test/failed", "The test ran last with this failure."},
}
