// Package process supervises the child processes of one call: it starts them,
// collects their output within bounds, and ends all of them, whatever group,
// session or environment they moved to.
//
// A [Job] is what one call runs. Its processes get an allow-listed environment
// ([Environ]), no input, no terminal, no descriptor but their output (SEC-117),
// and a session of their own.
//
// On Linux a command can be started under a reaper ([Job.StartReaped]): this
// program run once more ([helper]), which nothing that the command starts can
// leave, and which ends all of it when the daemon is gone. What is started
// without one ([Job.Start]) is ended by the kernel together with the daemon;
// what that process started by itself is not, unless a pid namespace does it.
//
// Linux is what is tested.
//
// # The life of a job
//
// [NewJob], then [Job.Run] around the starts and waits of its commands, then
// [Job.Release], and [Output.Close] last. Run ends everything when its context
// ends: TERM to all, two seconds, KILL, and a sweep until nothing is found.
// What goes on after the call ([Job.RunBackground], [Job.Linger]) ends with the
// run in the same way. No method waits without a bound for a process that was
// killed: one that the kernel does not let go of is [ErrStuck], and is told
// ([Job.Survivors]).
//
// child.go starts, output.go collects, plain.go makes text of it, process_*.go
// has what a system calls a group, and environ.go and find.go what a process is
// given. Package helper is the program that the reaper runs.
package process
