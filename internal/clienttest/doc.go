// Package clienttest drives the built binary with clients that others wrote: a
// protocol client from npm, Neovim without any plugin of ours, and VS Code with
// a client that knows only LSP. Its tests need node and the packages of
// package.json, nvim and tmux, or chromium and what testdata/vscode/install.sh
// installs; where these are missing they say so and are left out.
package clienttest
