-- What the person has in the editor when they run an agent.
local M = {}

local agents = require('agents')

-- position is a place in a buffer as a server counts it.
function M.position(client, buf, row, column)
  if row >= vim.api.nvim_buf_line_count(buf) then -- where a diagnostic of the last line may end
    return { line = row, character = 0 }
  end
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

-- of returns a function that makes the EditorContext of a run, or nil where there is
-- nothing to tell. It remembers what is selected now, since a question to the person may
-- come before the run.
function M.of(o)
  local buf = vim.api.nvim_get_current_buf()
  local range, cursor = selected(buf, o), vim.api.nvim_win_get_cursor(0)
  return function(client)
    local context = { open = {} }
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if agents.file(other) and vim.bo[other].buflisted then
        table.insert(context.open, vim.uri_from_bufnr(other))
      end
    end
    if #context.open == 0 then
      context.open = nil
    end
    if not vim.api.nvim_buf_is_loaded(buf) then
      return next(context) and context
    end
    local first, last = cursor[1] - 1, cursor[1] - 1
    if range then
      first, last = range[1], range[3]
      context.text = table.concat(vim.api.nvim_buf_get_text(buf, range[1], range[2], range[3], range[4], {}), '\n')
    end
    if not agents.file(buf) then
      return next(context) and context
    end
    context.uri = vim.uri_from_bufnr(buf)
    if range then
      context.selection = {
        start = M.position(client, buf, range[1], range[2]),
        ['end'] = M.position(client, buf, range[3], range[4]),
      }
    else
      context.cursor = M.position(client, buf, first, cursor[2])
    end
    local found = {}
    for _, d in ipairs(vim.diagnostic.get(buf)) do
      if d.lnum <= last and (d.end_lnum or d.lnum) >= first then
        table.insert(found, {
          range = {
            start = M.position(client, buf, d.lnum, d.col),
            ['end'] = M.position(client, buf, d.end_lnum or d.lnum, d.end_col or d.col),
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

return M
