package definition

// The table of other tools' names for tools (spec 1.7).

import "strings"

// foreign is what another tool's name for a tool becomes: what it allows, and
// what it denies, which is more: each of our tools that can do what the denied
// one can. Both empty: known, without a counterpart here.
// So a row that is not exact gives the agent less, in a list of either kind.
type foreign struct {
	allow []string
	deny  []string
}

// sets are the tools that several names below stand for.
// Rows are parts of these slices, so nobody may change them.
var (
	reads     = []string{"read_file", "read_many_files", "ls"}
	searches  = []string{"grep", "glob", "ls"}
	edits     = []string{"edit_file", "write_file", "apply_patch"}
	changes   = []string{"edit_file", "write_file", "apply_patch", "delete_file", "move_file"}
	commands  = []string{"bash", "git_commit", "delete_file", "move_file"}
	languages = []string{"diagnostics", "symbols", "definition", "references"}
	webs      = []string{"web_fetch", "web_search"}
)

// foreignTools is keyed by lower case. It is never changed.
var foreignTools = map[string]foreign{
	// Claude Code.
	"read":      {reads[:2], reads[:2]},
	"write":     {[]string{"write_file"}, []string{"write_file", "apply_patch", "move_file", "delete_file"}},
	"edit":      {[]string{"edit_file"}, []string{"edit_file", "apply_patch"}},
	"multiedit": {[]string{"edit_file"}, []string{"edit_file", "apply_patch"}},
	"bash":      {commands[:1], commands},
	"glob":      {searches[1:2], searches[1:2]},
	"grep":      {searches[:1], searches[:1]},
	"ls":        {searches[2:], searches[2:]},
	"webfetch":  {webs[:1], webs[:1]},
	"websearch": {webs[1:], webs[1:]},
	"todowrite": {[]string{"write_todos"}, []string{"write_todos"}},
	"todoread":  {[]string{"write_todos"}, []string{"write_todos"}},
	"task":      {[]string{"delegate_to_agent"}, []string{"delegate_to_agent"}},
	"agent":     {[]string{"delegate_to_agent"}, []string{"delegate_to_agent"}},
	"lsp":       {languages, languages},

	"taskcreate": {[]string{"write_todos"}, []string{"write_todos"}},
	"taskget":    {[]string{"write_todos"}, []string{"write_todos"}},
	"tasklist":   {[]string{"write_todos"}, []string{"write_todos"}},
	"taskupdate": {[]string{"write_todos"}, []string{"write_todos"}},

	"askuserquestion": {[]string{"ask_user"}, []string{"ask_user"}},
	// A notebook's cells are less than any file, so these allow nothing.
	"notebookedit": {nil, []string{"edit_file", "write_file", "apply_patch"}},
	"notebookread": {nil, nil},
	"bashoutput":   {nil, nil},
	"killshell":    {nil, nil},
	"killbash":     {nil, nil},
	"exitplanmode": {nil, nil},
	"skill":        {nil, nil},
	"slashcommand": {nil, nil},
	"sendmessage":  {nil, nil},
	"toolsearch":   {nil, nil},

	// opencode.
	"list":     {searches[2:], searches[2:]},
	"patch":    {[]string{"apply_patch"}, []string{"apply_patch"}},
	"question": {[]string{"ask_user"}, []string{"ask_user"}},

	// gemini-cli, where its names are not aliases of ours.
	"codebase_investigator": {nil, []string{"delegate_to_agent"}},
	"get_internal_docs":     {nil, nil},
	"enter_plan_mode":       {nil, nil},
	"exit_plan_mode":        {nil, nil},

	// Copilot and VS Code: bare names.
	"editfiles":            {edits, changes},
	"createfile":           {[]string{"write_file"}, []string{"write_file", "apply_patch"}},
	"codebase":             {[]string{"grep", "glob", "ls", "read_file", "read_many_files", "symbols"}, searches},
	"search":               {append(append([]string{}, searches...), "symbols", "references"), searches},
	"filesearch":           {searches[1:2], searches[1:2]},
	"textsearch":           {searches[:1], searches[:1]},
	"listdirectory":        {searches[2:], searches[2:]},
	"readfile":             {reads[:1], reads[:2]},
	"searchresults":        {nil, nil},
	"findtestfiles":        {searches[1:2], searches[1:2]},
	"usages":               {[]string{"references", "definition", "symbols"}, []string{"references", "definition"}},
	"problems":             {[]string{"diagnostics"}, []string{"diagnostics"}},
	"fetch":                {webs[:1], webs[:1]},
	"web":                  {webs, webs},
	"todo":                 {[]string{"write_todos"}, []string{"write_todos"}},
	"todos":                {[]string{"write_todos"}, []string{"write_todos"}},
	"execute":              {commands[:1], commands},
	"terminal":             {commands[:1], commands},
	"terminalcommand":      {commands[:1], commands},
	"runcommands":          {commands[:1], commands},
	"runinterminal":        {commands[:1], commands},
	"run_in_terminal":      {commands[:1], commands},
	"runsubagent":          {[]string{"delegate_to_agent"}, []string{"delegate_to_agent"}},
	"custom-agent":         {[]string{"delegate_to_agent"}, []string{"delegate_to_agent"}},
	"askquestions":         {[]string{"ask_user"}, []string{"ask_user"}},
	"runtasks":             {nil, commands},
	"runtests":             {nil, commands},
	"runnotebooks":         {nil, nil},
	"testfailure":          {nil, nil},
	"terminallastcommand":  {nil, nil},
	"terminalselection":    {nil, nil},
	"changes":              {nil, nil},
	"extensions":           {nil, nil},
	"githubrepo":           {nil, nil},
	"new":                  {nil, nil},
	"opensimplebrowser":    {nil, nil},
	"vscodeapi":            {nil, nil},
	"vscode":               {nil, nil},
	"rendermermaiddiagram": {nil, nil},

	// Copilot and VS Code: set/tool.
	"edit/editfiles":       {[]string{"edit_file", "apply_patch"}, []string{"edit_file", "apply_patch"}},
	"edit/createfile":      {[]string{"write_file"}, []string{"write_file", "apply_patch"}},
	"edit/createdirectory": {nil, nil},
	"edit/rename":          {[]string{"move_file"}, []string{"move_file"}},
	"edit/editnotebook":    {nil, []string{"edit_file", "apply_patch"}},
	"search/codebase": {[]string{"grep", "glob", "ls", "read_file", "read_many_files",
		"symbols"}, searches},
	"search/filesearch":    {searches[1:2], searches[1:2]},
	"search/textsearch":    {searches[:1], searches[:1]},
	"search/listdirectory": {searches[2:], searches[2:]},
	"search/usages": {[]string{"references", "definition", "symbols"},
		[]string{"references", "definition"}},
	"search/readfile":               {reads[:1], reads[:2]},
	"read/readfile":                 {reads[:1], reads[:2]},
	"read/problems":                 {[]string{"diagnostics"}, []string{"diagnostics"}},
	"web/fetch":                     {webs[:1], webs[:1]},
	"web/search":                    {webs[1:], webs[1:]},
	"execute/runinterminal":         {commands[:1], commands},
	"runcommands/runinterminal":     {commands[:1], commands},
	"execute/getterminaloutput":     {nil, nil},
	"runcommands/getterminaloutput": {nil, nil},
	"agent/runsubagent":             {[]string{"delegate_to_agent"}, []string{"delegate_to_agent"}},
	"vscode/askquestions":           {[]string{"ask_user"}, []string{"ask_user"}},
	"vscode/memory":                 {nil, nil},
}

