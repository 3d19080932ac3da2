package server

import "time"

// parentEvery is how often the parent process is looked for: with REL-26's six
// seconds in mind, twice.
const parentEvery = 3 * time.Second

// watch ends the connection when the process that it is told to watch is gone.
// Some editors die without closing our stdin, because a process of theirs holds
// it open. It ends with the connection.
// A process that is not alive at the first look is not watched: its id is of another namespace, and
// ending the connection for it would end every connection from a container.
func (c *connection) watch() {
	var pid int
	select {
	case <-c.ctx.Done():
		return
	case pid = <-c.parents:
	}
	alive := c.cfg.Watch(pid)
	if !alive() { // it has this id in another pid namespace: in a container, in a Flatpak
		c.log.Warn("no process has the id that the client gave as its own; the end of its input ends the connection",
			"pid", pid)
		return
	}
	tick := time.NewTicker(parentEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			if !alive() {
				c.log.Warn("the process that started this one is gone", "pid", pid)
				c.finish(Orphaned, nil)
				return
			}
		}
	}
}
