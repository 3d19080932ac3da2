-- The commands, and the server that they talk to: one for each workspace folder.
local M = {}

-- What setup() may change.
M.options = {
  cmd = { 'agentls', 'serve' },
  autostart = true, -- when a file below a folder with .gemini is opened
  session = 'main', -- that runs belong to
  window = 'botright vsplit', -- the command that opens the side window
  width = nil, -- of the side window, in columns; nil is 45 % of the screen, 80 at most
}

function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
end

M.status = nil -- what a server last said of itself (agents/status)
M.runs = {} -- runs that go on, by id: { agent, session, client (its id) }
local clients = {} -- ids of clients by root folder
local waiting = {} -- by client id: functions to call when the server has answered initialize
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
local function file(buf)
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
      local path = file(buf)
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
  local path = vim.api.nvim_buf_is_valid(buf) and file(buf)
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

-- with_client calls a function with the client of the current buffer's workspace, or of
-- the working directory's, which is started if need be.
function M.with_client(call)
  local path = file(0)
  local cwd = vim.fn.getcwd()
  local root = vim.b.agents_root or (path and root_of(path)) or root_of(cwd .. '/x') or cwd
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
    local folder = err.data.folder and vim.fn.fnamemodify(err.data.folder, ':~') or 'This folder'
    message = folder .. ' is not trusted, so its agents do not run. Look at them, then :AgentsTrust'
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
  require('agents.ui').exited(root, id)
  for run, about in pairs(M.runs) do
    if about.client == id then
      M.runs[run] = nil
    end
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
  start(root)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buf)
  end
end

-- What the person has in the editor ---------------------------------------------------

local function position(client, buf, row, column)
  return { line = row, character = vim.lsp.util.character_offset(buf, row, column, client.offset_encoding) }
end

-- selected returns the range of a command as { row, column, row, column }, counted from 0,
-- to the letter where it is the Visual selection.
local function selected(buf, o)
  if not o or (o.range or 0) == 0 then
    return nil
  end
  local first, last = o.line1 - 1, o.line2 - 1
  local from, to = vim.api.nvim_buf_get_mark(buf, '<'), vim.api.nvim_buf_get_mark(buf, '>')
  local width = #vim.api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
  if vim.fn.visualmode() == 'v' and from[1] == o.line1 and to[1] == o.line2 then
    local line = vim.api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
    local after = to[2] < width and to[2] + #vim.fn.strcharpart(line:sub(to[2] + 1), 0, 1) or width
    return { first, from[2], last, after }
  end
  return { first, 0, last, width }
end

-- about returns a function that makes the EditorContext of a run. It remembers what is
-- selected now, since a question to the person may come before the run.
local function about(o)
  local buf = vim.api.nvim_get_current_buf()
  local range, cursor = selected(buf, o), vim.api.nvim_win_get_cursor(0)
  return function(client)
    local context = { open = {} }
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if file(other) and vim.bo[other].buflisted then
        table.insert(context.open, vim.uri_from_bufnr(other))
      end
    end
    if #context.open == 0 then
      context.open = nil
    end
    if not vim.api.nvim_buf_is_loaded(buf) then
      return context
    end
    local first, last = cursor[1] - 1, cursor[1] - 1
    if range then
      first, last = range[1], range[3]
      context.text = table.concat(vim.api.nvim_buf_get_text(buf, range[1], range[2], range[3], range[4], {}), '\n')
    end
    if not file(buf) then
      return context
    end
    context.uri = vim.uri_from_bufnr(buf)
    if range then
      context.selection = {
        start = position(client, buf, range[1], range[2]),
        ['end'] = position(client, buf, range[3], range[4]),
      }
    else
      context.cursor = position(client, buf, first, cursor[2])
    end
    local found = {}
    for _, d in ipairs(vim.diagnostic.get(buf)) do
      if d.lnum <= last and (d.end_lnum or d.lnum) >= first then
        table.insert(found, {
          range = {
            start = position(client, buf, d.lnum, d.col),
            ['end'] = position(client, buf, d.end_lnum or d.lnum, d.end_col or d.col),
          },
          severity = d.severity,
          source = d.source,
          message = d.message,
        })
      end
    end
    context.diagnostics = #found > 0 and found or nil
    return context
  end
end

-- The commands -------------------------------------------------------------------------

