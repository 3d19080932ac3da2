-- What the events of runs put into the side buffer.
local M = {}

local api = vim.api
local ui = require('agents.ui')
local add, replace, append, note, one_line = ui.add, ui.replace, ui.append, ui.note, ui.one_line

local function begin(view, event)
  local parent = event.parentRun and view.runs[event.parentRun]
  local before = view.handovers[event.run]
  if before then
    parent = before.parent
  end
  local run = { items = {}, calls = {}, agent = event.agent or '', parent = parent, quote = parent and parent.quote .. '> ' or '' }
  run.row = parent and ui.end_row(parent) or api.nvim_buf_line_count(view.buf) - 1
  local prompt = {}
  if event.type == 'run.started' and not before then
    for _, block in ipairs(event.data.input or {}) do
      if block.type == 'text' then
        vim.list_extend(prompt, ui.lines_of(block.text))
      end
    end
  end
  local heading = (parent and '**@%s** %s' or '## @%s %s'):format(run.agent, table.remove(prompt, 1) or '')
  add(view, run, 'heading', { (heading:gsub('%s+$', '')), unpack(vim.list_slice(prompt, 1, 200)) }, not parent and 'Title' or nil)
  if parent then
    table.insert(parent.items, run)
    parent.open = nil
  end
  view.runs[event.run] = run
  return run
end

-- subject is what a tool call is about: its first telling argument.
local function subject(args)
  if type(args) ~= 'table' then
    return ''
  end
  for _, name in ipairs({ 'file_path', 'path', 'command', 'pattern', 'query', 'url', 'agent', 'name', 'question' }) do
    if type(args[name]) == 'string' then
      return one_line(args[name], 60)
    end
  end
  return ''
end

local function arguments(args)
  local lines = {}
  for name, value in pairs(type(args) == 'table' and args or {}) do
    local text = type(value) == 'string' and value or vim.fn.json_encode(value)
    table.insert(lines, name .. ': ' .. text)
  end
  table.sort(lines)
  return table.concat(lines, '\n')
end

local icons = { success = '✓', error = '✗', cancelled = '✗', awaiting_approval = '?' }
local ends = {
  GOAL = 'done',
  ABORTED = 'cancelled',
  HANDOFF = 'handed over',
  MAX_TURNS = 'stopped at its limit of turns',
  TIMEOUT = 'stopped at its limit of time',
  BUDGET = 'stopped at its limit of tokens or cost',
  LOOP = 'stopped: it repeated itself',
}

local on = {}

on['content.delta'] = function(view, run, data)
  if not (run.open and run.open.kind == 'text') then
    local text = data.text:gsub('^\n+', '')
    if text == '' then
      return
    end
    run.open = add(view, run, 'text', { '' })
    data = { text = text }
  end
  run.said = true
  append(view, run, run.open, data.text, '')
end

on['thought.delta'] = function(view, run, data)
  local about = data.subject or (run.open and run.open.about) or 'Thinking'
  if not (run.open and run.open.about == about) then
    local block = add(view, run, 'tool', { '▸ ' .. about, '│ ' }, 'Comment')
    block.about = about
    run.open = block
  end
  append(view, run, run.open, data.text, '│ ')
end

on['tool.state'] = function(view, run, data)
  local line = ('%s %s %s'):format(icons[data.state] or '…', data.name, subject(data.args)):gsub('%s+$', '')
  local lines = {}
  if data.state == 'awaiting_approval' then
    line = line .. '  waits for your answer'
  elseif data.error then
    line = line .. '  ' .. one_line(data.error.message, 120)
    lines = ui.details(data.error.message, 200)
  elseif data.result then
    local display = data.result.display
    line = line .. (display and display ~= data.name and '  ' .. one_line(display, 120) or '')
    lines = ui.details(data.result.content, 200)
  elseif data.progress then
    line = line .. '  ' .. one_line(data.progress, 120)
  end
  if #lines > 0 then
    lines = vim.list_extend(ui.details(arguments(data.args), 100), lines)
  end
  table.insert(lines, 1, line)
  local block = run.calls[data.call]
  if not block then
    block = add(view, run, 'tool', lines)
    run.calls[data.call] = block
  elseif #lines > 1 or block.count == 1 then
    replace(view, run, block, lines)
  else -- what the tool has printed so far stays
    ui.modify(view, function(buf)
      api.nvim_buf_set_lines(buf, block.row, block.row + 1, false, ui.prefixed(run, { line }))
    end)
  end
  ui.highlight(view, block.row, (data.error or data.state == 'cancelled') and 'WarningMsg' or 'Function')
