// A client from npm drives the built binary: vscode-languageserver-protocol over
// the child's standard streams, no editor. It prints one JSON line for each
// thing that it saw; the Go test judges them.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { lsp, connect, end, print, begin } = require('./connect.cjs')

const [binary, folder] = process.argv.slice(2)
const server = connect(binary)
const { conn } = server

const events = []
const waiting = []
let answers = []
const questions = []
conn.onNotification('agents/activity', (e) => {
  events.push(e)
  for (const w of waiting.slice()) if (w.done(e)) { waiting.splice(waiting.indexOf(w), 1); w.resolve(e) }
})
conn.onNotification('agents/didChange', () => {})
conn.onNotification('agents/confirm/resolved', (p) => print('resolved', p.reason))
conn.onRequest('agents/confirm', (p) => {
  questions.push(p)
  return answers.shift() || { outcome: 'reject' }
})
const event = (done) => new Promise((resolve) => {
  const seen = events.find(done)
  if (seen) resolve(seen)
  else waiting.push({ done, resolve })
})

// gaps returns the places where the ranges of events do not join.
function gaps () {
  const last = {}
  const found = []
  for (const e of events) {
    const from = e.fromSeq || e.seq
    if (last[e.session] !== undefined && from !== last[e.session] + 1) found.push([e.session, last[e.session], from])
    last[e.session] = e.seq
  }
  return found
}

async function main () {
  conn.listen()
  const root = pathToFileURL(folder).href
  const init = await conn.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: root,
    workspaceFolders: [{ uri: root, name: 'work' }],
    capabilities: {
      general: { positionEncodings: ['utf-16'] },
      workspace: { applyEdit: false },
      experimental: { agents: { version: 1, activity: {}, confirm: { feedback: true } } }
    },
    clientInfo: { name: 'clienttest' }
  })
  print('initialize', { name: init.serverInfo.name, encoding: init.capabilities.positionEncoding, commands: init.capabilities.executeCommandProvider.commands, agents: init.capabilities.experimental.agents })
  await conn.sendNotification(lsp.InitializedNotification.type, {})

  const list = await conn.sendRequest('agents/list', {})
  print('list', list.agents.map((a) => [a.scope, a.name, a.state]))

  answers = [{ outcome: 'reject', feedback: 'not this file' }]
  const refused = await conn.sendRequest('agents/run', { agent: 'fixer', input: 'refuse me', session: 'a' })
  print('refused', { reason: refused.reason, text: refused.text, file: fs.readFileSync(path.join(folder, 'note.txt'), 'utf8') })

  answers = [{ outcome: 'once' }]
  const accepted = await conn.sendRequest('agents/run', { agent: 'fixer', input: 'allow me', session: 'b' })
  print('accepted', { reason: accepted.reason, text: accepted.text, changes: accepted.changes.map((c) => c.kind), file: fs.readFileSync(path.join(folder, 'note.txt'), 'utf8') })
  print('questions', questions.map((q) => ({ tool: q.tool, risk: q.risk, preview: q.preview.kind, options: q.options.map((o) => o.kind), whole: typeof q.args === 'object' })))
  const last = events[events.length - 1]
  print('last', { type: last.type, run: last.run === accepted.run })

  answers = [{ outcome: 'once' }]
  const token = new lsp.CancellationTokenSource()
  const run = conn.sendRequest('agents/run', { agent: 'fixer', input: 'cancel me', session: 'c' }, token.token)
  await event((e) => e.session === 'c' && e.type === 'tool.delta' && e.data.text.includes('started'))
  const began = process.hrtime.bigint()
  token.cancel()
  const cancelled = await run
  const ms = Number(process.hrtime.bigint() - began) / 1e6
  print('cancelled', { reason: cancelled.reason, inASecond: ms < 1000 })

  const unknown = await conn.sendRequest('agents/run', { agent: 'fixre', input: 'x' }).catch((e) => e)
  print('unknown', { code: unknown.code, data: unknown.data })
  const wrong = await conn.sendRequest('agents/run', { agent: 'fixer', input: 5 }).catch((e) => e)
  print('wrong', { code: wrong.code, message: wrong.message })

  print('gaps', gaps())
  print('types', [...new Set(events.map((e) => e.type))].sort())
  await end(server)
}

begin(main)
