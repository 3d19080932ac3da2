// Package session is a conversation across runs: its log, its files, and the
// views of the log that runs need.
//
// A [Store] holds the sessions of one workspace. A [Session] is one timeline
// ([activity.Log]) that one daemon writes at a time; who writes it holds the
// lock on "<session>.lock", which the system lets go when the process ends.
//
// # One log, many views
//
// What a model is sent, which runs there are and what they used are folded from
// the events, by the same code when an event is appended and when a session is
// loaded. So a session that was loaded is the session that was live.
//
// # What always holds
//
// A context alternates between user and model, begins with the user, and every
// call in it has exactly one result before the model speaks again (REL-61):
// whatever a run does or a crash leaves out, the fold closes what is open.
//
// What makes a context shorter ([activity.ContextCompressed]) and what ends it
// ([activity.ContextCleared]) are events too: the log keeps what went, and only
// a purge ([Session.Clear]) erases.
//
// # Going back, and elsewhere
//
// A rewind ([Session.Rewind]) is an event as well: the fold brings back what each
// context was, and a rewind to before that event undoes it. Marks of the contexts
// at the ends of turns are kept for it, while they cost nothing but themselves;
// what they let go of is read from the log again. A fork ([Store.Fork]) begins
// with another session's lines.
//
// # Beside the log
//
// "blobs" holds long results and media, each once for all sessions of the
// workspace. "<session>.info.json" holds what a list tells of a closed session;
// it may be missing or old ([Store.List]). Names that begin with ".fork-" and
// ".gone-" are logs that are not whole yet, and that are being deleted: what a
// crash leaves of them goes the next time that somebody forks, deletes or retains.
//
// # What it must not import
//
// Of this module only agents/activity, agents/compression, agents/model,
// agents/definition and internal/fault.
//
// # Files
//
// store.go has the store and its table of open sessions, id.go their names, session.go the session's
// face, fold.go the way of an event into the views. The views: view.go (contexts),
// info.go (totals and runs), progress.go (how far a run has come), history.go
// (files), state.go (variables), graph.go (nodes). rewind.go and fork.go go back
// and elsewhere; list.go, peek.go and watch.go read sessions that are not open;
// delete.go, retain.go, sweep.go and forget.go remove; lock.go, blob.go, files.go
// and statefile.go are about files. render.go and editor.go turn what a person
// gives into what a model reads.
//
// # Locks
//
// The log's lock comes before [Session]'s mu, since the log calls fold under its
// own; so nothing here calls the log while it holds mu. The store's lock guards
// the table of slots only and is never held while a file is touched.
// Session.setting and Session.rewinding are taken before both.
package session
