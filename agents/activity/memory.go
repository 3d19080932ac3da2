package activity

// MemoryChanged says that an agent stored a record in long-term memory (spec 6.2).
type MemoryChanged struct {
	Store string `json:"store"` // as agents/memory/list names it
	Key   string `json:"key"`
	Value string `json:"value,omitempty"` // its content; absent: the record was deleted
}
