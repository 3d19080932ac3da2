-- Commands, mappings and one autocommand. The rest is loaded when one of them is used.
if vim.g.loaded_agents then
  return
end
vim.g.loaded_agents = true

local function command(name, action, options)
  vim.api.nvim_create_user_command(name, function(o)
    require('agents.commands')[action](o)
  end, options)
end

local function agents(...)
  return require('agents.commands').complete(...)
end

command('Agents', 'pick', { bang = true, desc = 'Choose an agent and run it; with ! open its file' })
command('AgentsRun', 'run', { nargs = '*', range = true, complete = agents, desc = 'Run an agent: [name] {prompt}' })
command('AgentsRoute', 'route', { nargs = '+', range = true, desc = 'Show which agent fits a prompt, and run it' })
command('AgentsCancel', 'cancel', { desc = 'Cancel a run' })
command('AgentsSessions', 'sessions', { desc = 'Choose a session to go on with' })
command('AgentsTranscript', 'transcript', { nargs = '?', desc = 'Show a session from its beginning' })
command('AgentsGraph', 'graph', { nargs = '?', complete = agents, desc = 'Show the graph of an agent, and what it does' })
command('AgentsChanges', 'changes', { nargs = '?', desc = 'Show what agents changed; keep or undo it' })
command('AgentsTest', 'test', { bang = true, desc = 'Run the tests of this agent or file; with ! all' })
command('AgentsKey', 'key', { desc = 'Give this Neovim a key for the Gemini API' })
command('AgentsTrust', 'trust', { desc = 'Trust the agents of this workspace' })

local map = vim.api.nvim_set_keymap
map('n', '<Plug>(agents)', '<Cmd>Agents<CR>', {})
map('n', '<Plug>(agents-run)', ':AgentsRun ', {})
map('x', '<Plug>(agents-run)', ':AgentsRun ', {})
map('n', '<Plug>(agents-cancel)', '<Cmd>AgentsCancel<CR>', {})
map('n', '<Plug>(agents-sessions)', '<Cmd>AgentsSessions<CR>', {})
map('n', '<Plug>(agents-transcript)', '<Cmd>AgentsTranscript<CR>', {})
map('n', '<Plug>(agents-changes)', '<Cmd>AgentsChanges<CR>', {})
map('n', '<Plug>(agents-question)', "<Cmd>lua require('agents.questions').focus()<CR>", {})

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  group = vim.api.nvim_create_augroup('agents', {}),
  callback = function(event)
    vim.schedule(function() -- after the file is on the screen
      require('agents').attach(event.buf)
    end)
  end,
})