// copilotTools is what differs from foreignTools in Copilot's files, where these
// are sets and not single tools.
var copilotTools = map[string]foreign{
	"read":    {append(append([]string{}, reads...), "diagnostics"), reads},
	"edit":    {edits, changes},
	"search":  {append(append([]string{}, searches...), "symbols", "references", "definition"), searches},
	"shell":   {commands[:1], commands},
	"todo":    {[]string{"write_todos"}, []string{"write_todos"}},
	"execute": {commands[:1], commands},
}

// copilotSets are the first parts of Copilot's own names; another first part
// is an MCP server.
var copilotSets = map[string]bool{
	"edit": true, "search": true, "read": true, "execute": true, "web": true, "vscode": true,
	"agent": true, "todo": true,
	"runcommands": true, "runtasks": true, "runnotebooks": true, "runtests": true, "new": true, "browser": true,
}

// foreignTool looks a name of any other tool up. Case does not count.
// The keys of the table are in lower case.
func foreignTool(name string) (foreign, bool) {
	f, ok := foreignTools[strings.ToLower(name)]
	return f, ok
}

// translation is what one entry of another dialect's list becomes.
// known is false for a name in no table. The slices may belong to the tables.
type translation struct {
	foreign
	server  string   // the MCP server that the entry names, or ""
	agents  []string // the subagents that Task(a, b) is limited to
	only    bool     // agents counts
	partial string   // what of the entry is not kept, or ""
	known   bool
}

