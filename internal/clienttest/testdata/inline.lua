-- Neovim as it is, without a screen: a person runs an inline command by its lens
-- and by its code action, takes the answer back, and what was seen is written as
-- JSON; the Go test judges it.
local seen = { lenses = {}, actions = {} }
vim.o.swapfile = false
local id = vim.lsp.start_client({
  name = 'agentls', cmd = { os.getenv('AGENTLS'), 'serve', '--trust' }, root_dir = vim.fn.getcwd(),
  get_language_id = function(_, kind) return kind == '' and 'go' or kind end,
})
vim.cmd('edit calc.go')
vim.lsp.buf_attach_client(0, id)
local client = vim.lsp.get_client_by_id(id)
assert(vim.wait(60000, function() return client.initialized end, 10), 'the server did not start')
local text = function() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end
local before = text()
-- What the person does ends with a text that is another.
local changes = function(what)
  local was = text()
  what()
  assert(vim.wait(60000, function() return text() ~= was end, 10), 'nothing changed: ' .. vim.fn.execute('messages'))
  -- What is answered comes after what was typed, or the editor did, before it was asked.
  vim.lsp.buf_request_sync(0, 'workspace/executeCommand', { command = 'agentls.list' }, 60000)
  return text()
end

vim.api.nvim_win_set_cursor(0, { 3, 0 })
vim.lsp.codelens.refresh()
assert(vim.wait(60000, function() return #vim.lsp.codelens.get(0) > 0 end, 10), 'there is no lens')
for _, lens in ipairs(vim.lsp.codelens.get(0)) do
  table.insert(seen.lenses, lens.command.title)
end
seen.lens = changes(vim.lsp.codelens.run)
vim.cmd('silent undo')
seen.undone = text() == before

vim.ui.select = function(items, options, chosen) -- the editor's own menu of actions
  for _, item in ipairs(items) do
    table.insert(seen.actions, (options.format_item(item)))
  end
  for _, item in ipairs(items) do
    if vim.startswith(options.format_item(item), 'Run @fixer:') then return chosen(item) end
  end
end
vim.api.nvim_win_set_cursor(0, { 3, 0 })
seen.action = changes(vim.lsp.buf.code_action)
seen.messages = vim.fn.execute('messages')
vim.fn.writefile({ vim.fn.json_encode(seen) }, os.getenv('SEEN'))
vim.cmd('qa!')
