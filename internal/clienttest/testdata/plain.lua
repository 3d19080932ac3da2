-- Neovim as it is, 0.7 to 0.12: no plugin of ours, only its own language client.
vim.o.swapfile = false
vim.o.more = false
local config = { name = 'agentls', cmd = { os.getenv('AGENTLS'), 'serve', '--trust' }, root_dir = vim.fn.getcwd() }
local id = vim.lsp.start_client(config)
vim.cmd('edit note.txt')
vim.lsp.buf_attach_client(0, id)
local client = vim.lsp.get_client_by_id(id)
-- A run that is asked for before that comes before the buffer is opened.
assert(vim.wait(60000, function() return client.initialized end, 10), 'the server did not start')
vim.api.nvim_create_user_command('Agent', function(o)
  vim.g.done = ''
  local params = { command = 'agentls.run', arguments = { vim.g.agent or 'fixer', o.args } }
  client.request('workspace/executeCommand', params, function(err, result)
    vim.g.done = err and ('failed: ' .. err.message) or ('ended: ' .. result.reason)
    print(vim.g.done)
  end, vim.api.nvim_get_current_buf()) -- with 0, 0.7 forgets to send first what was typed in the last 150 ms
end, { nargs = '+' })
