package definition

// The fields of the front-matter: one switch over every key that is read.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/spelling"
)

// maxGuesses is for how many unknown names a file gets a "did you mean".
// Each guess compares the name with all that it may have been meant to be.
const maxGuesses = 50

// fields reads the front-matter's keys.
// Of a key that is there twice the first counts: the second was left out when the tree was
// made.
// Keys are read in the order of the file. What needs another key is put into late and done
// at the end, in the same order; finish comes after that.
func (r *reader) fields(root *node) {
	r.root = root
	if n := root.get("name"); n != nil && n.kind == str {
		// Handoffs, which may stand before it, must not lead to the agent itself.
		r.nameNode = n
	}
	for i := range root.keys {
		k, v := &root.keys[i], &root.items[i]
		r.trimSmartQuotes(v)
		if !r.field(k, v) && !r.foreignField(k, v) {
			r.unknown(k, "", "")
		}
	}
	for _, f := range r.late {
		f()
	}
}

// field reads a key of ours, or of another tool's that means the same.
// In another tool's file a key of ours counts only in the shape that it has with us; else
// it is that tool's, with a hint.
func (r *reader) field(k *key, v *node) bool {
	if r.Dialect != Agentls && v.kind != null && !shapedAsOurs(k.name, v) {
		r.report("agent/dialect", Hint, k.start, k.end,
			fmt.Sprintf("%s is not what it is in our format, so it is taken for another tool's field and has no effect.", k.name))
		return true
	}
	return r.aboutField(k, v) || r.partField(k, v) || r.modelFields(k, v) || r.limitField(k, v)
}

// aboutField reads what an agent is called and told.
// It reports whether the key is one of these; a value that is wrong is a finding.
// The name is only noted here: finishName judges it, or makes one where there is none.
func (r *reader) aboutField(k *key, v *node) bool {
	switch k.name {
	case "kind":
		r.kinded = true
		r.kindField(v)
	case "name":
		r.nameKey = true
		if r.loose(v) && v.kind == str {
			r.nameNode = v
		} else if v.kind != null {
			r.reportType(v, "name", "a string")
			r.nameNode = &node{start: v.start, end: v.end}
		}
	case "title", "displayName", "display_name":
		r.titled = true
		if !r.again("title", k) {
			r.stringField(v, k.name, &r.Title)
		}
	case "description":
		if r.stringField(v, k.name, &r.Description) {
			r.DescriptionRange = r.text.span(v.start, v.end)
		}
	case "systemPrompt", "system_prompt", "prompt":
		if k.name == "prompt" && r.Dialect != OpenCode {
			return false
		}
		var prompt string
		if !r.again("systemPrompt", k) && r.stringField(v, k.name, &prompt) {
			r.prompt = v
		}
	case "color":
		r.colorField(k, v)
	case "scope":
		r.scopeField(v)
	case "version":
		var version string
		// Without quotes 1.0 is a number to YAML.
		if r.Dialect == Agentls && v.kind == number {
			r.suggest("agent/type", Error, v.start, v.end, versionOf(v.text),
				"version must be a semantic version such as 1.0.0; a number is none.")
		} else if r.stringField(v, k.name, &version) {
			if r.Dialect == Agentls && !semver(version) {
				r.at(v, "agent/type", Error,
					"version must be a semantic version such as 1.0.0, in quotes where YAML would read a number.")
			}
			r.Version = version
		}
	default:
		return false
	}
	return true
}

