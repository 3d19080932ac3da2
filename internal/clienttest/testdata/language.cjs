// An author's session with the built binary: findings of files with mistakes,
// their fixes, completion, hover, and the rename of an agent. The plan on standard
// input says which files there are, and what is to be mended by hand.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { lsp, connect, end, print, begin } = require('./connect.cjs')
const { Editor } = require('./editor.cjs')

const [binary, folder] = process.argv.slice(2)
const plan = JSON.parse(fs.readFileSync(0, 'utf8')) // {push, encoding, files, mends, draft}

let waits = ''
const server = connect(binary, () => waits)
const { conn } = server
const root = pathToFileURL(folder).href
const editor = new Editor(conn, plan.encoding)
const uriOf = (name) => pathToFileURL(path.join(folder, '.gemini/agents', name)).href
const nameOf = (uri) => path.posix.basename(uri)

// News are what may make an answer another one; until asks again at each.
let news = 0
let heard = []
function tell () {
  news++
  const list = heard
  heard = []
  for (const resolve of list) resolve()
}
async function until (what, test) {
  for (;;) {
    const before = news
    waits = what
    const value = await test()
    if (value) return value
    if (news === before) await new Promise((resolve) => heard.push(resolve))
  }
}

const pushed = new Map()
conn.onNotification('textDocument/publishDiagnostics', (p) => {
  pushed.set(p.uri, p)
  tell()
})
conn.onNotification('agents/didChange', tell)
conn.onRequest('workspace/diagnostic/refresh', () => { tell(); return null })
for (const other of ['inlayHint', 'codeLens', 'semanticTokens']) conn.onRequest(`workspace/${other}/refresh`, () => null)

const severities = ['', 'error', 'warning', 'info', 'hint']
const place = (r) => `${r.start.line}:${r.start.character}-${r.end.line}:${r.end.character}`
const shown = (d) => `${place(d.range)} ${severities[d.severity]} ${d.code}`
const same = (a, b) => shown(a) === shown(b) && a.message === b.message

// What has no effect in this version is no mistake: the fields are those of this test.
const lasting = (d) => d.code !== 'agent/no-effect'
const mistakes = (list) => list.filter(lasting)

// findings returns the mistakes in an open document as it is now.
async function findings (uri) { return mistakes(await told(uri)) }

// told returns what the server says of an open document as it is now.
async function told (uri) {
  if (!plan.push) {
    const report = await conn.sendRequest('textDocument/diagnostic', { textDocument: { uri } })
    if (report.kind !== 'full') throw new Error(`a report of kind ${report.kind} without a previous one`)
    return report.items
  }
  return until(`findings of ${nameOf(uri)}`, () => {
    const p = pushed.get(uri)
    return p && p.version === editor.open.get(uri).version && p.diagnostics
  })
}

// onDisk returns the findings of files that are not open, by name. Who is sent
// them waits for as many files as have some.
async function onDisk () {
  if (!plan.push) {
    const report = await conn.sendRequest('workspace/diagnostic', { previousResultIds: [] })
    return Object.fromEntries(report.items.map((r) => [nameOf(r.uri), mistakes(r.items).map(shown)]).filter(([, list]) => list.length > 0))
  }
  const list = await until('findings of files', () => {
    const some = [...pushed.values()].filter((p) => mistakes(p.diagnostics).length > 0)
    return some.length >= plan.files.length && some
  })
  return Object.fromEntries(list.map((p) => [nameOf(p.uri), mistakes(p.diagnostics).map(shown)]))
}

// fixesOf returns the quick fixes of one finding, the best first.
async function fixesOf (uri, d) {
  const actions = await conn.sendRequest('textDocument/codeAction', { textDocument: { uri }, range: d.range, context: { diagnostics: [d], only: ['quickfix'], triggerKind: 1 } })
  const own = (actions || []).filter((a) => a.edit && (a.diagnostics || []).some((other) => same(other, d)))
  for (const a of own) if (a.kind !== 'quickfix') throw new Error(`${a.title} is a ${a.kind}`)
  return own.sort((a, b) => (b.isPreferred || false) - (a.isPreferred || false))
}

// gone waits until a finding is no more.
const gone = (uri, d) => until(`an end of ${shown(d)} in ${nameOf(uri)}`, async () => !(await findings(uri)).some((other) => same(other, d)))

