// Package trace shows the log of a session as spans: what took time, in what, and
// what came of it (spec 7.2).
//
// A [Builder] takes events in the order of the log and tells of each span when it
// begins and when it ends. It is a pure function of the events: the same log gives
// the same spans, live and afterwards. [Build] is it over a whole log.
//
// The forms of a trace are views of the spans: [Events] is the one of files, [OTLP]
// that of OpenTelemetry, [HTML] a page for a browser.
//
// # Spans
//
// A run holds turns, and a turn what happens in it: answers of models, calls of
// tools, and within these confirmations, hooks and questions to models of their
// own. Routes, handoffs, guardrails and hooks are told when they are over, so such
// a span begins and ends with one event. A span that has begun ends exactly once:
// by its own event, with its run, or where a run was interrupted. A span's number
// follows from the number of its event, so it is the same however often the log is
// read.
//
// # Content
//
// What somebody said, and what tools got and gave, is in fields with Content. Every
// form has a switch to leave them out, along with messages of errors that may quote
// them. Secrets are not this package's concern: events come masked (see [Read]).
//
// # Files
//
// builder.go and details.go make spans of events, span.go has what a span is,
// file.go, otlp.go and html.go (with page.*) are the forms, read.go reads logs, and
// replay.go tells a session step by step (spec 7.3).
package trace