// partField reads what an agent is put together from.
// It reports whether the key is one of these in the file's dialect.
// A key that means something else in this dialect is false here.
func (r *reader) partField(k *key, v *node) bool {
	switch k.name {
	case "tools":
		r.toolsField(v)
	case "tool_confirmation":
		r.confirmation(v)
	case "mcp":
		r.mcpField(v)
	case "triggers":
		r.triggersField(v)
	case "handoffs":
		return r.handoffsField(v)
	case "guardrails":
		r.guardrailsField(v)
	case "memory":
		if r.Dialect != Agentls && v.kind != mapping {
			return false
		}
		r.byTable(v, k.name)
		r.stateKeys(v)
		if r.Dialect == Agentls {
			r.memoryField(v)
		}
	case "memory_files":
		r.boolField(v, k.name, &r.MemoryFiles)
	case "graph":
		r.graphField(v)
	case "tracing":
		r.byTable(v, k.name)
		r.tracing(v)
	case "imported":
		return r.Dialect == Agentls // kept by agents/exchange
	case "inputs":
		r.inputsField(v)
	case "output":
		r.outputField(v)
	case "query":
		if r.stringField(v, k.name, &r.Query) {
			r.queries = append(r.queries, v)
		}
	case "initial_messages":
		r.messagesField(v)
	case "subagents":
		r.subagentsField(v, k.name)
	case "user_invocable", "user-invocable", "userInvocable", "user-invokable":
		if !r.again("user_invocable", k) {
			r.boolField(v, k.name, &r.UserInvocable)
		}
	case "routable":
		r.boolField(v, k.name, &r.Routable)
	default:
		return false
	}
	return true
}

// modelFields reads which models an agent asks, and how.
// It reports whether the key is one of these. Models are written in the result by their
// ids, aliases resolved.
func (r *reader) modelFields(k *key, v *node) bool {
	switch k.name {
	case "model":
		r.modelField(v)
	case "fallback_models", "fallbackModels":
		if r.again("fallback_models", k) {
			break
		}
		for _, m := range r.strings(v, k.name) {
			if id, ok := r.resolveModel(m.name, m.start, m.end); ok {
				r.FallbackModels = append(r.FallbackModels, id)
			}
		}
	case "temperature", "temp":
		if !r.again("temperature", k) {
			r.Temperature = r.floatField(v, k.name, 0, 2)
		}
	case "top_p", "topP":
		if !r.again("top_p", k) {
			r.TopP = r.floatField(v, k.name, 0, 1)
		}
	case "thinking_budget", "thinkingBudget":
		if n, ok := r.intField(v, k.name, -1, math.MaxInt32); ok && !r.again("thinking_budget", k) {
			r.ThinkingBudget = &n
		}
	case "thinking_level", "thinkingLevel":
		var level string
		if !r.again("thinking_level", k) && r.stringField(v, k.name, &level) {
			switch level {
			case "minimal", "low", "medium", "high":
				r.ThinkingLevel = level
			default:
				r.oneOf(v, "thinking_level", "thinking_level must be minimal, low, medium or high.")
			}
		}
	default:
		return false
	}
	return true
}

// limitField reads how an agent runs, and for how long.
// Two spellings of one limit are no conflict: both are read, and the smaller number
// counts.
func (r *reader) limitField(k *key, v *node) bool {
	switch k.name {
	case "run":
		r.runField(v)
	case "max_turns", "maxTurns", "steps", "maxSteps":
		r.reportTwice("max_turns", k.name, k)
		r.limit("max_turns", k.name, v)
	case "max_time", "max_time_minutes", "timeout_mins":
		r.reportTwice("max_time", k.name, k)
		r.limit(k.name, k.name, v)
	case "max_tokens", "maxTokens":
		r.reportTwice("max_tokens", k.name, k)
		r.limit("max_tokens", k.name, v)
	case "max_cost", "maxCost":
		r.reportTwice("max_cost", k.name, k)
		r.limit("max_cost", k.name, v)
	default:
		return false
	}
	return true
}

// again reports whether a field was given before under another key; the first
// counts then, and a hint says so.
// It must be called once for each key that is read, since it also notes the key.
// A key that is there twice is not meant: the tree has only the first.
func (r *reader) again(field string, k *key) bool {
	for _, s := range r.seen {
		if s.field == field && s.key != k.name {
			r.report("agent/unknown-field", Hint, k.start, k.end,
				fmt.Sprintf("%s says the same as %s, which counts; remove one.", k.name, s.key))
			return true
		}
	}
	r.seen = append(r.seen, seenLike{field, k.name})
	return false
}

// reportTwice reports a limit that was given before under another key; the smaller counts.
func (r *reader) reportTwice(field, written string, k *key) {
	for _, s := range r.seen {
		if s.field == "run."+field && s.key != written {
			r.report("agent/unknown-field", Hint, k.start, k.end,
				fmt.Sprintf("%s limits the same as %s, and the smaller counts; remove one.", written, s.key))
			return
		}
	}
	r.seen = append(r.seen, seenLike{"run." + field, written})
}

