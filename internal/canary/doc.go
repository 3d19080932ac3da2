// Package canary proves that something does not happen: the real binary, run
// headless with a scripted model on loopback, is asked to do harm, and files that
// must not change are looked at from outside (spec 11.2). The same is then run
// with the real binary built without its policy (unguarded.patch), where it must
// happen: a test that cannot fail proves nothing.
//
//	func TestMain(m *testing.M) { os.Exit(canary.Main(m)) } // not in this package: it has one
//
//	func TestSEC17SettingsAreProtected(t *testing.T) {
//		canary.Hold(t, canary.Case{
//			Name:   "the folder's settings",
//			Calls:  []canary.Call{{Tool: "write_file", Args: canary.Args{"file_path": ".gemini/settings.json", "content": "{}"}}},
//			Canary: []string{"work/.gemini/settings.json"},
//		})
//	}
//
// A case has a folder of its own, which it calls $BASE: $BASE/work is the
// workspace and where agentls runs, $BASE/home the person's home (HOME, with
// GEMINI_HOME at $BASE/home/.gemini), and anything else is outside. In the texts
// of a case $BASE stands for its path, and $SINK for the address (127.0.0.1:$PORT)
// of a canary socket: who connects to it does harm.
//
// [Hold] and [HoldBehind] are all that most tests need. Others furnish a [World], run something in
// it with [World.Run], and compare [Print] or [World.Tree] of before and after. What fires a canary
// is only what can be seen from outside of the process: files, the socket, and what the model was
// told. The program's own words, as that it refused, are never proof.
package canary
