package server

// WatchProcess is the default of Config.Watch.
var WatchProcess = watchProcess