// translate reads one entry of another dialect's list of tools. declared are
// the MCP servers that the file describes. An entry that limits a tool's
// arguments, as Bash(git:*), allows nothing and denies the whole tool.
// A name that nobody knows allows nothing and denies itself, and known is false, so that a
// list with a slip in it gives less and not more. TestTranslation holds it.
func translate(name string, dialect Dialect, declared []string) translation {
	if name == "*" {
		return translation{foreign: foreign{[]string{"*"}, []string{"*"}}, known: true}
	}
	if i := strings.IndexByte(name, '('); i > 0 && strings.HasSuffix(name, ")") {
		return translateLimited(name[:i], name[i+1:len(name)-1])
	}
	// Names of server tools are told by their form, so they come before all tables.
	if server, tool, ok := mcpTool(name, dialect, declared); ok {
		canonical := "mcp." + server + "." + tool
		return translation{foreign: foreign{[]string{canonical}, []string{canonical}}, server: server, known: true}
	}
	lower := strings.ToLower(name)
	if dialect == Copilot {
		if f, ok := copilotTools[lower]; ok {
			return translation{foreign: f, known: true}
		}
		if set, ok := strings.CutSuffix(lower, "/*"); ok {
			// edit/* is all of the set edit, which may have its row among the names of all tools.
			lower = set
			if f, ok := copilotTools[set]; ok {
				return translation{foreign: f, known: true}
			}
		}
	}
	if dialect == GeminiCLI {
		// Its names are ours or aliases of ours, and mean what ours mean.
		if canonical, ok := CanonicalTool(name); ok {
			return translation{foreign: foreign{[]string{canonical}, []string{canonical}}, known: true}
		}
	}
	// Before our own names: to deny edit there takes more than our edit_file.
	if f, ok := foreignTools[lower]; ok {
		return translation{foreign: f, known: true}
	}
	if canonical, ok := CanonicalTool(name); ok {
		return translation{foreign: foreign{[]string{canonical}, []string{canonical}}, known: true}
	}
	return translation{foreign: foreign{nil, []string{name}}}
}

// translateLimited reads an entry with arguments. Task(a, b) names subagents; others
// limit what a tool may be called with, which only the whole tool can express.
// The parts of Task(a, b) become slugs, as the agents' own names do.
func translateLimited(name, arguments string) translation {
	f, known := foreignTool(name)
	if !known {
		return translation{foreign: foreign{nil, []string{name}}}
	}
	if lower := strings.ToLower(name); lower == "task" || lower == "agent" {
		t := translation{foreign: f, only: true, known: true}
		for part := range strings.SplitSeq(arguments, ",") {
			if s := slug(part); s != "" {
				t.agents = append(t.agents, s)
			}
		}
		return t
	}
	return translation{foreign: foreign{nil, f.deny}, known: true, partial: "the arguments of " + name}
}

// mcpTool splits another dialect's name of an MCP server's tool.
// declared are the servers that the file itself names; they decide where
// mcp_server_tool is to be cut, the longest first. A server alone is all of its
// tools.
func mcpTool(name string, dialect Dialect, declared []string) (server, tool string, ok bool) {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, cut := strings.Cut(rest, "__")
		if !cut || tool == "" {
			tool = "*"
		}
		return server, tool, server != ""
	}
	if rest, ok := strings.CutPrefix(name, "mcp."); ok {
		server, tool, cut := strings.Cut(rest, ".")
		return server, tool, cut && server != "" && tool != ""
	}
	if rest, ok := strings.CutPrefix(name, "mcp_"); ok {
		if rest == "*" {
			return "*", "*", true
		}
		for _, s := range declared {
			if tool, ok := strings.CutPrefix(rest, s+"_"); ok && len(s) > len(server) && tool != "" {
				server = s
			}
		}
		if server != "" {
			return server, rest[len(server)+1:], true
		}
		if server, ok := strings.CutSuffix(rest, "_*"); ok {
			return server, "*", server != ""
		}
		server, tool, ok := strings.Cut(rest, "_")
		return server, tool, ok && server != "" && tool != ""
	}
	if set, tool, cut := strings.Cut(name, "/"); cut && set != "" && tool != "" && !copilotSets[strings.ToLower(set)] {
		// VS Code writes owner/server/tool for servers of its gallery.
		if i := strings.LastIndexByte(tool, '/'); i > 0 {
			set, tool = tool[:i], tool[i+1:]
		}
		return set, tool, tool != "" && !strings.Contains(set, "/")
	}
	for _, s := range declared {
		if s == name {
			return s, "*", dialect == Copilot
		}
	}
	return "", "", false
}
