-- The commands.
local M = {}

local agents = require('agents')
local editor = require('agents.context')
local events = require('agents.events')
local ui = require('agents.ui')

local function random_id()
  return (vim.loop.random(8):gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

-- start_run runs an agent; of auto, the prompt may begin with --strategy=. One that is at
-- work in this session can be told the prompt, or gets it afterwards.
local function start_run(client, agent, prompt, context, queue)
  local run, session = random_id(), agents.options.session
  local strategy, rest = prompt:match('^%-%-strategy=(%S+)%s*(.*)$')
  if agent == 'auto' and strategy then
    prompt = rest
  else
    strategy = nil
  end
  ui.open(client, session)
  agents.runs[run] = { agent = agent or 'main', session = session, client = client.id }
  agents.request(client, 'agents/run', {
    agent = agent,
    strategy = strategy,
    input = prompt,
    session = session,
    run = run,
    queue = queue,
    context = context(client) or nil,
    workDoneToken = run,
  }, function()
    agents.runs[run] = nil
  end, function(err)
    agents.runs[run] = nil
    local other = type(err.data) == 'table' and err.data.kind == 'busy' and err.data.run
    if not other then
      events.failed(client, session, agents.explain(err))
      return true
    end
    ui.select({ 'Tell it now', 'Run it afterwards' }, {
      prompt = (agent or 'main') .. ' is at work in this session',
    }, function(choice)
      if choice == 'Tell it now' then
        agents.request(client, 'agents/steer', { run = other, input = prompt }, function() end)
      elseif choice then
        start_run(client, agent, (strategy and '--strategy=' .. strategy .. ' ' or '') .. prompt, context, true)
      end
    end)
    return true
  end)
end

local function ask_prompt(agent, done)
  ui.input({ prompt = '@' .. (agent or 'main') .. ': ' }, function(text)
    if text and text ~= '' then
      done(text)
    end
  end)
end

-- run serves :AgentsRun [name] {prompt}. The first word is a name if there is such an
-- agent, or if it begins with @.
function M.run(o)
  local context = editor.of(o)
  local name = vim.api.nvim_buf_get_name(0)
  if vim.bo.buftype == '' and name:match('^%a[%w+.-]+://') then
    agents.notify(ui.one_line('the agent sees only what you select: not on this machine: ' .. name, vim.o.columns - 20), 'WARN')
  end
  agents.with_client(function(client)
    agents.request(client, 'agents/list', vim.empty_dict(), function(list)
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
  agents.with_client(function(client)
    local answer
    agents.request(client, 'agents/list', vim.empty_dict(), function(list)
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
  local context = editor.of()
  agents.with_client(function(client)
    agents.request(client, 'agents/list', vim.empty_dict(), function(list)
      ui.select(list.agents, {
        prompt = o.bang and 'Open the file of which agent?' or 'Run which agent?',
        kind = 'agents',
        format_item = function(one)
          local name = one.state == 'ok' and one.name or ('%s (%s)'):format(one.name, one.state)
          return ui.one_line(name .. (one.description and ' – ' .. one.description or ''), vim.o.columns - 8)
        end,
      }, function(one)
        if not one then
          return
        end
        if o.bang or one.state == 'invalid' then
          if one.uri then
            return vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(one.uri)))
          end
          return agents.notify(one.name .. ' is built in and has no file.')
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
      agents.notify(what, 'WARN')
      return true
    end
  end
end

-- choose shows which agents a prompt may be for, the decided one first, and calls run with
-- the chosen one's name.
local function choose(result, run)
  local candidates = vim.tbl_filter(function(one)
    return one.agent ~= result.agent
  end, result.candidates)
  for _, one in ipairs(result.candidates) do
    if one.agent == result.agent then
      table.insert(candidates, 1, one)
    end
  end
  if result.agent and (candidates[1] or {}).agent ~= result.agent then -- picked by a model alone
    table.insert(candidates, 1, { agent = result.agent, confidence = result.confidence or 0, matches = {} })
  end
  if #candidates == 0 then
    return agents.notify('no agent fits. Name one: :AgentsRun {name} {prompt}', 'WARN')
  end
  ui.select(candidates, {
    prompt = result.text or 'Which agent is it for?',
    format_item = function(one)
      local why = vim.tbl_map(function(match)
        return match.text
      end, one.matches)
      return ('%s – %d %%%s'):format(one.agent, one.confidence, #why > 0 and ' · ' .. ui.one_line(table.concat(why, ', '), 60) or '')
    end,
  }, function(one)
    if one then
      run(one.agent)
    end
  end)
end

-- route serves :AgentsRoute.
function M.route(o)
  local context = editor.of(o)
  agents.with_client(function(client)
    agents.request(client, 'agents/route', { input = o.args, uri = (context(client) or {}).uri }, function(result)
      choose(result, function(agent)
        start_run(client, agent, o.args, context)
      end)
    end, unserved('this agentls has no routing: name an agent, :AgentsRun {name} {prompt}'))
  end)
end

-- in_session calls a function with the session that a command names, else the one of this
-- buffer, else the one that runs belong to.
local function in_session(o, call)
  local session = o.args ~= '' and o.args or vim.b.agents_session or agents.options.session
  agents.with_client(function(client)
    call(client, session)
  end)
end

-- cancel serves :AgentsCancel: the only run, or the one that is chosen.
function M.cancel()
  local running = {}
  for run, about_run in pairs(agents.runs) do
    table.insert(running, vim.tbl_extend('force', { run = run }, about_run))
  end
  local function stop(one)
    local client = one and vim.lsp.get_client_by_id(one.client)
    if client then
      agents.request(client, 'agents/cancel', { run = one.run }, function() end)
    end
  end
  if #running == 0 then -- of ours: the server knows whether another window has the session
    return in_session({ args = '' }, function(client, session)
      agents.request(client, 'agents/cancel', { session = session }, function(result)
        agents.notify(result.cancelled and 'cancelled.' or 'no run goes on.')
      end)
    end)
  elseif #running == 1 then
    return stop(running[1])
  end
  ui.select(running, {
    prompt = 'Cancel which run?',
    format_item = function(one)
      return one.agent .. ' in session ' .. one.session
    end,
  }, stop)
end

-- transcript serves :AgentsTranscript [session].
function M.transcript(o)
  in_session(o, events.replay)
end

-- graph serves :AgentsGraph [agent].
function M.graph(o)
  local file = vim.api.nvim_buf_get_name(0)
  local params = o.args ~= '' and { name = o.args } or file:match('[/\\]agents[/\\][^/\\]+%.md$') and { uri = vim.uri_from_fname(file) }
  if not params then
    return agents.notify('name an agent: :AgentsGraph NAME')
  end
  agents.with_client(function(client)
    require('agents.graph').show(client, params)
  end)
end

-- sessions serves :AgentsSessions. Runs belong to the chosen one from then on.
function M.sessions()
  agents.with_client(function(client)
    agents.request(client, 'agents/session/list', vim.empty_dict(), function(list)
      local items = vim.list_extend({ { new = true } }, list.sessions)
      ui.select(items, {
        prompt = 'Go on with which session?',
        format_item = function(one)
          if one.new then
            return 'a new session'
          end
          local title = one.title ~= '' and one.title or 'no title'
          local day = one.updatedAt and one.updatedAt:sub(1, 10) or ''
          local state = one.problem or (one.locked and 'in another window') or one.state
          return ('%s – %s (%s %s)'):format(one.session, title, state, day)
        end,
      }, function(one)
        if not one then
          return
        elseif one.new then
          return agents.request(client, 'agents/session/new', vim.empty_dict(), function(made)
            agents.options.session = made.session
            ui.open(client, made.session)
          end)
        end
        agents.options.session = one.session
        events.replay(client, one.session, function()
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
  agents.request(client, 'agents/session/get', { session = session }, function(got)
    for _, run in ipairs(got.runs) do
      if run.state == 'interrupted' or run.state == 'paused' then
        ui.select({ 'Resume', 'Leave it', 'Cancel the run' }, {
          prompt = ('The run of %s is %s'):format(run.agent, run.state),
        }, function(choice)
          if choice == 'Resume' then
            agents.request(client, 'agents/resume', { run = run.run, session = session, wait = 'accept' }, function() end)
          elseif choice == 'Cancel the run' then
            agents.request(client, 'agents/cancel', { run = run.run }, function() end)
          end
        end)
        return
      end
    end
  end)
end

-- changes serves :AgentsChanges [session].
function M.changes(o)
  in_session(o, require('agents.changes').show)
end

-- trust serves :AgentsTrust. The server says what trust is about, and asks.
function M.key()
  agents.set_key()
end

function M.trust()
  agents.with_client(function(client)
    agents.request(client, 'workspace/executeCommand', { command = 'agentls.trustWorkspace' }, function(result)
      if #result.trusted > 0 then
        agents.notify('trusted: ' .. table.concat(vim.tbl_map(vim.uri_to_fname, result.trusted), ', '))
      else
        agents.notify('nothing was trusted that was not before.')
      end
    end)
  end)
end

-- test serves :AgentsTest[!].
function M.test(o)
  require('agents.tests').here(o)
end

return M