// mend makes what is wrong with one file right: by quick fixes while there are
// any, then by hand.
async function mend (name) {
  let uri = uriOf(name)
  const seen = new Map([...editor.open].map(([u, d]) => [u, d.text]))
  for (let rounds = 0; ; rounds++) {
    if (rounds === 100) throw new Error(`${name} is never right`)
    const list = await findings(uri)
    let fix
    let finding
    for (finding of list) {
      fix = (await fixesOf(uri, finding))[0]
      if (fix) break
    }
    if (fix) {
      print('fix', [nameOf(uri), finding.code, fix.title, fix.isPreferred ? 'preferred' : 'possible'])
      const renamed = (fix.edit.documentChanges || []).find((c) => c.kind === 'rename' && c.oldUri === uri)
      await editor.apply(fix.edit)
      if (renamed) uri = renamed.newUri
    } else {
      finding = list[0]
      if (!finding) break
      const by = plan.mends.find((m) => m.file === name && m.code === finding.code && editor.text(uri).includes(m.from))
      if (!by) { // it may have ended with another file's, which is not told yet
        await gone(uri, finding)
        continue
      }
      print('by hand', [nameOf(uri), by.code])
      await editor.didChange(uri, editor.text(uri).replace(by.from, () => by.to))
    }
    for (const [u, d] of editor.open) if (seen.get(u) !== d.text) { await editor.save(u); seen.set(u, d.text) }
    await gone(uri, finding)
  }
  await until(`${nameOf(uri)} as it is on the disk`, async () => (await conn.sendRequest('agents/list', {})).agents.some((a) => a.uri === uri && mistakes(a.problems).length === 0))
  const all = await conn.sendRequest('textDocument/codeAction', { textDocument: { uri }, range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, context: { diagnostics: [], only: ['source.fixAll.agentls'] } })
  print('mended', { file: nameOf(uri), all: (all || []).length })
}

// remaining returns the findings of all files that have some, open or not,
// settings among them.
async function remaining () {
  if (plan.push) return [...pushed.values()].filter((p) => mistakes(p.diagnostics).length > 0).map((p) => [nameOf(p.uri), p.diagnostics.map(shown)])
  const report = await conn.sendRequest('workspace/diagnostic', { previousResultIds: [] })
  return report.items.filter((r) => mistakes(r.items).length > 0).map((r) => [nameOf(r.uri), r.items.map(shown)])
}

// quiet waits until neither the open agent files nor any on the disk has a
// finding.
const quiet = () => until('an end of all findings', async () => {
  const list = await remaining()
  for (const uri of editor.open.keys()) {
    if (uri.endsWith('/note.md')) continue // no agent file
    const own = await findings(uri)
    if (own.length > 0) list.push([nameOf(uri), own.map(shown)])
  }
  waits = `an end of all findings: ${JSON.stringify(list)}`
  return list.length === 0
})

// complete accepts what is offered under a label behind a text of a file.
async function complete (uri, typed, label) {
  const text = editor.text(uri)
  const position = editor.position(text, typed, true)
  const answer = await conn.sendRequest('textDocument/completion', { textDocument: { uri }, position, context: { triggerKind: 1 } })
  const items = Array.isArray(answer) ? answer : answer.items
  const item = items.find((i) => i.label === label)
  if (!item) throw new Error(`${label} is not offered: ${items.map((i) => i.label)}`)
  await editor.didChange(uri, editor.changed(text, [item.textEdit]))
  print('completed', editor.text(uri).split('\n')[position.line])
}

