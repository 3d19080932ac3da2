// Package clienttest drives the built binary with clients that others wrote: a
// protocol client from npm, Neovim, Emacs and Helix without any plugin of ours,
// and VS Code with a client that knows only LSP and with our extension. Its tests need node and the
// packages of package.json, nvim, emacs with eglot and tmux, what
// testdata/newer/install.sh unpacks, or chromium and what
// testdata/vscode/install.sh installs; where these are missing they say so and
// are left out.
package clienttest
