#!/usr/bin/env bash
# Unpacks newer editors than this Debian has into a folder of their own, beside
# the system and without changing it: Neovim 0.10 and Helix from the packages of
# the suite trixie, and the newest Neovim (0.12) from those of forky. Needs apt-get
# and patchelf. gopls is built from its module.
# Use: install.sh FOLDER; then AGENTLS_NEWER=FOLDER go test ./internal/clienttest
set -euo pipefail
root=$(mkdir -p "$1" && cd "$1" && pwd)

# The mirror that this system has anyway.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/\?$' | head -1)
key=/usr/share/keyrings/debian-archive-keyring.gpg

# unpack SUITE FILES PACKAGE...: the packages with all that they need, into a folder.
unpack() {
	local suite=$1 files=$root/$2 apt=$root/apt package
	shift 2
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	echo "deb [signed-by=$key] $mirror $suite main" >"$apt/sources.list"
	local options=(-q -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$apt"
		-o Dir::Cache::archives="$apt/archives" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::Etc::preferencesparts=/dev/null -o Acquire::Languages=none -o Acquire::Retries=3 -o Debug::NoLocking=true
		-o APT::Sandbox::User=root -o APT::Install-Recommends=false -o APT::Get::Assume-Yes=true)
	apt-get "${options[@]}" update
	for package in "$@"; do
		apt-get "${options[@]}" --download-only install "$package" || [ "$package" != neovim ]
	done
	for package in "$apt"/archives/*.deb; do
		dpkg -x "$package" "$files"
	done
	rm -rf "$apt"
}

# link FILES PROGRAM NAME: bin/NAME starts a program of a folder with its own libraries.
link() {
	local files=$root/$1 binary=$root/$1/usr/bin/$2
	[ -e "$binary" ] || return 0
	binary=$(readlink -f "$binary")
	patchelf --set-interpreter "$(find "$files/usr" -name 'ld-linux-*.so.*' | head -1)" \
		--set-rpath "$(dirname "$(find "$files/usr/lib" -name libc.so.6 | head -1)")" --force-rpath "$binary"
	mkdir -p "$root/bin"
	ln -sf "$binary" "$root/bin/$3"
}

if ! [ -x "$root/bin/nvim" ] || ! [ -x "$root/bin/hx" ]; then
	unpack trixie files neovim hx
	link files nvim nvim
	link files hx hx
fi
# The language server that agents ask through the plugin for Neovim.
[ -x "$root/bin/gopls" ] || GOBIN=$root/bin go install golang.org/x/tools/gopls@v0.21.0
if ! [ -x "$root/bin/nvim-newest" ]; then
	unpack forky newest neovim
	link newest nvim nvim-newest
fi
