// Starts the built binary and speaks LSP with it over its standard streams, with
// vscode-languageserver-protocol. What is printed is for the Go test to judge.
'use strict'
const { spawn } = require('node:child_process')
const lsp = require(require.resolve('vscode-languageserver-protocol/node', { paths: [process.env.CLIENT_MODULES] }))

const print = (what, value) => console.log(JSON.stringify({ what, value }))

// connect starts the binary. waits says what the client waits for when its time
// is up.
function connect (binary, waits = () => '') {
  const child = spawn(binary, ['serve', '--stdio', '--trust'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })))
  const conn = lsp.createProtocolConnection(new lsp.StreamMessageReader(child.stdout), new lsp.StreamMessageWriter(child.stdin))
  setTimeout(() => { console.error('the client waited in vain', waits()); process.exit(1) }, 120000).unref()
  return { conn, exited }
}

// end shuts the binary down and prints how it exited.
async function end ({ conn, exited }) {
  await conn.sendRequest(lsp.ShutdownRequest.type)
  await conn.sendNotification(lsp.ExitNotification.type)
  print('exit', await exited)
  conn.dispose()
}

const begin = (main) => main().catch((err) => { console.error(err); process.exit(1) })

module.exports = { lsp, connect, end, print, begin }