// nearest is the func of that name, for as many names as a file gets guesses.
//
// Each call counts, whether anything was found: to look for a name costs as much either
// way.
func (r *reader) nearest(name string, names []string) string {
	if r.guesses++; r.guesses > maxGuesses {
		return ""
	}
	return nearest(name, names)
}

// unknown reports a key that nothing reads.
// Its message shows it below parent; under is what [KeysUnder] calls that.
//
// In a file of ours a key that is surely a known one, misspelt, is an error of the
// file, as is any unknown key of tools: it may have been meant to restrict the agent.
// Keys of other tools that restrict nothing are a hint in our files too.
// TestASlipInAKeyIsAnError and TestOtherWordsAreNotMisspelt hold where the border lies.
func (r *reader) unknown(k *key, parent, under string) {
	meant := r.nearest(k.name, KeysUnder(under))
	severity, effect := Hint, " and has no effect"
	theirs := under == "" && elsewhereKey(k.name)
	restricts := under == "tools" || misspelt(k.name, meant)
	if r.Dialect == Agentls && !theirs && restricts {
		severity, effect = Error, ", so the agent does not run"
	}
	what := fmt.Sprintf("The field %s%s is not known%s", parent, k.name, effect)
	switch {
	case meant == "" || meant == k.name:
		r.report("agent/unknown-field", severity, k.start, k.end, what+".")
	case r.given(k, under, meant):
		r.report("agent/unknown-field", severity, k.start, k.end,
			fmt.Sprintf("%s, and %s%s is there already; remove one.", what, parent, meant))
	default:
		r.suggest("agent/unknown-field", severity, k.start, k.end, meant,
			fmt.Sprintf("%s; did you mean %s%s?", what, parent, meant))
	}
}

// misspelt reports whether a key is a known one with up to two slips, and not
// another word that happens to look like it: of short words a letter must be
// missing, doubled or out of order, and two slips are not in the first letter.
// Case, - and _ do not count.
func misspelt(name, known string) bool {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	name, known = plain(name), plain(known)
	short := min(len(name), len(known))
	if short < 3 {
		return false
	}
	switch spelling.Distance(name, known) {
	case 0:
		return true
	case 1:
		// In a short word another letter makes another word, as in name and game.
		replaced := len(name) == len(known) && !sameLetters(name, known)
		return short > 4 || !replaced
	case 2:
		return short > 4 && name[0] == known[0]
	}
	return false
}

// sameLetters reports whether two texts are of the same bytes in any order.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// kindField reads kind, which only says that the file is one of ours.
func (r *reader) kindField(v *node) {
	switch {
	case v.kind == str && (v.text == "agent" || (v.text == "local" && r.Dialect == GeminiCLI)):
		if v.text == "local" {
			r.at(v, "agent/dialect", Hint,
				"This is read as gemini-cli's own format; write kind: agent and our fields to use everything.")
		}
	case v.kind == null:
		r.kinded = false
	case r.Dialect == Agentls || v.text == "remote":
		r.suggest("agent/type", Error, v.start, v.end, r.nearest(v.text, []string{"agent"}),
			"kind must be agent; another kind of agent file is not read.")
	}
}

// scopeField checks scope against the file's place, which is what counts.
// It waits for the name (late), since a router may have another scope than its place.
func (r *reader) scopeField(v *node) {
	var scope string
	if !r.stringField(v, "scope", &scope) {
		return
	}
	switch Scope(scope) {
	case Global, Project, System:
	default:
		if r.Dialect == Agentls {
			r.oneOf(v, "scope", "scope must be global, project or system.")
		}
		return
	}
	r.late = append(r.late, func() {
		// A file that replaces the router says scope: system (spec 8.2).
		router := r.nameNode != nil && (r.nameNode.text == "router" || r.nameNode.text == "router-agent")
		if r.Router = router && Scope(scope) == System; r.Router || Scope(scope) == r.Scope {
			return
		}
		r.at(v, "agent/type", Warning,
			"The file lies in the %s folder, so its scope is %s, not %s; move the file or correct the field.",
			r.Scope, r.Scope, scope)
	})
}

