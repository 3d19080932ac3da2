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
package process
