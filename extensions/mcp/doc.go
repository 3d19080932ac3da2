// Package mcp makes the tools of MCP servers tools of agents (spec 9.1).
//
// [Servers] holds the connections of a daemon: one for each server and workspace
// folder, started when it is first needed, shared by all runs, supervised, and
// ended ten minutes after its last use. What a server does is never trusted: what
// it writes is read within limits and checked before the library parses it, its
// descriptions are cut and shown as data, its results taint the session, and a
// tool that changed since the person approved it is not offered.
//
// A server is a process of the daemon's (package process), behind a wall where its
// scope asks for one (package sandbox). It gets the variables that commands get
// and those that its settings name, and nothing else of the daemon's environment.
//
// Others are reached over HTTP, at public addresses and those that the person named.
// A description that needs more is refused with the reason: see [Parse].
package mcp
