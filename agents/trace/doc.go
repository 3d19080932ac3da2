// Package trace shows the log of a session as spans: what took time, in what, and
// what came of it (spec 7.2).
//
// A [Builder] takes events in the order of the log and tells of each span when it
// begins and when it ends. It is a pure function of the events: the same log gives
// the same spans, live and afterwards. [Build] is it over a whole log.
//
// The forms of a trace are views of the spans: [Events] is the one of files, [OTLP]
// that of OpenTelemetry, [HTML] a page for a browser.
package trace
