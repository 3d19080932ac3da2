-- The server that commands talk to: one for each workspace folder.
local M = {}

-- What setup() may change.
M.options = {
  cmd = { 'agentls', 'serve' },
  autostart = true, -- when a file below a folder with .gemini is opened
  session = 'main', -- that runs belong to
  window = 'botright vsplit', -- the command that opens the side window
  signs = true, -- beside the lines that agents changed, until you keep or undo them
  width = nil, -- of the side window, in columns; nil is half of the screen, 80 at most
}

function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
end

M.status = nil -- what a server last said of itself (agents/status)
M.runs = {} -- runs that go on, by id: { agent, session, client (its id) }
local clients = {} -- ids of clients by root folder
local waiting = {} -- by client id: functions to call when the server has answered initialize
local restarting = {} -- by root folder whose server is ending: functions to call with the next one
local ended = {} -- by root folder: when its server ended unexpectedly

local newer = vim.fn.has('nvim-0.11') == 1
local empty = vim.empty_dict()

function M.notify(message, level)
  vim.notify('agents: ' .. message, vim.log.levels[level or 'INFO'])
end

-- The server ---------------------------------------------------------------------------

-- workspace returns the nearest folder that holds .gemini. The one in the home folder
-- has the person's settings and makes no workspace.
local function workspace(path)
  local home = vim.loop.os_homedir()
  while true do
    if path ~= home and vim.fn.isdirectory(path .. '/.gemini') == 1 then
      return path
    end
    local parent = vim.fn.fnamemodify(path, ':h')
    if parent == path then
      return nil
    end
    path = parent
  end
end

local function below(root, path)
  return vim.startswith(path, (root:gsub('/$', '')) .. '/')
end

-- file returns the path of a buffer that is a file of this machine, else nil: not that of
-- a terminal, of a help page, or of scp://host/file.
function M.file(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' or name == '' or name:match('^%a[%w+.-]+://') then
    return nil
  end
  return name
end

-- root_of returns the workspace folder of a file, if it has one or a running server has it.
local function root_of(path)
  local root = workspace(vim.fn.fnamemodify(path, ':h'))
  if root then
    return root
  end
  for running in pairs(clients) do
    if below(running, path) then
      return running
    end
  end
end

-- speaks reports whether a server knows what the plugin asks for, and tells the person
-- if it does not: each time, since a message at the start is gone with the next one.
local function speaks(client)
  if vim.tbl_get(client.server_capabilities, 'experimental', 'agents', 'version') then
    return true
  end
  M.notify('this agentls is too old for the plugin: update it (:checkhealth agents)', 'ERROR')
  return false
end

-- config is what the language client is started with.
function M.config()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = {
    agents = {
      version = 1,
      activity = empty,
      -- Before 0.10 a handler cannot wait for a person: all questions are answered later.
      confirm = { feedback = true, modify = true, respond = true },
      ask = true,
      status = true,
      saveDocuments = true,
      filesWritten = true,
      editorQueries = true,
    },
  }
  return {
    name = 'agentls',
    cmd = M.options.cmd,
    capabilities = capabilities,
    handlers = require('agents.handlers'),
    root_dir = newer and function(buf, found)
      local path = M.file(buf)
      local root = path and root_of(path)
      if root then
        found(root)
      end
    end or nil,
    on_init = function(client)
      clients[client.config.root_dir or ''] = client.id
      vim.schedule(function() -- after the documents that are open were sent
        local calls = waiting[client.id] or {}
        waiting[client.id] = nil
        if not speaks(client) then
          return
        end
        require('agents.focus').watch()
        for _, call in ipairs(calls) do
          call(client)
        end
      end)
    end,
    on_attach = function(_, buf)
      if not vim.lsp.start then -- 0.7
        vim.bo[buf].omnifunc = 'v:lua.vim.lsp.omnifunc'
      end
    end,
    on_exit = function(code, signal, id)
      vim.schedule(function()
        M.exited(code, signal, id)
      end)
    end,
  }
end

-- start starts the server of a folder, or returns the client that is there.
local function start(root)
  if clients[root] then
    return clients[root]
  end
  local config = vim.tbl_extend('force', newer and vim.lsp.config.agentls or M.config(), { root_dir = root })
  local program = type(config.cmd) == 'table' and config.cmd[1] or nil
  if program and vim.fn.executable(program) == 0 then
    M.notify(program .. ' is not in your PATH: install agentls, or see :checkhealth agents', 'ERROR')
    return nil
  end
  config.workspace_folders = { { name = root, uri = vim.uri_from_fname(root) } }
  local id
  if newer then
    id = vim.lsp.start(config, { attach = false })
  else
    id = vim.lsp.start_client(config)
  end
  clients[root] = id
  return id
end

-- attach has the server see a buffer. It starts the server for files of a workspace.
function M.attach(buf)
  local path = vim.api.nvim_buf_is_valid(buf) and M.file(buf)
  if not path then
    return
  end
  local root = root_of(path)
  local global = path:match('/%.gemini/agents/[^/]*%.md$') or path:match('/%.gemini/settings%.json$')
  if not root and global then -- the person's own agents
    root = next(clients) or vim.fn.getcwd()
  end
  if not root or not (clients[root] or M.options.autostart) then
    return
  end
  local id = start(root)
  if id then
    vim.lsp.buf_attach_client(buf, id)
  end
end

-- begin starts the server of a folder and has it see what is open.
local function begin(root)
  start(root)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buf)
  end
