-- What the person sees: the side buffer of a session, questions, and changes.
local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace('agents')

local function agents()
  return require('agents')
end

local function lines_of(text)
  return vim.split(text, '\n', { plain = true })
end

-- one_line shortens a text for a line.
local function one_line(text, width)
  text = text:gsub('[\r\n\t]+', ' ')
  if vim.fn.strchars(text) > width then
    text = vim.fn.strcharpart(text, 0, width - 1) .. '…'
  end
  return text
end

M.one_line = one_line

-- in_normal_mode calls a function as soon as the person is in Normal mode, so that what
-- they are typing is not taken for an answer.
local function in_normal_mode(call)
  if api.nvim_get_mode().mode == 'n' then
    return call()
  end
  api.nvim_create_autocmd('ModeChanged', {
    pattern = '*:n',
    once = true,
    callback = function()
      vim.schedule(function()
        in_normal_mode(call)
      end)
    end,
  })
end

-- The side buffer ----------------------------------------------------------------------
--
-- A view is the buffer of one session. It is made of blocks (a heading, a text, thoughts,
-- a tool call) that know their first row and number of lines. A run has its blocks and
-- the runs that it started in order; so what comes of a child run is inserted behind what
-- that run has shown, and not at the end of the buffer.

local views = {} -- by root folder and session

-- shift moves the blocks from a row on.
local function shift(view, row, by, but)
  for _, block in ipairs(view.blocks) do
    if block.row >= row and block ~= but then
      block.row = block.row + by
    end
  end
end

-- modify calls a function that changes the view's buffer. Windows whose cursor is on the
-- last line follow.
local function modify(view, change)
  local buf = view.buf
  local following = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim_win_get_cursor(win)[1] == api.nvim_buf_line_count(buf) then
      table.insert(following, win)
    end
  end
  vim.bo[buf].modifiable = true
  change(buf)
  vim.bo[buf].modifiable = false
  for _, win in ipairs(following) do
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  end
end

