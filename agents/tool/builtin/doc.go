// Package builtin has the tools that every agent can be given: reading,
// searching, editing, the shell, git commits, the web, memory and state, a list
// of steps, and asking a person (spec 4.1).
//
// Each tool is one file, beside the description that a model is given of it:
// read_file.go and read_file.md. What they need of the world they reach through
// [tool.Env].
//
// # How a tool is written
//
// A function (readFile) returns the tool, with its schema; a function plan… gets
// arguments that fit the schema, resolves what they name and returns the plan; a
// function do… makes it happen. What plan found out about a path is of its
// moment, so do finds it out again and refuses where it is another
// ([tool.CodeStale]). Errors for the model are *[tool.Error] with a sentence that
// says what to do instead. What a tool read sets [tool.Result.Taint].
//
// # Reading without a way out
//
// What a tool opens by itself (a folder, a file that it searches) it opens
// through an [os.Root] of the workspace folder, without waiting for pipes, so
// that a link that is put there between the check and the use leads nowhere
// (SEC-55, SEC-57).
//
// # Processes
//
// grep (ripgrep, in trusted folders), bash and git_commit start some: bash and
// the commits behind a wall under the supervision of package process, git's own
// questions by package git. When a call ends early all of it is gone within three
// seconds (REL-72).
package builtin
