package server

// WatchProcess is the default of Config.Watch.
var WatchProcess = watchProcess

// Asked reports whether somebody waits for the pulse.
func (p *Pulse) Asked() bool { return p.asked.Load() != nil }