local function random_id()
  return (vim.loop.random(8):gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

-- start_run runs an agent; of auto, the prompt may begin with --strategy=. One that is at
-- work in this session can be told the prompt, or gets it afterwards.
local function start_run(client, agent, prompt, context, queue)
  local run, session = random_id(), M.options.session
  local strategy, rest = prompt:match('^%-%-strategy=(%S+)%s*(.*)$')
  if agent == 'auto' and strategy then
    prompt = rest
  else
    strategy = nil
  end
  local ui = require('agents.ui')
  ui.open(client, session)
  M.runs[run] = { agent = agent or 'main', session = session, client = client.id }
  M.request(client, 'agents/run', {
    agent = agent,
    strategy = strategy,
    input = prompt,
    session = session,
    run = run,
    queue = queue,
    context = context(client),
    workDoneToken = run,
  }, function()
    M.runs[run] = nil
  end, function(err)
    M.runs[run] = nil
    local other = type(err.data) == 'table' and err.data.kind == 'busy' and err.data.run
    if not other then
      ui.failed(client, session, M.explain(err))
      return true
    end
    vim.ui.select({ 'Tell it now', 'Run it afterwards' }, {
      prompt = (agent or 'main') .. ' is at work in this session',
    }, function(choice)
      if choice == 'Tell it now' then
        M.request(client, 'agents/steer', { run = other, input = prompt }, function() end)
      elseif choice then
        start_run(client, agent, (strategy and '--strategy=' .. strategy .. ' ' or '') .. prompt, context, true)
      end
    end)
    return true
  end)
end

local function ask_prompt(agent, done)
  vim.ui.input({ prompt = '@' .. (agent or 'main') .. ': ' }, function(text)
    if text and text ~= '' then
      done(text)
    end
  end)
end

-- run serves :AgentsRun [name] {prompt}. The first word is a name if there is such an
-- agent, or if it begins with @.
function M.run(o)
  local context = about(o)
  M.with_client(function(client)
    M.request(client, 'agents/list', empty, function(list)
      local word, rest = o.args:match('^(%S+)%s*(.*)$')
      local agent, prompt = nil, o.args
      if word and word:sub(1, 1) == '@' then
        agent, prompt = word:sub(2), rest
      end
      for _, one in ipairs(list.agents) do
        if one.name == word then
          agent, prompt = word, rest
        end
      end
      if prompt ~= '' then
        return start_run(client, agent, prompt, context)
      end
      ask_prompt(agent, function(text)
        start_run(client, agent, text, context)
      end)
    end)
  end)
end

function M.complete(lead, line)
  if line:match('^.-AgentsRun!?%s+%S+%s') then
    return {}
  end
  local names = {}
  M.with_client(function(client)
    local answer
    M.request(client, 'agents/list', empty, function(list)
      answer = list
    end)
    vim.wait(1000, function()
      return answer
    end, 5)
    for _, one in ipairs(answer and answer.agents or {}) do
      if vim.startswith(one.name, lead) then
        table.insert(names, one.name)
      end
    end
  end)
  return names
end

-- pick serves :Agents and :Agents!.
function M.pick(o)
  local context = about()
  M.with_client(function(client)
    M.request(client, 'agents/list', empty, function(list)
      vim.ui.select(list.agents, {
        prompt = o.bang and 'Open the file of' or 'Run',
        kind = 'agents',
        format_item = function(one)
          local name = one.state == 'ok' and one.name or ('%s (%s)'):format(one.name, one.state)
          return require('agents.ui').one_line(name .. (one.description and ' – ' .. one.description or ''), vim.o.columns - 8)
        end,
      }, function(one)
        if not one then
          return
        end
        if o.bang or one.state == 'invalid' then
          if one.uri then
            return vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(one.uri)))
          end
          return M.notify(one.name .. ' is built in and has no file.')
        end
        ask_prompt(one.name, function(text)
          start_run(client, one.name, text, context)
        end)
      end)
    end)
  end)
end

-- unserved says that this agentls cannot do something yet.
local function unserved(what)
  return function(err)
    if err.code == -32601 then
      M.notify(what, 'WARN')
      return true
    end
  end
end

-- route serves :AgentsRoute.
function M.route(o)
  local context = about(o)
  M.with_client(function(client)
    M.request(client, 'agents/route', { input = o.args, uri = context(client).uri }, function(result)
      require('agents.ui').route(result, function(agent)
        start_run(client, agent, o.args, context)
      end)
    end, unserved('this agentls has no routing: name an agent, :AgentsRun {name} {prompt}'))
  end)