// colorField reads the colour, as #RRGGBB or by name.
// Other tools' names are turned into a colour, with a hint; a colour that nobody knows is
// left out.
func (r *reader) colorField(k *key, v *node) {
	if v.kind == null && !strings.HasPrefix(r.text.src[k.end:], ": ~") {
		// An unquoted #RRGGBB is a comment to YAML.
		line := r.text.src[k.end:lineEnd(r.text.src, k.end)]
		if i := strings.IndexByte(line, '#'); i >= 0 && len(line) >= i+7 && hexColor(line[i:i+7]) {
			r.Color = line[i : i+7]
			word, _, _ := strings.Cut(line[i:], " ") // may have more digits, as those of #RRGGBBAA
			r.report("agent/yaml-repaired", Warning, k.end+i, k.end+i+len(word),
				"YAML takes an unquoted # for a comment; write the colour in quotes.")
			return
		}
	}
	var name string
	if !r.stringField(v, "color", &name) {
		return
	}
	c, ok := colorOf(name)
	switch {
	case ok && c == name:
	case ok:
		meant := c
		if r.Dialect != Agentls {
			meant = "" // the other tool has no other way to say it
		}
		r.suggest("agent/dialect", Hint, v.start, v.end, meant, fmt.Sprintf("The colour %s is read as %s.", name, c))
	case r.Dialect == Agentls:
		r.at(v, "agent/type", Error, "color must be #RRGGBB in quotes.")
	default:
		r.at(v, "agent/dialect", Hint, "The colour %s is not known and is left out; write it as #RRGGBB.", name)
	}
	r.Color = c
}

// modelField reads the model, or Copilot's list of them.
//
// The first of a list that can run here is the model, and the others are its fallbacks.
func (r *reader) modelField(v *node) {
	if v.kind == list && r.Dialect != Agentls {
		for i := range v.items {
			r.trimSmartQuotes(&v.items[i])
			if v.items[i].kind != str {
				continue
			}
			if id, ok := r.resolveModel(v.items[i].text, v.items[i].start, v.items[i].end); ok {
				if r.Model == "inherit" {
					r.Model = id
				} else {
					r.FallbackModels = append(r.FallbackModels, id)
				}
			}
		}
		return
	}
	var name string
	if r.stringField(v, "model", &name) && name != "" {
		if id, ok := r.resolveModel(name, v.start, v.end); ok {
			r.Model = id
		}
	}
}

// resolveModel gives a model's name its id. What another dialect's file names
// and we cannot run is left out with a hint (spec 1.7).
// In a file of ours an unknown name is kept, so that the run says which model is not
// there. false leaves the model as it is by default.
func (r *reader) resolveModel(name string, start, end int) (string, bool) {
	if name == "inherit" || name == "auto" {
		return name, true
	}
	id := name
	if r.Dialect != Agentls {
		// A display name: "Gemini 3 Pro (copilot)".
		id, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), " (")
		id = strings.ReplaceAll(id, " ", "-")
		id = strings.TrimPrefix(id, "google/")
	}
	if r.source.Model != nil {
		if known, ok := r.source.Model(id); ok {
			r.checkRetired(known, name, start, end)
			return known, true
		}
	} else if r.Dialect == Agentls || strings.HasPrefix(id, "gemini-") || id == "flash" ||
		id == "flash-lite" || id == "pro" {
		return id, true
	}
	if r.Dialect == Agentls {
		r.modelUnknown(name, start, end)
		return name, true
	}
	r.report("agent/dialect", Hint, start, end,
		fmt.Sprintf("The model %s is not available here; the default model is used.", name))
	return "", false
}

// semver reports whether v is a semantic version, x.y.z with what may follow.
// Numbers have no zeros in front. The build data behind + is not looked at.
func semver(v string) bool {
	core, _, _ := strings.Cut(v, "+")
	core, pre, hasPre := strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 || (hasPre && pre == "") {
		return false
	}
	for _, p := range parts {
		if p == "" || (len(p) > 1 && p[0] == '0') || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return strings.Trim(pre, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.") == ""
}
