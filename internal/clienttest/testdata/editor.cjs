// What an editor does to files for a server of LSP: documents with versions, and
// edits of the workspace made exactly as the protocol says. What the server gets
// wrong is thrown.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const { fileURLToPath } = require('node:url')

// lineStarts returns where lines begin, and where each ends without its ending.
function linesOf (text) {
  const lines = []
  let from = 0
  for (const m of text.matchAll(/\r\n|\n|\r/g)) {
    lines.push([from, m.index])
    from = m.index + m[0].length
  }
  lines.push([from, text.length])
  return lines
}

class Editor {
  // encoding is that of positions: utf-16 or utf-8.
  constructor (conn, encoding) {
    this.conn = conn
    this.encoding = encoding
    this.open = new Map()
  }

  text (uri) {
    const d = this.open.get(uri)
    return d ? d.text : fs.readFileSync(fileURLToPath(uri), 'utf8')
  }

  async didOpen (uri, text, languageId = 'markdown') {
    this.open.set(uri, { text, version: 1, languageId })
    await this.conn.sendNotification('textDocument/didOpen', { textDocument: { uri, languageId, version: 1, text } })
  }

  async didChange (uri, text) {
    const d = this.open.get(uri)
    d.text = text
    d.version++
    await this.conn.sendNotification('textDocument/didChange', { textDocument: { uri, version: d.version }, contentChanges: [{ text }] })
  }

  async save (uri) {
    fs.writeFileSync(fileURLToPath(uri), this.open.get(uri).text)
    await this.conn.sendNotification('textDocument/didSave', { textDocument: { uri } })
  }

  // offset turns a position into one of JavaScript's; a place that the text does
  // not have is the server's mistake.
  offset (text, { line, character }) {
    const lines = linesOf(text)
    if (line >= lines.length) throw new Error(`there is no line ${line}`)
    const [from, to] = lines[line]
    const row = text.slice(from, to)
    if (this.encoding === 'utf-16') {
      if (character > row.length) throw new Error(`line ${line} has no character ${character}: ${row}`)
      return from + character
    }
    const bytes = Buffer.from(row)
    const head = bytes.subarray(0, character).toString()
    if (character > bytes.length || !row.startsWith(head)) throw new Error(`line ${line} has no byte ${character}: ${row}`)
    return from + head.length
  }

  // position returns the place of a text in another, or of its end.
  position (text, part, end = false) {
    const at = text.indexOf(part) + (end ? part.length : 0)
    const lines = linesOf(text)
    const line = lines.findLastIndex(([from]) => from <= at)
    const row = text.slice(lines[line][0], at)
    return { line, character: this.encoding === 'utf-16' ? row.length : Buffer.byteLength(row) }
  }

  // changed returns a text with edits made.
  changed (text, edits) {
    const list = edits.map((e, i) => ({ i, from: this.offset(text, e.range.start), to: this.offset(text, e.range.end), text: e.newText }))
    list.sort((a, b) => a.from - b.from || a.i - b.i)
    let out = ''
    let at = 0
    for (const e of list) {
      if (e.from < at || e.to < e.from) throw new Error(`edits overlap: ${JSON.stringify(edits)}`)
      out += text.slice(at, e.from) + e.text
      at = e.to
    }
    return out + text.slice(at)
  }

  // apply makes a WorkspaceEdit with documentChanges, in their order. Files that
  // are not open are written.
  async apply (edit) {
    if (!edit.documentChanges || edit.changes) throw new Error(`not as the client asked for: ${JSON.stringify(edit)}`)
    for (const c of edit.documentChanges) {
      switch (c.kind) {
        case 'create':
          this.make(c)
          break
        case 'rename':
          await this.rename(c)
          break
        case undefined:
          await this.write(c)
          break
        default:
          throw new Error(`a change of kind ${c.kind}`)
      }
    }
  }

  make ({ uri, options = {} }) {
    const file = fileURLToPath(uri)
    if (fs.existsSync(file) && !options.overwrite) {
      if (options.ignoreIfExists) return
      throw new Error(`${uri} is there`)
    }
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, '')
  }

  async rename ({ oldUri, newUri, options = {} }) {
    const [from, to] = [fileURLToPath(oldUri), fileURLToPath(newUri)]
    if (fs.existsSync(to) && !options.overwrite) throw new Error(`${newUri} is there`)
    fs.renameSync(from, to)
    const d = this.open.get(oldUri)
    if (!d) return
    this.open.delete(oldUri)
    await this.conn.sendNotification('textDocument/didClose', { textDocument: { uri: oldUri } })
    await this.didOpen(newUri, d.text, d.languageId)
  }

  async write ({ textDocument: { uri, version }, edits }) {
    const d = this.open.get(uri)
    const wanted = d ? d.version : null
    if (version !== wanted) throw new Error(`${uri} has version ${wanted}, not ${version}`)
    const text = this.changed(this.text(uri), edits)
    if (d) await this.didChange(uri, text)
    else fs.writeFileSync(fileURLToPath(uri), text)
  }
}

module.exports = { Editor }