end

on['tool.delta'] = function(view, run, data)
  local block = run.calls[data.call]
  if block then
    append(view, run, block, (block.count == 1 and '\n' or '') .. data.text, '│ ')
  end
end

on['file.changed'] = function(view, run, data)
  local lines = ui.lines_of((data.patch:gsub('\n$', '')))
  local more, less, named = 0, 0, true -- a line of code may begin as the file's names do
  for _, line in ipairs(lines) do
    local kind = line:sub(1, 1)
    named = named and kind ~= '@'
    more = more + ((not named and kind == '+') and 1 or 0)
    less = less + ((not named and kind == '-') and 1 or 0)
  end
  local name = vim.fn.fnamemodify(vim.uri_to_fname(data.uri), ':.')
  local block = { ('± %s %s  +%d −%d'):format(data.kind, name, more, less) }
  add(view, run, 'tool', vim.list_extend(block, ui.details(data.patch, 500)), 'Function')
end

on['handoff.started'] = function(view, run, data, event)
  note(view, run, ('**%s → %s**: %s'):format(data.from, data.to, data.reason))
  if data.run then
    view.handovers[data.run] = run -- begins with the request that run began with
  end
end

on['handoff.rejected'] = function(view, run, data)
  note(view, run, ('%s → %s was refused: %s'):format(data.from, data.to, data.message), 'WarningMsg')
end

on['route.decided'] = function(view, run, data)
  note(view, run, data.text or '')
end

on['input'] = function(view, run, data)
  for _, block in ipairs(data.input) do
    if block.type == 'text' then
      note(view, run, '**you**: ' .. block.text)
    end
  end
end

on['todos.changed'] = function(view, run, data)
  local marks = { completed = '[x]', in_progress = '[~]', cancelled = '[-]' }
  local lines = vim.tbl_map(function(todo)
    return ('- %s %s'):format(marks[todo.status] or '[ ]', one_line(todo.description, 200))
  end, data.todos)
  if run.todos and #lines > 0 then
    replace(view, run, run.todos, lines)
  elseif #lines > 0 then
    run.todos = add(view, run, 'todos', lines)
  end
end

on['model.started'] = function(_, run)
  run.attempt = #run.items
  run.open = nil
end

-- A retry may withdraw what the failed attempt has shown.
on['retry'] = function(view, run, data)
  if data.discard then
    for i = #run.items, (run.attempt or #run.items) + 1, -1 do
      local block = run.items[i]
      if block.kind == 'text' or block.about then
        ui.remove(view, run, block)
      end
    end
  end
  if data.repair then
    note(view, run, 'Repairing the result: ' .. data.cause, 'Comment')
  else
    note(view, run, ('Trying again (attempt %d): %s'):format(data.attempt, data.cause), 'Comment')
  end
end

