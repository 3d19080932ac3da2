-- What agents changed in a session, to be kept or undone: as a diff, and as signs beside
-- the lines of buffers.
local M = {}

local api = vim.api
local agents = require('agents')
local events = require('agents.events')
local ui = require('agents.ui')

-- lines_of returns the lines of a diff of changes, and by line the place that it is about:
-- { uri, hunks (ids that wait), line (in the file) }.
local function lines_of(files)
  local lines, places = {}, {}
  for _, file in ipairs(files) do
    table.insert(lines, '')
    local place = { uri = file.uri, hunks = {}, line = 1 }
    for _, line in ipairs(ui.lines_of((file.patch:gsub('\n$', '')))) do
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
  return lines, places
end

-- map_keys gives the buffer of the diff its keys. place returns what the cursor is on.
local function map_keys(buf, client, session, place)
  local function map(key, action)
    api.nvim_buf_set_keymap(buf, 'n', key, '', { nowait = true, callback = action })
  end
  local function resolve(action, whole)
    return function()
      local at = place()
      if not at or (not whole and #at.hunks == 0) then
        return agents.notify('the cursor is on no change.')
      end
      local params = { session = session, uri = at.uri, action = action, hunks = not whole and at.hunks or nil }
      agents.request(client, 'agents/changes/resolve', params, function(resolved)
        for _, conflict in ipairs(resolved.conflicts) do
          agents.notify(conflict.why, 'WARN')
        end
        M.show(client, session)
      end)
    end
  end
  map('x', resolve('undo'))
  map('X', resolve('undo', true))
  map('y', resolve('keep'))
  map('Y', resolve('keep', true))
  map('q', function()
    ui.open(client, session)
  end)
  map('<CR>', function()
    local at = place()
    if at then
      vim.cmd('wincmd p')
      vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(at.uri)))
      api.nvim_win_set_cursor(0, { math.min(at.line, api.nvim_buf_line_count(0)), 0 })
    end
  end)
end

-- ask calls a function with the changes of a session.
local function ask(client, session, done)
  agents.request(client, 'agents/changes', { session = session }, function(result)
    done(result.files)
  end, function(err)
    if events.no_session(err) then
      done({})
      return true
    end
  end)
end

-- show shows what agents changed in a session, as a diff. On a hunk x undoes it and y
-- keeps it; X and Y are for the file.
function M.show(client, session)
  ask(client, session, function(files)
    local buf = vim.fn.bufnr('^agents://changes$')
    if buf == -1 then
      buf = api.nvim_create_buf(false, true)
      api.nvim_buf_set_name(buf, 'agents://changes')
      vim.bo[buf].filetype = 'diff'
    end
    vim.b[buf].agents_root = client.config.root_dir
    vim.b[buf].agents_session = session
    local head = {
      ('# Changes in session %s'):format(session),
      '# x undo   y keep   X Y the whole file',
      '# Enter go there   q back',
    }
    local lines, places = lines_of(files)
    if #files == 0 then
      lines = { '', 'Nothing is left to decide.' }
    end
    vim.bo[buf].modifiable = true
    api.nvim_buf_set_lines(buf, 0, -1, false, vim.list_extend(vim.list_extend({}, head), lines))
    vim.bo[buf].modifiable = false
    ui.show_buffer(buf, true)
    map_keys(buf, client, session, function()
      return places[api.nvim_win_get_cursor(0)[1] - #head]
    end)
  end)
end

-- Signs --------------------------------------------------------------------------------

local namespace = api.nvim_create_namespace('agents_changes')
local pending = {} -- by client and session, by path: blocks of added lines, as { row, lines }
local due = {} -- by client and session: its signs are drawn soon

vim.cmd('highlight default link AgentsChanged DiffAdd')

-- added returns the blocks of lines that a patch adds.
local function added(patch)
  local blocks, row, block = {}, nil, nil -- row is nil before the first hunk
  for _, line in ipairs(ui.lines_of((patch:gsub('\n$', '')))) do
    local first = line:match('^@@ %-%S+ %+(%d+),?%d* @@')
    local kind = line:sub(1, 1)
    if first then
      row, block = tonumber(first) - 1, nil
    elseif row and kind == '+' then
      if not block then
        block = { row = row, lines = {} }
        table.insert(blocks, block)
      end
      table.insert(block.lines, line:sub(2))
      row = row + 1
    elseif row and kind == ' ' then
      row, block = row + 1, nil
    end
  end
  return blocks
end

-- find returns the row of a block that is nearest to its own, if it is still there: the
-- person may have written above it, and may have undone it.
local function find(lines, block)
  local function is_at(row)
    for i, line in ipairs(block.lines) do
      if lines[row + i] ~= line then
        return false
      end
    end
    return true
  end
  for distance = 0, #lines do
    for _, row in ipairs({ block.row - distance, block.row + distance }) do
      if is_at(row) then
        return row
      end
    end
  end
end

local function draw(buf)
  local name, lines = api.nvim_buf_get_name(buf), nil
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, files in pairs(pending) do
    for _, block in ipairs(files[name] or {}) do
      lines = lines or api.nvim_buf_get_lines(buf, 0, -1, false)
      local first = find(lines, block)
      for row = first or 0, first and first + #block.lines - 1 or -1 do
        api.nvim_buf_set_extmark(buf, namespace, row, 0, { sign_text = '▎', sign_hl_group = 'AgentsChanged', priority = 5 })
      end
    end
  end
end

-- mark draws signs beside what agents changed in a session, until it is kept or undone.
function M.mark(client, session)
  local key = client.id .. ' ' .. session
  if due[key] or not agents.options.signs then
    return
  end
  due[key] = true
  vim.defer_fn(function()
    due[key] = nil
    if not vim.lsp.get_client_by_id(client.id) then
      return
    end
    ask(client, session, function(files)
      pending[key] = {}
      for _, file in ipairs(files) do
        pending[key][vim.uri_to_fname(file.uri)] = added(file.patch)
      end
      for _, buf in ipairs(api.nvim_list_bufs()) do
        if api.nvim_buf_is_loaded(buf) then
          draw(buf)
        end
      end
    end)
  end, 100)
end

api.nvim_create_autocmd({ 'BufReadPost', 'TextChanged', 'InsertLeave' }, {
  group = api.nvim_create_augroup('agents_changes', {}),
  callback = function(event)
    draw(event.buf)
  end,
})

return M
