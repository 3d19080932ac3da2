// The least that makes an LSP client of VS Code: vscode-languageclient, with
// nothing of ours in it. It registers the server's commands under their own
// names; the two here only put words and arguments to them.
'use strict'
const fs = require('node:fs')
const vscode = require('vscode')
const { LanguageClient } = require('vscode-languageclient/node')

// note tells the driver what a command came to.
const note = (value) => fs.appendFileSync(process.env.SEEN, JSON.stringify(value) + '\n')

exports.activate = async (context) => {
  const args = ['serve', ...(process.env.SERVE_ARGS || '').split(' ').filter(Boolean)]
  const client = new LanguageClient('agentls', 'agentls', { command: process.env.AGENTLS, args }, { documentSelector: [{ scheme: 'file' }] })
  let last
  context.subscriptions.push(client,
    vscode.commands.registerCommand('anyClient.ask', async () => {
      const [agent, input] = (await vscode.window.showInputBox({ title: 'agent, prompt' })).split(', ')
      last = input
      try {
        const r = await vscode.commands.executeCommand('agentls.run', { agent, input, session: input.replaceAll(' ', '-') })
        note({ input, ended: `${r.reason}: ${r.text}` })
      } catch (err) {
        note({ input, ended: `failed: ${err.message}` })
      }
    }),
    vscode.commands.registerCommand('anyClient.settle', async () => {
      await vscode.commands.executeCommand('agentls.cancel', 'no such run')
      note({ input: 'settle', after: last })
    }),
    vscode.commands.registerCommand('anyClient.trust', async () => {
      const r = await vscode.commands.executeCommand('agentls.trustWorkspace')
      note({ input: 'trust', ended: JSON.stringify(r) })
    }))
  await client.start()
  note({ started: true })
}
