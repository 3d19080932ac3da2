// Package spine holds the daemon's spine to its promises, from end to end: the
// model's socket, the event, the log, the outbox and the client, with the real
// client of the Gemini API and, where a process dies, the built binary. What its
// tests found decided the log's writer, the points where it syncs and the
// stream; docs/architecture.md has the findings.
//
// # What is proved
//
//   - chunks_test.go: an answer of 20,000 chunks reaches the client and the log
//     whole and in order, and so do 100 answers at once (REL-41).
//   - reader_test.go: a client that stops reading stops nothing and costs
//     nothing, and catches up when it reads again (REL-37); a question overtakes
//     what waits for it (REL-39); an answer larger than the outbox is no reason
//     to hang up.
//   - cycles_test.go: a client that reads slowly (REL-38); a thousand starts and
//     cancellations (REL-45).
//   - requests_test.go: 10,000 requests with cancels are answered once each
//     (REL-17, REL-21).
//   - params_test.go: wrong parameters of every method of the schema (REL-19).
//   - shutdown_test.go: what the client has had when shutdown is answered
//     (REL-03).
//   - kill_test.go: whatever a client has been told is in the log after kill -9,
//     at any moment, and nothing of the daemon is left (REL-30, REL-76, REL-100);
//     internal/cmd/crashloop does so a few hundred times.
//   - ends_test.go: the ways in which a process ends (REL-04, REL-25, REL-27,
//     REL-29), and how one begins on a small machine (REL-130).
//   - orphans_test.go: what is left of commands when it has ended, in each of
//     them: nothing (REL-76, REL-92); an editor that died and left its pipe open
//     (REL-26).
//   - soak_linux_test.go: what the daemon holds does not grow with what it has
//     done (REL-46), and four busy loops do not make it hang (REL-48).
//   - hostile_test.go: the table of package servertest against the process, and
//     nothing but frames on its standard output (REL-05).
//   - bench_test.go: what the spine costs, as ratios against genai and against
//     reading the same bytes from the socket.
//
// AGENTLS_KILLS says how often TestREL30Kill kills, for a nightly run of 1,000,
// AGENTLS_SOAK for how long TestREL46Soak goes on: 60s, or 8h.
//
// There is no product code here. The tests of processes look into /proc and
// need Linux.
package spine
