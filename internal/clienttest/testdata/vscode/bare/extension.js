'use strict'
const vscode = require('vscode')

exports.activate = () => {
  vscode.chat.createChatParticipant('local.bare', (request, _chat, stream) => {
    stream.markdown(request.prompt)
  })
  const nothing = () => { throw vscode.FileSystemError.NoPermissions() }
  vscode.workspace.registerFileSystemProvider('memory', { // an empty folder that is on no disk
    onDidChangeFile: new vscode.EventEmitter().event,
    watch: () => new vscode.Disposable(() => {}),
    stat (uri) {
      if (uri.path !== '/notes' && uri.path !== '/') throw vscode.FileSystemError.FileNotFound(uri)
      return { type: vscode.FileType.Directory, ctime: 0, mtime: 0, size: 0 }
    },
    readDirectory: () => [],
    readFile: (uri) => { throw vscode.FileSystemError.FileNotFound(uri) },
    writeFile: nothing,
    createDirectory: nothing,
    delete: nothing,
    rename: nothing
  })
}
