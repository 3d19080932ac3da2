// Package clienttest drives the built binary with clients that others wrote: a
// protocol client from npm, and Neovim without any plugin of ours. Its tests
// need node and the packages of package.json, or nvim and tmux; where these are
// missing they say so and are left out.
package clienttest
