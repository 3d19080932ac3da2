#!/usr/bin/env bash
# Installs what TestVSCode drives into the folder that is named: code-server
# with the Node that it is made for, and the packages of the client and of the
# driver. On Debian 12 as root, with Node 20 and npm 11 or newer; 2 to 3 minutes,
# most of it for compiling native modules, and 820 MB.
#
#	internal/clienttest/testdata/vscode/install.sh /var/cache/vscode
#	AGENTLS_VSCODE=/var/cache/vscode go test ./internal/clienttest -run VSCode
set -euo pipefail
root=${1:?the folder to install into}
export DEBIAN_FRONTEND=noninteractive npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_loglevel=error

if ! command -v chromium >/dev/null || [ ! -e "$root/server/node_modules/code-server" ]; then
	apt-get -q -o Acquire::Retries=3 update
	apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends \
		chromium fonts-dejavu-core build-essential python3 libkrb5-dev libx11-dev libxkbfile-dev libsecret-1-dev
fi

# add FOLDER PACKAGE…
add() {
	mkdir -p "$root/$1"
	[ -e "$root/$1/package.json" ] || echo '{"private": true}' >"$root/$1/package.json"
	(cd "$root/$1" && npm install --save-exact "${@:2}")
}

add client vscode-languageclient@11.0.0 playwright-core@1.65.1
add node node@24.21.0
if [ ! -e "$root/server/node_modules/code-server" ]; then
	npm_config_nodedir=$(dirname "$(find "$root/node" -type d -path '*node-linux-*/include' | head -n 1)")
	export npm_config_nodedir PATH="$root/node/node_modules/.bin:$PATH"
	add server code-server@4.139.1
fi
