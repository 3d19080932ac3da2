package wire

// Version is the version of the daemon's own part of the protocol. Additions
// keep it.
const Version = 1

// ClientCapabilities is what a client says it can do, in
// capabilities.experimental.agents or initializationOptions.agents. A client
// that says nothing is served by what LSP has (spec 2.6).
type ClientCapabilities struct {
	// The version that the client knows, 1.
	Version       int                 `json:"version"`
	Activity      *ActivityCapability `json:"activity,omitempty"`      // takes agents/activity
	Confirm       *ConfirmCapability  `json:"confirm,omitempty"`       // answers agents/confirm
	Ask           bool                `json:"ask,omitempty"`           // answers agents/ask
	Status        bool                `json:"status,omitempty"`        // takes agents/status
	SaveDocuments bool                `json:"saveDocuments,omitempty"` // answers agents/saveDocuments
	FilesWritten  bool                `json:"filesWritten,omitempty"`  // takes agents/filesWritten
	EditorQueries bool                `json:"editorQueries,omitempty"` // answers agents/editorQuery
}

// ActivityCapability says which events a client takes.
type ActivityCapability struct {
	OptOut []string `json:"optOut,omitempty"` // types of events that it does not want
}

// ConfirmCapability says how a client answers agents/confirm.
type ConfirmCapability struct {
	Feedback bool `json:"feedback,omitempty"` // a refusal may carry a reason
	Modify   bool `json:"modify,omitempty"`   // it offers to change the arguments
	Respond  bool `json:"respond,omitempty"`  // it answers "later" at once, and by agents/respond when the person has decided
}

// ServerCapabilities is what the daemon can do, in
// capabilities.experimental.agents of its answer. What is not built is not
// advertised.
type ServerCapabilities struct {
	// The version of this part of the protocol. Additions keep it.
	Version     int      `json:"version"`
	Modes       []string `json:"modes"`                 // of approval
	Sessions    bool     `json:"sessions,omitempty"`    // agents/session/…, agents/context/…, agents/subscribe
	Steer       bool     `json:"steer,omitempty"`       // agents/steer, agents/resume
	Changes     bool     `json:"changes,omitempty"`     // agents/changes, agents/changes/resolve
	Checkpoints bool     `json:"checkpoints,omitempty"` // agents/session/rewind, agents/session/fork
	Memory      bool     `json:"memory,omitempty"`      // agents/memory/…
	Graph       bool     `json:"graph,omitempty"`       // agents/graph/get, run, resume
	Tests       bool     `json:"tests,omitempty"`       // agents/test/list, run
}
