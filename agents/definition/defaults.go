package definition

import "time"

// The defaults of an agent's run, where neither its file nor a setting says otherwise:
// run.max_turns in each mode, and run.max_time of a task; a chat has no limit of time.
const (
	DefaultChatTurns = 100
	DefaultTaskTurns = 15
	DefaultTaskTime  = 300 * time.Second
)
