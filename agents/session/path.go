package session

// Blobs returns the folder in which what [Session.PutBlob] keeps lies, under
// its name; "" in memory.
func (s *Session) Blobs() string { return s.store.blobs.dir }