end

-- set_key keeps an API key in the environment of this Neovim, which servers get when they start.
function M.set_key()
  if next(M.runs) then
    return M.notify('a run goes on, and servers start again with the key: :AgentsCancel it first', 'WARN')
  end
  local key = vim.fn.inputsecret('Gemini API key: ')
  if key == '' then
    return
  end
  vim.env.GEMINI_API_KEY = key
  for root, id in pairs(clients) do
    restarting[root] = {}
    local client = vim.lsp.get_client_by_id(id)
    if newer then
      client:stop()
    else
      client.stop()
    end
  end
  vim.cmd('redraw')
  M.notify('this Neovim has the key now; run the agent again')
end

-- with_client calls a function with the client of the current buffer's workspace, or of
-- the working directory's, which is started if need be.
function M.with_client(call)
  local path = M.file(0)
  local cwd = vim.fn.getcwd()
  local root = vim.b.agents_root or (path and root_of(path)) or root_of(cwd .. '/x') or cwd
  if restarting[root] then
    return table.insert(restarting[root], call)
  end
  local id = start(root)
  if not id then
    return
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buf)
  end
  local client = vim.lsp.get_client_by_id(id)
  if client and client.initialized then
    if speaks(client) then
      call(client)
    end
  else
    waiting[id] = waiting[id] or {}
    table.insert(waiting[id], call)
  end
end

-- servers returns the clients of the servers that run.
function M.servers()
  return vim.tbl_filter(function(client)
    return client ~= nil
  end, vim.tbl_map(vim.lsp.get_client_by_id, vim.tbl_values(clients)))
end

-- request asks the server, and says what went wrong if something did.
function M.request(client, method, params, done, failed)
  local function answered(err, result)
    if not err then
      done(result)
    elseif not (failed and failed(err)) then
      M.notify(M.explain(err), 'ERROR')
    end
  end
  -- With the buffer's number what was typed in it is sent before.
  local buf = vim.api.nvim_get_current_buf()
  if newer then
    client:request(method, params, answered, buf)
  else
    client.request(method, params, answered, buf)
  end
end

-- explain returns what to tell the person of an error.
function M.explain(err)
  local message = err.message or tostring(err)
  local kind = type(err.data) == 'table' and err.data.kind
  if kind == 'untrusted' then
    local folder = err.data.folder and vim.fn.fnamemodify(vim.uri_to_fname(err.data.folder), ':~') or 'This folder'
    message = folder .. ' is not trusted, so nothing ran.\n:AgentsTrust shows what it brings, and asks.'
  elseif kind == 'authRequired' and (err.data.command or ''):find('GEMINI_API_KEY', 1, true) then
    message = 'no key for the Gemini API.\n:AgentsKey asks for one. Get it at https://aistudio.google.com/apikey'
  elseif kind == 'busy' then
    message = message .. ' :AgentsSessions begins another session.'
  end
  return message
end

-- exited says what to do when a server ended that nobody stopped, and starts it again.
function M.exited(code, signal, id)
  local root
  for folder, client in pairs(clients) do
    if client == id then
      root = folder
    end
  end
  local starting = waiting[id]
  waiting[id] = nil
  if not root then
    return
  end
  clients[root] = nil
  require('agents.questions').exited(id)
  require('agents.events').exited(root)
  for run, about in pairs(M.runs) do
    if about.client == id then
      M.runs[run] = nil
    end
  end
  local calls = restarting[root]
  restarting[root] = nil
  if calls then
    begin(root)
    waiting[clients[root] or 0] = calls
    return
  end
  -- 15 is how Neovim stops a server that does not end by itself.
  if vim.v.exiting ~= vim.NIL or signal == 15 or (code == 0 and signal == 0) then
    return
  end
  local what = ('agentls ended by itself (%s %d)'):format(signal ~= 0 and 'signal' or 'code', signal ~= 0 and signal or code)
  local now = os.time()
  ended[root] = vim.tbl_filter(function(at)
    return now - at < 60
  end, ended[root] or {})
  table.insert(ended[root], now)
  local function tell(message, level)
    vim.schedule(function() -- in the place of what Neovim says itself, which has no advice
      vim.cmd('redraw')
      M.notify(message, level)
    end)
  end
  if starting or #ended[root] > 3 then
    return tell(what .. ': see :checkhealth agents', 'ERROR')
  end
  tell(what .. ' and was started again.', 'WARN')
  begin(root)
end

-- statusline returns what the server does, in a few letters; '' when it does not run.
function M.statusline()
  if not next(clients) then
    return ''
  end
  local status = M.status
  if not status then
    return 'agents'
  elseif status.waiting > 0 then
    return 'agents: waiting for you'
  elseif status.health ~= 'ok' then
    return 'agents: ' .. (status.message or status.health)
  elseif status.activeRuns > 0 then
    return ('agents: %d running'):format(status.activeRuns)
  end
  return 'agents: idle'
end

-- The lenses of tests show what failed as :AgentsTest does.
vim.lsp.commands['agentls.runTests'] = function(command)
  local arguments = command.arguments or {}
  require('agents.tests').run(arguments[1], arguments[2])
end

return M