async function main () {
  conn.listen()
  const init = await conn.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: root,
    workspaceFolders: [{ uri: root, name: 'work' }],
    capabilities: {
      general: { positionEncodings: plan.encoding === 'utf-8' ? ['utf-8', 'utf-16'] : ['utf-16'] },
      workspace: {
        workspaceEdit: { documentChanges: true, resourceOperations: ['create', 'rename', 'delete'] },
        ...(plan.push ? {} : { diagnostics: { refreshSupport: true } })
      },
      textDocument: {
        publishDiagnostics: { relatedInformation: true, versionSupport: true },
        ...(plan.push ? {} : { diagnostic: {} }),
        codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix', 'source'] } }, isPreferredSupport: true },
        completion: { completionItem: { snippetSupport: false, documentationFormat: ['markdown'] } },
        hover: { contentFormat: ['markdown'] },
        rename: { prepareSupport: true }
      },
      experimental: { agents: { version: 1 } }
    },
    clientInfo: { name: 'clienttest' }
  })
  print('encoding', init.capabilities.positionEncoding)
  await conn.sendNotification(lsp.InitializedNotification.type, {})
  await conn.sendRequest('agents/list', {})

  // What is wrong, and its end.
  print('on the disk', await onDisk())
  for (const name of plan.files) await editor.didOpen(uriOf(name), fs.readFileSync(path.join(folder, '.gemini/agents', name), 'utf8'))
  const open = {}
  for (const name of plan.files) open[name] = (await findings(uriOf(name))).map(shown)
  print('open', open)
  for (const name of plan.files) {
    for (const d of await findings(uriOf(name))) {
      const fixes = await fixesOf(uriOf(name), d)
      for (const fix of fixes) for (const c of fix.edit.documentChanges) if (c.edits && fs.existsSync(new URL(c.textDocument.uri))) editor.changed(editor.text(c.textDocument.uri), c.edits)
      print('offered', [name, d.code, fixes.map((f) => f.title), ...(d.relatedInformation || []).map((r) => [nameOf(r.location.uri), r.message])])
    }
  }
  for (const name of plan.files) await mend(name)
  await quiet()
  print('files', fs.readdirSync(path.join(folder, '.gemini/agents')).sort())
  for (const uri of editor.open.keys()) if (fs.readFileSync(new URL(uri), 'utf8') !== editor.text(uri)) throw new Error(`${uri} is not as it is on the disk`)
  print('settings', fs.readFileSync(path.join(folder, '.gemini/settings.json'), 'utf8').split('\n'))
  print('all.md', editor.text(uriOf('al.md')).split('\n'))

  // Names are completed.
  const draft = uriOf('draft.md')
  await editor.didOpen(draft, plan.draft)
  await until('findings of the draft', async () => (await findings(draft)).length === 2)
  await complete(draft, 'grep, read_f', 'read_file')
  await complete(draft, 'to: rou', 'round')
  await quiet()
  const hover = await conn.sendRequest('textDocument/hover', { textDocument: { uri: draft }, position: editor.position(editor.text(draft), 'draft') })
  print('hover', hover.contents.value.split('\n').filter((line) => /^- (tools|run by themselves|are not offered):/.test(line)))
  await editor.save(draft)

  // An agent that others name gets another name.
  await editor.didOpen(uriOf('uses-handoff.md'), editor.text(uriOf('uses-handoff.md')).replace('title:', '# 😀 not saved\ntitle:'))
  const note = pathToFileURL(path.join(folder, 'note.md')).href
  await editor.didOpen(note, editor.text(note))
  const helper = uriOf('helper.md')
  const at = { textDocument: { uri: uriOf('uses-handoff.md') }, position: editor.position(editor.text(uriOf('uses-handoff.md')), 'helper}') }
  print('prepare', (await conn.sendRequest('textDocument/prepareRename', at)).placeholder)
  for (const newName of ['round', 'Bad Name']) {
    const refused = await conn.sendRequest('textDocument/rename', { ...at, newName }).catch((e) => e)
    print('refused', { code: refused.code, message: refused.message })
  }
  const edit = await conn.sendRequest('textDocument/rename', { ...at, newName: 'assistant' })
  print('rename', edit.documentChanges.map((c) => c.kind ? [c.kind, nameOf(c.oldUri), nameOf(c.newUri)] : [nameOf(c.textDocument.uri), c.textDocument.version, c.edits.length]).sort())
  await editor.apply(edit)
  for (const uri of editor.open.keys()) await editor.save(uri)
  if (fs.existsSync(new URL(helper))) throw new Error('the old file is there')
  const agents = await until('the new name', async () => {
    const names = (await conn.sendRequest('agents/list', {})).agents.map((a) => a.name)
    return names.includes('assistant') && !names.includes('helper') && names
  })
  print('agents', agents.sort())
  for (const name of fs.readdirSync(path.join(folder, '.gemini/agents'))) if (!editor.open.has(uriOf(name))) await editor.didOpen(uriOf(name), editor.text(uriOf(name)))
  await quiet()
  for (const file of [...fs.readdirSync(path.join(folder, '.gemini/agents')).filter((n) => n.startsWith('uses-') || n === 'assistant.md').map((n) => '.gemini/agents/' + n).sort(), '.gemini/settings.json', 'note.md']) {
    print('named ' + file, fs.readFileSync(path.join(folder, file), 'utf8').split('\n').filter((line) => /helper|assistant/.test(line)))
  }
  if (!plan.push && pushed.size > 0) throw new Error(`who pulls is sent findings, too: ${[...pushed.keys()].map(nameOf)}`)
  await end(server)
}

begin(main)