-- The outcome of a guardrail: "✗ valid-json-output: /confidence required · repairing · ✓".
on['guardrail.checked'] = function(view, run, data)
  local found = {}
  for _, e in ipairs(data.errors or {}) do
    found[#found + 1] = vim.trim(e.pointer .. ' ' .. e.message)
  end
  local text = (data.outcome == 'passed' and '✓ ' or data.outcome == 'warned' and '! ' or '✗ ') .. data.name
  if #found > 0 then
    text = text .. ': ' .. table.concat(found, '; ')
  end
  if data.outcome ~= 'passed' and data.outcome ~= 'warned' and data.policy == 'repair' then
    text = text .. ' · repairing · ' .. (data.outcome == 'repaired' and '✓' or '✗')
  end
  note(view, run, text, (data.outcome == 'failed' or data.outcome == 'warned') and 'WarningMsg' or 'Comment')
end

on['note'] = function(view, run, data)
  note(view, run, data.message, data.level == 'warning' and 'WarningMsg' or 'Comment')
end

on['error'] = function(view, run, data)
  run.error = data.message
  note(view, run, data.message, 'ErrorMsg')
end

on['loop.detected'] = function(view, run, data)
  note(view, run, ('%s repeats itself (%s)'):format(run.agent, data.what or data.kind), 'WarningMsg')
end

on['run.state'] = function(view, run, data)
  if data.to == 'paused' or data.to == 'interrupted' then
    note(view, run, ('*%s%s* :AgentsSessions resumes it.'):format(data.to, data.why and ': ' .. data.why or ''), 'WarningMsg')
  elseif data.to == 'running' and (data.from == 'paused' or data.from == 'interrupted') then
    note(view, run, '*resumed*', 'Comment')
  end
end

on['run.finished'] = function(view, run, data, event)
  if not run.said and data.text ~= '' then
    note(view, run, data.text)
  end
  local parts = { ends[data.reason] or (data.error and data.error.message) or data.reason }
  if event.durationMs then
    table.insert(parts, ('%.1f s'):format(event.durationMs / 1000))
  end
  if data.usage.totalTokens > 0 then
    local tokens = data.usage.totalTokens
    table.insert(parts, (tokens < 10000 and '%d tok' or '%.0fk tok'):format(tokens < 10000 and tokens or tokens / 1000))
  end
  if data.cost and data.cost.amount > 0 and data.reason ~= 'HANDOFF' then -- it would not fit into its line
    table.insert(parts, (data.cost.currency == 'USD' and '$%.4f' or '%.4f ' .. data.cost.currency):format(data.cost.amount))
  end
  if data.reason == 'ERROR' and data.error then
    parts[1] = 'failed'
    if data.error.message ~= run.error then
      note(view, run, data.error.message, 'ErrorMsg')
    end
  end
  note(view, run, '*' .. table.concat(parts, ' · ') .. '*', 'Comment')
  if not run.parent and #data.changes > 0 then
    note(view, run, ('Keep or undo %d file%s: :AgentsChanges'):format(#data.changes, #data.changes == 1 and '' or 's'), 'Comment')
  end
  run.finished = true
end

-- render shows one event. A message that stands for several covers them up to its seq.
local function render(view, event)
  if event.seq <= view.seq then
    return
  end
  view.seq = event.seq
  if not event.run or event.type == 'checkpoint' then
    return
  end
  local run = view.runs[event.run] or begin(view, event)
  if on[event.type] then
    on[event.type](view, run, event.data, event)
  end
end

-- show puts an event into the buffer of its session.
function M.show(client, event)
  require('agents.graph').moved(client, event)
  if event.type == 'file.changed' or event.type == 'change.resolved' then
    require('agents.changes').mark(client, event.session)
  end
  local view = ui.view_of(client.config.root_dir, event.session)
  if view.loading then
    table.insert(view.late, event) -- it may have overtaken the page that ends before it
  else
    render(view, event)
  end
end

-- failed tells why a run did not begin.
function M.failed(client, session, message)
  local view = ui.view_of(client.config.root_dir, session)
  local run = { items = {}, quote = '', row = api.nvim_buf_line_count(view.buf) - 1 }
  note(view, run, message, 'ErrorMsg')
end

-- no_session reports whether an error says that there is no such session: a session begins
-- with its first run.
function M.no_session(err)
  return type(err.data) == 'table' and err.data.kind == 'unknownSession'
end

-- replay shows a session from its first event, and then calls done.
function M.replay(client, session, done)
  local view = ui.open(client, session, true)
  view.seq, view.blocks, view.runs, view.handovers, view.late, view.loading = 0, {}, {}, {}, {}, true
  ui.modify(view, function(buf)
    api.nvim_buf_set_lines(buf, 0, -1, false, {})
  end)
  local function page(from)
    require('agents').request(client, 'agents/subscribe', { session = session, fromSeq = from }, function(result)
      for _, event in ipairs(result.events) do
        render(view, event)
      end
      if result.more then
        return page(result.nextSeq)
      end
      view.loading = false
      for _, event in ipairs(view.late) do
        render(view, event)
      end
      if done then
        done()
      end
    end, function(err)
      view.loading = false
      if M.no_session(err) then
        M.failed(client, session, 'Nothing has been said in session ' .. session .. ' yet.')
        return true
      end
    end)
  end
  page(1)
end

-- exited marks the runs that a server cut off when it ended.
function M.exited(root)
  for _, view in ipairs(ui.views_of(root)) do
    view.loading = false
    for _, run in pairs(view.runs) do
      if not run.finished then
        note(view, run, 'agentls ended here. :AgentsSessions resumes this run.', 'WarningMsg')
      end
    end
    view.runs = {} -- who resumes it sees it go on below
  end
end

return M