local function end_row(run)
  local last = run.items[#run.items]
  if last.items then
    return end_row(last)
  end
  return last.row + last.count
end

-- prefixed puts the quote marks of a child run before lines.
local function prefixed(run, lines)
  return vim.tbl_map(function(line)
    return run.quote .. line
  end, lines)
end

local function highlight(view, row, group)
  api.nvim_buf_clear_namespace(view.buf, namespace, row, row + 1)
  local line = api.nvim_buf_get_lines(view.buf, row, row + 1, false)[1]
  api.nvim_buf_set_extmark(view.buf, namespace, row, 0, { end_col = #line, hl_group = group })
end

-- add puts a block behind what a run has shown, after an empty line unless both are tools.
local function add(view, run, kind, lines, group)
  local last = run.items[#run.items]
  local row = last and end_row(run) or run.row
  lines = prefixed(run, lines)
  local apart = row > 0 and not (last and last.kind == kind and kind == 'tool') and 1 or 0
  local above = kind == 'heading' and (run.parent and run.parent.quote or '') or run.quote
  modify(view, function(buf)
    api.nvim_buf_set_lines(buf, row, row, false, apart == 1 and { (above:gsub(' $', '')), unpack(lines) } or lines)
  end)
  shift(view, row, apart + #lines)
  local block = { kind = kind, row = row + apart, count = #lines }
  table.insert(view.blocks, block)
  table.insert(run.items, block)
  if group then
    highlight(view, block.row, group)
  end
  run.open = nil
  return block
end

-- replace puts other lines in the place of a block's.
local function replace(view, run, block, lines)
  lines = prefixed(run, lines)
  modify(view, function(buf)
    api.nvim_buf_set_lines(buf, block.row, block.row + block.count, false, lines)
  end)
  shift(view, block.row + block.count, #lines - block.count, block)
  block.count = #lines
end

-- append adds text to the end of a block; its further lines begin with a margin.
local function append(view, run, block, text, margin)
  local lines = lines_of(text)
  for i = 2, #lines do
    lines[i] = run.quote .. margin .. lines[i]
  end
  local row = block.row + block.count - 1
  modify(view, function(buf)
    local column = #api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
    api.nvim_buf_set_text(buf, row, column, row, column, lines)
  end)
  shift(view, row + 1, #lines - 1, block)
  block.count = block.count + #lines - 1
end

local function remove(view, run, block)
  replace(view, run, block, {})
  for _, list in ipairs({ view.blocks, run.items }) do
    for i = #list, 1, -1 do
      if list[i] == block then
        table.remove(list, i)
      end
    end
  end
end

-- details are lines of a fold: they begin with │, and the line above is what is seen of it.
local function details(text, most)
  local lines = lines_of((text:gsub('\n+$', '')))
  local left = #lines - most
  if left > 0 then
    lines = vim.list_slice(lines, 1, most)
    table.insert(lines, ('… %d more lines'):format(left))
  end
  return vim.tbl_map(function(line)
    return '│ ' .. line
  end, lines)
end

function M.fold()
  local function is_detail(lnum)
    return vim.startswith(vim.fn.getline(lnum):gsub('^[> ]+', ''), '│')
  end
  if is_detail(vim.v.lnum) then
    return '1'
  end
  return is_detail(vim.v.lnum + 1) and '>1' or '0'
end

function M.foldtext()
  local more = ('  +%d lines'):format(vim.v.foldend - vim.v.foldstart)
  return one_line(vim.fn.getline(vim.v.foldstart), vim.fn.winwidth(0) - #more) .. more
end

local function window_options()
  vim.cmd([[
    setlocal foldmethod=expr foldexpr=v:lua.require'agents.ui'.fold() foldtext=v:lua.require'agents.ui'.foldtext()
    setlocal foldlevel=0 foldenable foldminlines=0 fillchars+=fold:\  conceallevel=0
    setlocal wrap linebreak nonumber norelativenumber nolist nospell signcolumn=no winhighlight=Folded:Comment
  ]])
end

local function view_of(root, session)
  local key = root .. '\0' .. session
  local view = views[key]
  if view and api.nvim_buf_is_valid(view.buf) then
    return view
  end
  local buf = api.nvim_create_buf(false, true)
  view = { buf = buf, root = root, session = session, seq = 0, blocks = {}, runs = {}, handovers = {} }
  views[key] = view
  pcall(api.nvim_buf_set_name, buf, ('agents://%s/%s'):format(vim.fn.fnamemodify(root, ':t'), session))
  vim.b[buf].agents_root = root
  vim.b[buf].agents_session = session
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  -- It looks like Markdown and is of another type, so that no plugin renders what a model
  -- wrote: an image of a remote host would be asked for, and tell that host something.
  vim.bo[buf].filetype = 'agents'
  vim.bo[buf].syntax = 'markdown'
  api.nvim_create_autocmd('BufWinEnter', { buffer = buf, callback = window_options })
  return view
end

-- side_window returns the window of this tab that shows a buffer of ours.
local function side_window()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.startswith(api.nvim_buf_get_name(api.nvim_win_get_buf(win)), 'agents://') then
      return win
    end
  end
end

-- show_buffer shows a buffer in the side window. The cursor stays where it is, unless enter is set.
local function show_buffer(buf, enter)
  local win = side_window()
  local before = api.nvim_get_current_win()
  if not win then
    vim.cmd(agents().options.window)
    win = api.nvim_get_current_win()
    local width = agents().options.width or math.min(80, math.floor(vim.o.columns * 0.45))
    if not agents().options.window:match('tab') and api.nvim_win_get_width(win) < vim.o.columns then
      api.nvim_win_set_width(win, width)
    end
  end
  if api.nvim_win_get_buf(win) ~= buf then
    api.nvim_win_set_buf(win, buf)
  end
  api.nvim_set_current_win(enter and win or before)
  return win
end

function M.open(client, session, enter)
  local view = view_of(client.config.root_dir, session)
  local win = show_buffer(view.buf, enter)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(view.buf), 0 })
  return view
end

-- Events -------------------------------------------------------------------------------

local function begin(view, event)
  local parent = event.parentRun and view.runs[event.parentRun]
  local before = view.handovers[event.run]
  if before then
    parent = before.parent
  end
  local run = { items = {}, calls = {}, agent = event.agent or '', parent = parent, quote = parent and parent.quote .. '> ' or '' }
  run.row = parent and end_row(parent) or api.nvim_buf_line_count(view.buf) - 1
  local prompt = {}
  if event.type == 'run.started' and not before then
    for _, block in ipairs(event.data.input or {}) do
      if block.type == 'text' then
        vim.list_extend(prompt, lines_of(block.text))
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

local function note(view, run, text, group)
  add(view, run, 'note', lines_of(text), group)
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
    lines = details(data.error.message, 200)
  elseif data.result then
    local display = data.result.display
    line = line .. (display and display ~= data.name and '  ' .. one_line(display, 120) or '')
    lines = details(data.result.content, 200)
  elseif data.progress then
    line = line .. '  ' .. one_line(data.progress, 120)
  end
  if #lines > 0 then
    lines = vim.list_extend(details(arguments(data.args), 100), lines)
  end
  table.insert(lines, 1, line)
  local block = run.calls[data.call]
  if not block then
    block = add(view, run, 'tool', lines)
    run.calls[data.call] = block
  elseif #lines > 1 or block.count == 1 then
    replace(view, run, block, lines)
  else -- what the tool has printed so far stays
    modify(view, function(buf)
      api.nvim_buf_set_lines(buf, block.row, block.row + 1, false, prefixed(run, { line }))
    end)
  end
  highlight(view, block.row, (data.error or data.state == 'cancelled') and 'WarningMsg' or 'Function')
end

on['tool.delta'] = function(view, run, data)
  local block = run.calls[data.call]
  if block then
    append(view, run, block, (block.count == 1 and '\n' or '') .. data.text, '│ ')
  end
end

on['file.changed'] = function(view, run, data)
  local lines = lines_of((data.patch:gsub('\n$', '')))
  local more, less = 0, 0
  for _, line in ipairs(lines) do
    if line:match('^%+') and not line:match('^%+%+%+ ') then
      more = more + 1
    elseif line:match('^%-') and not line:match('^%-%-%- ') then
      less = less + 1
    end
  end
  local name = vim.fn.fnamemodify(vim.uri_to_fname(data.uri), ':.')
  local block = { ('± %s %s  +%d −%d'):format(data.kind, name, more, less) }
  add(view, run, 'tool', vim.list_extend(block, details(data.patch, 500)), 'Function')
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
    replace(view, run, run.todos, prefixed(run, lines))
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
        remove(view, run, block)
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
  if data.usage.totalTokens > 0 then
    table.insert(parts, data.usage.totalTokens .. ' tokens')
  end
  if data.cost and data.cost.amount > 0 then
    table.insert(parts, ('%.4f %s'):format(data.cost.amount, data.cost.currency))
  end
  if event.durationMs then
    table.insert(parts, ('%.1f s'):format(event.durationMs / 1000))
  end
  if data.reason == 'ERROR' and data.error then
    parts[1] = 'failed'
    if data.error.message ~= run.error then
      note(view, run, data.error.message, 'ErrorMsg')
    end
  end
  note(view, run, '*' .. table.concat(parts, ' · ') .. '*', 'Comment')
  if not run.parent and #data.changes > 0 then
    note(view, run, 'Files were changed. Keep or undo: :AgentsChanges', 'Comment')
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

-- Graphs -------------------------------------------------------------------------------

local graph = { runs = {} } -- what is shown: buf, agent, params, waiting; and the newest run of each agent

-- draw_graph asks for the graph that is shown, and writes it into its buffer.
local function draw_graph(client, enter)
  agents().request(client, 'agents/graph/get', graph.params, function(result)
    graph.agent = result.agent
    local run = graph.runs[result.agent]
    if run and graph.params.run ~= run then
      graph.params.run = run
      return draw_graph(client, enter)
    end
    vim.bo[graph.buf].modifiable = true
    api.nvim_buf_set_lines(graph.buf, 0, -1, false, lines_of((result.drawing:gsub('\n$', ''))))
    vim.bo[graph.buf].modifiable = false
    if enter then
      show_buffer(graph.buf, true)
    end
  end)
end

-- graph shows the graph of an agent, which follows what its newest run does.
function M.graph(client, params)
  if not graph.buf or not api.nvim_buf_is_valid(graph.buf) then
    graph.buf = api.nvim_create_buf(false, true)
    api.nvim_buf_set_name(graph.buf, 'agents://graph')
    vim.bo[graph.buf].modifiable = false
  end
  graph.params, graph.agent = params, nil
  draw_graph(client, true)
end

-- graph_moved draws the graph again when a node of its agent moved.
local function graph_moved(client, event)
  if event.type ~= 'graph.node' then
    return
  end
  graph.runs[event.agent] = event.run
  if event.agent == graph.agent and api.nvim_buf_is_valid(graph.buf) and not graph.waiting then
    graph.waiting = true
    vim.defer_fn(function()
      graph.waiting = false
      draw_graph(client)
    end, 50)
  end
end

function M.event(client, event)
  graph_moved(client, event)
  local view = view_of(client.config.root_dir, event.session)
  if not view.loading then
    render(view, event)
  end
end

-- failed tells why a run did not begin.
function M.failed(client, session, message)
  local view = view_of(client.config.root_dir, session)
  local run = { items = {}, quote = '', row = api.nvim_buf_line_count(view.buf) - 1 }
  note(view, run, message, 'ErrorMsg')
end

-- no_session reports whether an error says that there is no such session: a session begins
-- with its first run.
local function no_session(err)
  return type(err.data) == 'table' and err.data.kind == 'unknownSession'
end

-- replay shows a session from its first event, and then calls done.
function M.replay(client, session, done)
  local view = M.open(client, session, true)
  view.seq, view.blocks, view.runs, view.handovers, view.loading = 0, {}, {}, {}, true
  modify(view, function(buf)
    api.nvim_buf_set_lines(buf, 0, -1, false, {})
  end)
  local function page(from)
    agents().request(client, 'agents/subscribe', { session = session, fromSeq = from }, function(result)
      for _, event in ipairs(result.events) do
        render(view, event)
      end
      if result.more then
        return page(result.nextSeq)
      end
      view.loading = false
      if done then
        done()
      end
    end, function(err)
      view.loading = false
      if no_session(err) then
        M.failed(client, session, 'Nothing has been said in session ' .. session .. ' yet.')
        return true
      end
    end)
  end
  page(1)
end

-- Questions ----------------------------------------------------------------------------

local questions = {} -- that wait; the first one is shown
local keys = { once = 'a', run = 'u', session = 's', always = 'A', reject = 'r', cancel = 'c' }
local words = {
  once = 'allow once',
  run = 'allow for this run',
  session = 'allow for this session',
  always = 'always allow',
  reject = 'reject',
  cancel = 'end the run',
}

local function respond(client, question, answer)
  if vim.lsp.get_client_by_id(client.id) then
    agents().request(client, 'agents/respond', { id = question.id, nonce = question.nonce, answer = answer }, function() end)
  end
end

local show_next

local function close(question)
  for i, one in ipairs(questions) do
    if one == question then
      table.remove(questions, i)
    end
  end
  question.done = true
  if question.win and api.nvim_win_is_valid(question.win) then
    api.nvim_win_close(question.win, true)
  end
  if question.before and api.nvim_win_is_valid(question.before) then
    api.nvim_set_current_win(question.before)
  end
  show_next()
end

local function decide(question, outcome, modified)
  local function send(feedback)
    if not question.done then
      close(question)
      respond(question.client, question, {
        outcome = outcome,
        feedback = feedback,
        modified = modified,
        prefix = question.prefixed and keys[outcome] ~= 'a' or nil,
      })
    end
  end
  if outcome ~= 'reject' then
    return send()
  end
  vim.ui.input({ prompt = 'Why not? (Enter: no reason) ' }, function(reason)
    if reason then -- else the question stays
      send(reason ~= '' and reason or nil)
    end
  end)
end

-- accept_edited allows an edit with the text of a buffer in the place of the agent's, if
-- the person is there.
local function accept_edited(question, buf, there)
  if question.done then
    agents().notify('the question was answered or withdrawn meanwhile; this text goes nowhere', 'WARN')
    return
  end
  if not there then -- :wa and the like are no answer
    agents().notify('write it in its own window (:w) to accept the edit', 'WARN')
    return
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  if vim.endswith(question.preview.newText or '', '\n') then
    text = text .. '\n'
  end
  vim.bo[buf].modified = false
  pcall(vim.cmd, 'tabclose') -- the last tab stays
  if text == question.preview.newText then
    decide(question, 'once')
  else
    decide(question, 'modify', { newText = text })
  end
end

-- edit_new has the person edit the new text of a comparison; writing it is the answer.
local function edit_new(question, buf)
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].modifiable = true
  vim.bo[buf].modified = false
  api.nvim_buf_set_name(buf, 'agents://edit/' .. question.id)
  vim.wo.statusline = 'edit it: :w accepts, :tabclose! goes back'
  local there = true -- what is the current buffer cannot tell: that is the one which is written
  api.nvim_create_autocmd({ 'WinEnter', 'WinLeave' }, {
    buffer = buf,
    callback = function(event)
      there = event.event == 'WinEnter'
    end,
  })
  api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      accept_edited(question, buf, there)
    end,
  })
end

-- compare shows what an edit would change, the old text beside the new one, in a tab,
-- where the person may edit the new one first.
local function compare(question, edits)
  vim.cmd('tabnew')
  for i, text in ipairs({ question.preview.oldText or '', question.preview.newText or '' }) do
    if i == 2 then
      vim.cmd('rightbelow vnew')
    end
    local buf = api.nvim_get_current_buf()
    vim.bo[buf].buftype = 'nofile'
    vim.bo[buf].bufhidden = 'wipe'
    api.nvim_buf_set_lines(buf, 0, -1, false, lines_of((text:gsub('\n$', ''))))
    vim.bo[buf].modifiable = false
    vim.wo.statusline = (i == 1 and 'before' or 'after') .. '  (q: back to the question)'
    vim.cmd('diffthis')
    if edits and i == 2 then
      edit_new(question, buf)
    else
      api.nvim_buf_set_keymap(buf, 'n', 'q', '<Cmd>tabclose!<CR>', { nowait = true })
    end
  end
end

-- may_edit reports whether the person may accept another text than the agent's.
local function may_edit(question)
  return question.preview
    and question.preview.kind == 'diff'
    and #vim.tbl_filter(function(option)
        return option.kind == 'modify'
      end, question.options)
      > 0
end

-- question_lines are the keys, and then what is asked, whole.
local function question_lines(question)
  local offered = {}
  for _, option in ipairs(question.options) do
    if keys[option.kind] then
      table.insert(offered, ('[%s] %s'):format(keys[option.kind], words[option.kind]))
    end
  end
  if question.preview and question.preview.kind == 'diff' then
    table.insert(offered, '[d] compare')
  end
  if may_edit(question) then
    table.insert(offered, '[e] edit first')
  end
  local lines = { '' }
  for _, item in ipairs(offered) do
    local line = lines[#lines]
    if vim.fn.strchars(line .. item) > 76 then
      table.insert(lines, item)
    else
      lines[#lines] = line .. (line == '' and '' or '  ') .. item
    end
  end
  if question.prefix then
    table.insert(lines, ('[p] u, s and A hold for: %s'):format(question.prefixed and question.prefix or 'this command'))
  end
  table.insert(lines, '')
  local message = lines_of((question.message:gsub('\n+$', '')))
  local title = table.remove(message, 1)
  table.insert(lines, 1, title)
  return vim.list_extend(lines, message)
end

local function draw(question)
  local lines = question_lines(question)
  vim.bo[question.buf].modifiable = true
  api.nvim_buf_set_lines(question.buf, 0, -1, false, lines)
  vim.bo[question.buf].modifiable = false
  api.nvim_buf_set_extmark(question.buf, namespace, 0, 0, { end_col = #lines[1], hl_group = 'Title', id = 1 })
  return lines
end

local function open_question(question)
  local buf = api.nvim_create_buf(false, true)
  question.buf = buf
  vim.bo[buf].bufhidden = 'wipe'
  local lines = draw(question)
  local width = 40
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, vim.o.columns - 6)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  height = math.min(height, math.floor(vim.o.lines * 0.7))
  question.before = api.nvim_get_current_win()
  question.win = api.nvim_open_win(buf, false, {
    relative = 'editor',
    row = math.floor((vim.o.lines - height) / 3),
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    border = 'rounded',
    style = 'minimal',
    zindex = 60,
  })
  vim.wo[question.win].wrap = true
  vim.wo[question.win].conceallevel = 0
  vim.bo[buf].filetype = 'agents-question'
  vim.bo[buf].syntax = question.preview and question.preview.patch and 'diff' or ''
  local function map(key, action)
    api.nvim_buf_set_keymap(buf, 'n', key, '', {
      nowait = true,
      callback = function()
        -- A key that was meant for another window is no answer.
        if question.focused and vim.loop.now() - question.focused > 300 then
          action()
        end
      end,
    })
  end
  for _, option in ipairs(question.options) do
    if keys[option.kind] then
      map(keys[option.kind], function()
        decide(question, option.kind)
      end)
    end
  end
  if question.preview and question.preview.kind == 'diff' then
    map('d', function()
      compare(question)
    end)
  end
  if may_edit(question) then
    map('e', function()
      compare(question, true)
    end)
  end
  if question.prefix then
    map('p', function()
      question.prefixed = not question.prefixed
      draw(question)
    end)
  end
  api.nvim_create_autocmd('WinEnter', {
    buffer = buf,
    callback = function()
      question.focused = question.focused or vim.loop.now()
    end,
  })
  api.nvim_create_autocmd('BufWipeout', { -- :q, which is no consent
    buffer = buf,
    callback = function()
      vim.schedule(function()
        if not question.done then
          close(question)
          respond(question.client, question, { outcome = 'reject' })
        end
      end)
    end,
  })
  in_normal_mode(M.focus)
end

show_next = function()
  local question = questions[1]
  if question and not question.win then
    open_question(question)
  end
end

-- focus goes to the question that is open.
function M.focus()
  local question = questions[1]
  if question and question.win and api.nvim_win_is_valid(question.win) then
    local current = api.nvim_get_current_win()
    if current ~= question.win then
      question.before = current
      api.nvim_set_current_win(question.win)
    end
  end
end

function M.confirm(client, question)
  question.client = client
  table.insert(questions, question)
  show_next()
end

function M.resolved(id, reason)
  for _, question in ipairs(questions) do
    if question.id == id then
      close(question)
      if reason == 'expired' then
        agents().notify('nobody answered in time: ' .. question.title .. ' was refused.', 'WARN')
      end
      return
    end
  end
end

-- ask puts a question of an agent's to the person: a choice, or a text.
function M.ask(client, question)
  local function answer(content)
    respond(client, question, content and { action = 'accept', content = content } or { action = 'decline' })
  end
  in_normal_mode(function()
    local prompt = question.title .. ': ' .. question.message .. ' '
    if question.choices and #question.choices > 0 then
      vim.ui.select(question.choices, { prompt = prompt }, answer)
    elseif question.secret then
      local text = vim.fn.inputsecret(prompt)
      answer(text ~= '' and text or nil)
    else
      vim.ui.input({ prompt = prompt }, answer)
    end
  end)
end

-- exited closes the questions of a server that has ended, and marks the runs that it cut off.
function M.exited(root, id)
  for i = #questions, 1, -1 do
    if questions[i].client.id == id then
      close(questions[i])
    end
  end
  for _, view in pairs(views) do
    if view.root == root then
      view.loading = false
      for _, run in pairs(view.runs) do
        if not run.finished then
          note(view, run, 'agentls ended here. :AgentsSessions resumes this run.', 'WarningMsg')
        end
      end
      view.runs = {} -- who resumes it sees it go on below
    end
  end
end

-- Changes ------------------------------------------------------------------------------

-- changes shows what agents changed in a session, as a diff. On a hunk x undoes it and y
-- keeps it; X and Y are for the file.
function M.changes(client, session)
  local function show(result)
    local buf = vim.fn.bufnr('^agents://changes$')
    if buf == -1 then
      buf = api.nvim_create_buf(false, true)
      api.nvim_buf_set_name(buf, 'agents://changes')
      vim.bo[buf].filetype = 'diff'
    end
    vim.b[buf].agents_root = client.config.root_dir
    vim.b[buf].agents_session = session
    local lines = {
      ('# Changes of agents in session %s'):format(session),
      '# x undo hunk   y keep hunk   <CR> go there',
      '# X undo file   Y keep file   q back',
    }
    local places = {} -- by line: { uri, hunks (ids), line (in the file) }
    for _, file in ipairs(result.files) do
      table.insert(lines, '')
      local place = { uri = file.uri, hunks = {}, line = 1 }
      for _, line in ipairs(lines_of((file.patch:gsub('\n$', '')))) do
        local first, count = line:match('^@@ %-%S+ %+(%d+),?(%d*) @@')
        if first then
          first, count = tonumber(first), tonumber(count) or 1
          place = { uri = file.uri, hunks = {}, line = math.max(first, 1) }
          for _, hunk in ipairs(file.hunks) do
            local start = hunk.range.start.line + 1
            if hunk.status == 'pending' and start >= first and start <= first + count then
              table.insert(place.hunks, hunk.id)
            end
          end
        end
        table.insert(lines, line)
        places[#lines] = place
      end
    end
    if #result.files == 0 then
      vim.list_extend(lines, { '', 'Nothing is left to decide.' })
    end
    vim.bo[buf].modifiable = true
    api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.bo[buf].modifiable = false
    show_buffer(buf, true)

    local function map(key, action)
      api.nvim_buf_set_keymap(buf, 'n', key, '', { nowait = true, callback = action })
    end
    local function resolve(action, whole)
      return function()
        local place = places[api.nvim_win_get_cursor(0)[1]]
        if not place or (not whole and #place.hunks == 0) then
          return agents().notify('the cursor is on no change.')
        end
        local params = { session = session, uri = place.uri, action = action, hunks = not whole and place.hunks or nil }
        agents().request(client, 'agents/changes/resolve', params, function(resolved)
          for _, conflict in ipairs(resolved.conflicts) do
            agents().notify(conflict.why, 'WARN')
          end
          M.changes(client, session)
        end)
      end
    end
    map('x', resolve('undo'))
    map('X', resolve('undo', true))
    map('y', resolve('keep'))
    map('Y', resolve('keep', true))
    map('q', function()
      M.open(client, session)
    end)
    map('<CR>', function()
      local place = places[api.nvim_win_get_cursor(0)[1]]
      if place then
        vim.cmd('wincmd p')
        vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(place.uri)))
        api.nvim_win_set_cursor(0, { math.min(place.line, api.nvim_buf_line_count(0)), 0 })
      end
    end)
  end
  agents().request(client, 'agents/changes', { session = session }, show, function(err)
    if no_session(err) then
      show({ files = {} })
      return true
    end
  end)
end

-- Routing ------------------------------------------------------------------------------

-- route shows which agents a prompt may be for, the decided one first, and calls run with
-- the chosen one's name.
function M.route(result, run)
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
    return agents().notify('no agent fits. Name one: :AgentsRun {name} {prompt}', 'WARN')
  end
  vim.ui.select(candidates, {
    prompt = result.text or 'Which agent is it for?',
    format_item = function(one)
      local why = vim.tbl_map(function(match)
        return match.text
      end, one.matches)
      return ('%s – %d %%%s'):format(one.agent, one.confidence, #why > 0 and ' · ' .. one_line(table.concat(why, ', '), 60) or '')
    end,
  }, function(one)
    if one then
      run(one.agent)
    end
  end)
end

return M
