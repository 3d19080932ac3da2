-- What runs are shown in: the side buffer of a session.
local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace('agents')

function M.lines_of(text)
  return vim.split(text, '\n', { plain = true })
end

-- one_line shortens a text for a line.
function M.one_line(text, width)
  text = text:gsub('[\r\n\t]+', ' ')
  if vim.fn.strchars(text) > width then
    text = vim.fn.strcharpart(text, 0, width - 1) .. '…'
  end
  return text
end

-- wrap breaks the lines of a text between words.
function M.wrap(text, width)
  local lines = {}
  for _, line in ipairs(M.lines_of(text)) do
    local from = ''
    for word in line:gmatch('%S+%s*') do
      if from ~= '' and vim.fn.strdisplaywidth(from .. vim.trim(word)) > width then
        table.insert(lines, (from:gsub('%s+$', '')))
        from = ''
      end
      from = from .. word
    end
    table.insert(lines, (from:gsub('%s+$', '')))
  end
  return table.concat(lines, '\n')
end

-- in_normal_mode calls a function as soon as the person is in Normal mode, so that what
-- they are typing is not taken for an answer.
function M.in_normal_mode(call)
  if api.nvim_get_mode().mode == 'n' then
    return call()
  end
  api.nvim_create_autocmd('ModeChanged', {
    pattern = '*:n',
    once = true,
    callback = function()
      vim.schedule(function()
        M.in_normal_mode(call)
      end)
    end,
  })
end

-- clear takes from the screen what was asked or told there, so that what comes next does
-- not stand behind it, and nobody has to press Enter first.
function M.clear()
  vim.cmd("redraw | echo ''")
end

local function cleared(done)
  return function(...)
    M.clear()
    done(...)
  end
end

-- select is vim.ui.select, whose question is gone when done is called.
function M.select(items, options, done)
  M.clear()
  vim.ui.select(items, options, cleared(done))
end

-- input is vim.ui.input, whose question is gone when done is called.
function M.input(options, done)
  M.clear()
  vim.ui.input(options, cleared(done))
end

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
function M.modify(view, change)
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

-- end_row returns the row behind what a run has shown.
function M.end_row(run)
  local last = run.items[#run.items]
  if last.items then
    return M.end_row(last)
  end
  return last.row + last.count
end

-- prefixed puts the quote marks of a child run before lines.
function M.prefixed(run, lines)
  return vim.tbl_map(function(line)
    return run.quote .. line
  end, lines)
end

-- highlight colours the first line of a block.
function M.highlight(view, row, group)
  api.nvim_buf_clear_namespace(view.buf, namespace, row, row + 1)
  local line = api.nvim_buf_get_lines(view.buf, row, row + 1, false)[1]
  api.nvim_buf_set_extmark(view.buf, namespace, row, 0, { end_col = #line, hl_group = group })
end

-- add puts a block behind what a run has shown, after an empty line unless both are tools.
function M.add(view, run, kind, lines, group)
  local last = run.items[#run.items]
  local row = last and M.end_row(run) or run.row
  lines = M.prefixed(run, lines)
  local apart = row > 0 and not (last and last.kind == kind and kind == 'tool') and 1 or 0
  local above = kind == 'heading' and (run.parent and run.parent.quote or '') or run.quote
  M.modify(view, function(buf)
    api.nvim_buf_set_lines(buf, row, row, false, apart == 1 and { (above:gsub(' $', '')), unpack(lines) } or lines)
  end)
  shift(view, row, apart + #lines)
  local block = { kind = kind, row = row + apart, count = #lines }
  table.insert(view.blocks, block)
  table.insert(run.items, block)
  if group then
    M.highlight(view, block.row, group)
  end
  run.open = nil
  return block
end

-- replace puts other lines in the place of a block's.
function M.replace(view, run, block, lines)
  lines = M.prefixed(run, lines)
  M.modify(view, function(buf)
    api.nvim_buf_set_lines(buf, block.row, block.row + block.count, false, lines)
  end)
  shift(view, block.row + block.count, #lines - block.count, block)
  block.count = #lines
end

-- append adds text to the end of a block; its further lines begin with a margin.
function M.append(view, run, block, text, margin)
  local lines = M.lines_of(text)
  for i = 2, #lines do
    lines[i] = run.quote .. margin .. lines[i]
  end
  local row = block.row + block.count - 1
  M.modify(view, function(buf)
    local column = #api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
    api.nvim_buf_set_text(buf, row, column, row, column, lines)
  end)
  shift(view, row + 1, #lines - 1, block)
  block.count = block.count + #lines - 1
end

-- remove takes a block out of the buffer.
function M.remove(view, run, block)
  M.replace(view, run, block, {})
  for _, list in ipairs({ view.blocks, run.items }) do
    for i = #list, 1, -1 do
      if list[i] == block then
        table.remove(list, i)
      end
    end
  end
end

-- details are lines of a fold: they begin with │, and the line above is what is seen of it.
function M.details(text, most)
  local lines = M.lines_of((text:gsub('\n+$', '')))
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
  local count = vim.v.foldend - vim.v.foldstart
  local more = ('  +%d line%s'):format(count, count == 1 and '' or 's')
  return M.one_line(vim.fn.getline(vim.v.foldstart), vim.fn.winwidth(0) - #more) .. more
end

local function window_options()
  vim.cmd([[
    setlocal foldmethod=expr foldexpr=v:lua.require'agents.ui'.fold() foldtext=v:lua.require'agents.ui'.foldtext()
    setlocal foldlevel=0 foldenable foldminlines=0 fillchars+=fold:\  conceallevel=0
    setlocal wrap linebreak nonumber norelativenumber nolist nospell signcolumn=no winhighlight=Folded:Comment
  ]])
end

-- view_of returns the view of a session, and makes it where there is none.
function M.view_of(root, session)
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
  api.nvim_buf_call(buf, function() -- which would have a red bar in each name with a _
    vim.cmd('silent! syntax clear markdownError')
  end)
  api.nvim_create_autocmd('BufWinEnter', { buffer = buf, callback = window_options })
  return view
end

-- views_of returns the views of a folder's sessions.
function M.views_of(root)
  return vim.tbl_filter(function(view)
    return view.root == root
  end, vim.tbl_values(views))
end

-- side_window returns the window of this tab that shows buffers of ours.
local function side_window()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.w[win].agents_side and vim.startswith(api.nvim_buf_get_name(api.nvim_win_get_buf(win)), 'agents://') then
      return win
    end
  end
end

-- show_buffer shows a buffer in the side window. The cursor stays where it is, unless enter is set.
function M.show_buffer(buf, enter)
  local win = side_window()
  local before = api.nvim_get_current_win()
  if not win then
    vim.cmd(require('agents').options.window)
    win = api.nvim_get_current_win()
    vim.w[win].agents_side = true
    local width = require('agents').options.width or math.min(80, math.floor(vim.o.columns / 2))
    if not require('agents').options.window:match('tab') and api.nvim_win_get_width(win) < vim.o.columns then
      api.nvim_win_set_width(win, width)
    end
  end
  if api.nvim_win_get_buf(win) ~= buf then
    api.nvim_win_set_buf(win, buf)
  end
  api.nvim_set_current_win(enter and win or before)
  return win
end

-- open shows the buffer of a session in the side window.
function M.open(client, session, enter)
  local view = M.view_of(client.config.root_dir, session)
  local win = M.show_buffer(view.buf, enter)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(view.buf), 0 })
  return view
end
-- note adds a block of its own.
function M.note(view, run, text, group)
  M.add(view, run, 'note', M.lines_of(text), group)
end

return M
