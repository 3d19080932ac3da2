-- Tells servers where the person is (agents/focus), once the cursor rests for 50 ms.
local M = {}

local timer

-- selection returns what is selected in Visual mode, else the place of the cursor.
local function selection(client, buf)
  local function at(row, column)
    return { line = row, character = vim.lsp.util.character_offset(buf, row, column, client.offset_encoding) }
  end
  local mode, cursor = vim.fn.mode(), vim.api.nvim_win_get_cursor(0)
  local from, to = { cursor[1] - 1, cursor[2] }, { cursor[1] - 1, cursor[2] }
  if mode == 'v' or mode == 'V' then
    local other = vim.fn.getpos('v')
    from = { other[2] - 1, other[3] - 1 }
    if from[1] > to[1] or (from[1] == to[1] and from[2] > to[2]) then
      from, to = to, from
    end
    local last = vim.api.nvim_buf_get_lines(buf, to[1], to[1] + 1, false)[1] or ''
    if mode == 'V' then
      from[2], to[2] = 0, #last
    elseif to[2] < #last then
      to[2] = to[2] + #vim.fn.strcharpart(last:sub(to[2] + 1), 0, 1)
    end
  end
  return { start = at(from[1], from[2]), ['end'] = at(to[1], to[2]) }
end

local function tell()
  local buf = vim.api.nvim_get_current_buf()
  for _, client in ipairs(require('agents').servers()) do
    if client.initialized and vim.lsp.buf_is_attached(buf, client.id) then
      local params = {
        textDocument = { uri = vim.uri_from_bufnr(buf) },
        selection = selection(client, buf),
      }
      if vim.fn.has('nvim-0.11') == 1 then
        client:notify('agents/focus', params)
      else
        client.notify('agents/focus', params)
      end
    end
  end
end

-- watch begins to tell; it does so once.
function M.watch()
  if timer then
    return
  end
  timer = vim.loop.new_timer()
  local function later()
    timer:stop()
    timer:start(50, 0, vim.schedule_wrap(tell))
  end
  vim.api.nvim_create_autocmd({ 'BufEnter', 'CursorMoved', 'ModeChanged' }, {
    group = vim.api.nvim_create_augroup('agents_focus', {}),
    callback = later,
  })
  later()
end

return M
