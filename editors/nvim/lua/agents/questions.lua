-- What agents ask the person: a question for each call, one at a time.
local M = {}

local api = vim.api
local agents = require('agents')
local compare = require('agents.compare')
local ui = require('agents.ui')
local namespace = api.nvim_create_namespace('agents')

local questions = {} -- that wait; the first one is shown
-- The letters are those of the chat in a terminal.
local keys = { once = 'y', run = 'r', session = 's', always = 'a', reject = 'n', cancel = 'c' }
local words = {
  once = 'allow once',
  run = 'allow for this run',
  session = 'allow for this session',
  always = 'allow always in this folder',
  reject = 'no',
  cancel = 'no, and end the run',
}
-- Of these the capital letter allows all commands that begin in the same way.
local lasting = { run = true, session = true, always = true }

local function respond(client, question, answer)
  if vim.lsp.get_client_by_id(client.id) then
    agents.request(client, 'agents/respond', { id = question.id, nonce = question.nonce, answer = answer }, function() end)
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
  local is_there = api.nvim_get_current_win() == question.win
  if question.win and api.nvim_win_is_valid(question.win) then
    api.nvim_win_close(question.win, true)
  end
  -- Who is elsewhere, as in the comparison, stays there.
  if is_there and question.before and api.nvim_win_is_valid(question.before) then
    api.nvim_set_current_win(question.before)
  end
  show_next()
end

local function decide(question, answer)
  if not question.done then
    close(question)
    respond(question.client, question, answer)
  end
end

local function refuse_with_reason(question)
  ui.input({ prompt = 'Why not, or what instead? ' }, function(reason)
    if reason then -- else the question stays
      decide(question, { outcome = 'reject', feedback = reason ~= '' and reason or nil })
    end
  end)
end

-- kept_letters are the capital letters that a question offers.
local function kept_letters(question)
  local letters = {}
  for _, option in ipairs(question.prefix and question.options or {}) do
    if lasting[option.kind] then
      table.insert(letters, ('[%s]'):format(keys[option.kind]:upper()))
    end
  end
  return table.concat(letters, ' ')
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
  local offered = question.scrolls and { '[j] [k] scroll' } or {}
  for _, option in ipairs(question.options) do
    if keys[option.kind] then
      table.insert(offered, ('[%s] %s'):format(keys[option.kind], words[option.kind]))
    end
    if option.kind == 'reject' then
      table.insert(offered, '[t] no, and say why')
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
    table.insert(lines, ('%s the same for all that begins: %s'):format(kept_letters(question), question.prefix))
  end
  table.insert(lines, '')
  local message = ui.lines_of((question.message:gsub('\n+$', '')))
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

-- size_of returns the width that lines need, and their height in it.
local function size_of(lines)
  local width = 40
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, vim.o.columns - 6)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return width, height
end

local function open_question(question)
  local buf = api.nvim_create_buf(false, true)
  question.buf = buf
  vim.bo[buf].bufhidden = 'wipe'
  local width, height = size_of(draw(question))
  local most = math.floor(vim.o.lines / 2) - 2 -- with its border the window covers half of the screen at most
  if height > most then
    question.scrolls = true
    width, height = size_of(draw(question))
    height = most
  end
  question.before = api.nvim_get_current_win()
  question.win = api.nvim_open_win(buf, false, {
    relative = 'editor',
    row = vim.o.lines - vim.o.cmdheight - height - 3, -- above the status line
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    border = 'rounded',
    style = 'minimal',
    zindex = 60,
  })
  vim.wo[question.win].wrap = true
  vim.wo[question.win].linebreak = true
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
    local key, outcome = keys[option.kind], option.kind
    if key then
      map(key, function()
        decide(question, { outcome = outcome })
      end)
    end
    if question.prefix and lasting[outcome] then
      map(key:upper(), function()
        decide(question, { outcome = outcome, prefix = true })
      end)
    end
    if outcome == 'reject' then
      map('t', function()
        refuse_with_reason(question)
      end)
    end
  end
  if question.preview and question.preview.kind == 'diff' then
    map('d', function()
      compare.show(question)
    end)
  end
  if may_edit(question) then
    map('e', function()
      compare.show(question, decide)
    end)
  end
  if question.scrolls then
    map('j', function()
      if vim.fn.line('w$') < vim.fn.line('$') then
        vim.cmd('normal! \5') -- CTRL-E
      end
    end)
    map('k', function()
      vim.cmd('normal! \25') -- CTRL-Y
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
  ui.in_normal_mode(M.focus)
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
        agents.notify(ui.one_line('refused, since nobody answered in time: ' .. question.title, vim.o.columns - 20), 'WARN')
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
  ui.in_normal_mode(function()
    local prompt = question.title .. ': ' .. question.message .. ' '
    if question.choices and #question.choices > 0 then
      ui.select(question.choices, { prompt = prompt }, answer)
    elseif question.secret then
      local text = vim.fn.inputsecret(prompt)
      answer(text ~= '' and text or nil)
    else
      ui.input({ prompt = prompt }, answer)
    end
  end)
end

-- exited closes the questions of a server that has ended.
function M.exited(id)
  for i = #questions, 1, -1 do
    if questions[i].client.id == id then
      close(questions[i])
    end
  end
end

return M
