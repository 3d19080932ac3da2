#!/usr/bin/env bash
# Unpacks newer editors than this Debian has into a folder of their own, beside
# the system and without changing it: Neovim 0.10 and Helix, from the packages of
# the suite trixie. Needs apt-get and patchelf.
# Use: install.sh FOLDER; then AGENTLS_NEWER=FOLDER go test ./internal/clienttest
set -euo pipefail
suite=trixie
root=$(mkdir -p "$1" && cd "$1" && pwd)
[ -x "$root/bin/nvim" ] && [ -x "$root/bin/hx" ] && exit 0

# The mirror that this system has anyway.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/\?$' | head -1)
key=/usr/share/keyrings/debian-archive-keyring.gpg
apt=$root/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
echo "deb [signed-by=$key] $mirror $suite main" >"$apt/sources.list"
options=(-q -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$apt"
	-o Dir::Cache::archives="$apt/archives" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
	-o Dir::Etc::preferencesparts=/dev/null -o Acquire::Languages=none -o Acquire::Retries=3 -o Debug::NoLocking=true
	-o APT::Sandbox::User=root -o APT::Install-Recommends=false -o APT::Get::Assume-Yes=true)
apt-get "${options[@]}" update
apt-get "${options[@]}" --download-only install neovim hx || apt-get "${options[@]}" --download-only install neovim
for package in "$apt"/archives/*.deb; do
	dpkg -x "$package" "$root/files"
done
loader=$(find "$root/files/usr" -name 'ld-linux-*.so.*' | head -1)
libraries=$(dirname "$(find "$root/files/usr/lib" -name libc.so.6 | head -1)")
mkdir -p "$root/bin"
for program in nvim hx; do
	binary=$root/files/usr/bin/$program
	[ -e "$binary" ] || continue
	binary=$(readlink -f "$binary")
	patchelf --set-interpreter "$loader" --set-rpath "$libraries" --force-rpath "$binary"
	ln -sf "$binary" "$root/bin/$program"
done
rm -rf "$apt"
