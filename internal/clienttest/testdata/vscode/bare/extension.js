'use strict'
const vscode = require('vscode')

exports.activate = () => vscode.chat.createChatParticipant('local.bare', (request, _chat, stream) => {
  stream.markdown(request.prompt)
})
