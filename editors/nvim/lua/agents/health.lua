-- :checkhealth agents
local M = {}

function M.check()
  local health = vim.health or require('health') -- before 0.8
  local start, ok = health.start or health.report_start, health.ok or health.report_ok
  local warn, fail, info = health.warn or health.report_warn, health.error or health.report_error, health.info or health.report_info

  start('agents')
  if vim.fn.has('nvim-0.7') == 0 then
    fail('Neovim is older than 0.7', { 'Install Neovim 0.7 or newer.' })
    return
  end
  ok('Neovim ' .. tostring(vim.version().major) .. '.' .. vim.version().minor .. '.' .. vim.version().patch)

  local cmd = require('agents').options.cmd
  if type(cmd) ~= 'table' then
    info('The server is started by a function; nothing is known of its program.')
    return
  end
  if vim.fn.executable(cmd[1]) == 0 then
    fail(cmd[1] .. ' is not in your PATH', {
      'Install agentls and put it into your PATH,',
      "or say where it is: require('agents').setup { cmd = { '/path/to/agentls', 'serve' } }",
    })
    return
  end
  ok(vim.fn.exepath(cmd[1]))

  local running = require('agents').servers()
  if #running == 0 then
    info('No server runs. It starts with :Agents, or when a file below a folder with .gemini is opened.')
  end
  for _, client in ipairs(running) do
    local caps = client.server_capabilities and client.server_capabilities.experimental
    if not client.initialized then
      warn('The server of ' .. client.config.root_dir .. ' has not answered yet.')
    elseif caps and caps.agents then
      ok('The server of ' .. client.config.root_dir .. ' runs.')
    else
      fail('The server of ' .. client.config.root_dir .. ' is too old for this plugin.', { 'Update agentls.' })
    end
  end
  info('Log of the server: ' .. (os.getenv('GEMINI_HOME') or '~/.gemini') .. '/agentls/logs/agentls.log')
  info('Log of the language client: ' .. require('vim.lsp.log').get_filename())

  start('agents: agentls doctor')
  local tell = { ['✓'] = ok, ['!'] = warn, ['✗'] = fail }
  for _, line in ipairs(vim.fn.systemlist({ cmd[1], 'doctor' })) do
    local mark, text = line:match('^(%S+) (.*)$')
    if text and not vim.startswith(text, 'terminal:') then -- the editor asks instead
      (tell[mark] or info)(text)
    end
  end
end

return M
