-- Neovim as it is, without a screen: its own language client and its own
-- handlers. Only the person is played: what they type at a prompt is in the
-- story. What was seen is written as JSON; the Go test judges it.
local story = vim.fn.json_decode(os.getenv('STORY'))
local seen = { dialogs = {}, ended = vim.NIL, answered = false }

-- The stock handler of window/showMessageRequest asks by inputlist.
vim.fn.inputlist = function(lines)
  table.insert(seen.dialogs, table.concat(lines, '\n'))
  if story.late then
    vim.wait(60000, function() return seen.answered end, 10)
  end
  for i = 3, #lines do
    if lines[i] == (i - 2) .. '. ' .. story.answer then return i - 2 end
  end
  return 0 -- what Esc and an empty line give
end

if story.unserved then
  vim.lsp.handlers['window/showMessageRequest'] = nil
end

vim.o.swapfile = false
local config = { name = 'agentls', cmd = { os.getenv('AGENTLS'), 'serve', '--trust' }, root_dir = vim.fn.getcwd() }
local id = vim.lsp.start_client(config)
vim.cmd('edit note.txt')
vim.lsp.buf_attach_client(0, id)
local client = vim.lsp.get_client_by_id(id)
assert(vim.wait(60000, function() return client.initialized end, 10), 'the server did not start')
vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'oats' })
vim.o.undolevels = vim.o.undolevels -- what is typed and what an agent does are undone one by one
local text = function() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end

local params = { command = 'agentls.run', arguments = { 'fixer', story.prompt } }
client.request('workspace/executeCommand', params, function(err, result)
  seen.ended = err and ('failed: ' .. err.message) or (result.reason .. ': ' .. result.text)
  seen.answered = true
end, vim.api.nvim_get_current_buf()) -- with 0, 0.7 forgets to send first what was typed in the last 150 ms
assert(vim.wait(60000, function() return seen.answered end, 10), 'the run did not end')
-- A request that is answered comes after whatever the server does with an
-- answer to it that is still on its way.
vim.lsp.buf_request_sync(0, 'workspace/executeCommand', { command = 'agentls.list' }, 60000)
seen.buffer = text()
vim.cmd('silent undo')
seen.undone = text()
seen.messages = vim.fn.execute('messages')
vim.fn.writefile({ vim.fn.json_encode(seen) }, os.getenv('SEEN'))
vim.cmd('qa!')