end

-- cancel serves :AgentsCancel: the only run, or the one that is chosen.
function M.cancel()
  local running = {}
  for run, about_run in pairs(M.runs) do
    table.insert(running, vim.tbl_extend('force', { run = run }, about_run))
  end
  local function stop(one)
    local client = one and vim.lsp.get_client_by_id(one.client)
    if client then
      M.request(client, 'agents/cancel', { run = one.run }, function() end)
    end
  end
  if #running == 0 then
    return M.notify('no run goes on.')
  elseif #running == 1 then
    return stop(running[1])
  end
  vim.ui.select(running, {
    prompt = 'Cancel',
    format_item = function(one)
      return one.agent .. ' in session ' .. one.session
    end,
  }, stop)
end

-- in_session calls a function of agents.ui with the session that a command names, else
-- the one of this buffer, else the one that runs belong to.
local function in_session(o, name)
  local session = o.args ~= '' and o.args or vim.b.agents_session or M.options.session
  M.with_client(function(client)
    require('agents.ui')[name](client, session)
  end)
end

-- transcript serves :AgentsTranscript [session].
function M.transcript(o)
  in_session(o, 'replay')
end

-- graph serves :AgentsGraph [agent].
function M.graph(o)
  local file = vim.api.nvim_buf_get_name(0)
  local params = o.args ~= '' and { name = o.args } or file:match('[/\\]agents[/\\][^/\\]+%.md$') and { uri = vim.uri_from_fname(file) }
  if not params then
    return M.notify('name an agent: :AgentsGraph NAME')
  end
  M.with_client(function(client)
    require('agents.ui').graph(client, params)
  end)
end

-- sessions serves :AgentsSessions. Runs belong to the chosen one from then on.
function M.sessions()
  M.with_client(function(client)
    M.request(client, 'agents/session/list', empty, function(list)
      local items = vim.list_extend({ { new = true } }, list.sessions)
      vim.ui.select(items, {
        prompt = 'Go on with',
        format_item = function(one)
          if one.new then
            return 'a new session'
          end
          local title = one.title ~= '' and one.title or 'no title'
          local day = one.updatedAt and one.updatedAt:sub(1, 10) or ''
          return ('%s – %s (%s %s)'):format(one.session, title, one.problem or one.state, day)
        end,
      }, function(one)
        if not one then
          return
        elseif one.new then
          return M.request(client, 'agents/session/new', empty, function(made)
            M.options.session = made.session
            require('agents.ui').open(client, made.session)
          end)
        end
        M.options.session = one.session
        require('agents.ui').replay(client, one.session, function()
          if one.state == 'interrupted' or one.state == 'paused' then
            M.resume(client, one.session)
          end
        end)
      end)
    end)
  end)
end

-- resume asks whether a session's runs that were cut off are to go on.
function M.resume(client, session)
  M.request(client, 'agents/session/get', { session = session }, function(got)
    for _, run in ipairs(got.runs) do
      if run.state == 'interrupted' or run.state == 'paused' then
        vim.ui.select({ 'Resume', 'Leave it', 'Cancel the run' }, {
          prompt = ('The run of %s is %s'):format(run.agent, run.state),
        }, function(choice)
          if choice == 'Resume' then
            M.request(client, 'agents/resume', { run = run.run, session = session, wait = 'accept' }, function() end)
          elseif choice == 'Cancel the run' then
            M.request(client, 'agents/cancel', { run = run.run }, function() end)
          end
        end)
        return
      end
    end
  end)
end

-- changes serves :AgentsChanges [session].
function M.changes(o)
  in_session(o, 'changes')
end

-- trust serves :AgentsTrust. The server says what trust is about, and asks.
function M.trust()
  M.with_client(function(client)
    M.request(client, 'workspace/executeCommand', { command = 'agentls.trustWorkspace' }, function(result)
      if #result.trusted > 0 then
        M.notify('trusted: ' .. table.concat(vim.tbl_map(vim.uri_to_fname, result.trusted), ', '))
      else
        M.notify('nothing was trusted that was not before.')
      end
    end)
  end)
end

-- test serves :AgentsTest[!].
function M.test(o)
  require('agents.tests').here(o)
end

-- The lenses of tests show what failed as :AgentsTest does.
vim.lsp.commands['agentls.runTests'] = function(command)
  local arguments = command.arguments or {}
  require('agents.tests').run(arguments[1], arguments[2])
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

return M
