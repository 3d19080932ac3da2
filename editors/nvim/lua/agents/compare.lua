-- The old text of an edit beside the new one, in a tab, where the person may edit the new one.
local M = {}

local api = vim.api
local agents = require('agents')
local ui = require('agents.ui')

-- accept takes the text of a buffer in the place of the agent's, if the person is there.
local function accept(question, buf, there, decide)
  if question.done then
    agents.notify('the question was answered or withdrawn meanwhile, so this text is not used', 'WARN')
    return
  end
  if not there then -- :wa and the like are no answer
    agents.notify('write it in its own window (:w) to accept the edit', 'WARN')
    return
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  if vim.endswith(question.preview.newText or '', '\n') then
    text = text .. '\n'
  end
  vim.bo[buf].modified = false
  pcall(vim.cmd, 'tabclose') -- the last tab stays
  if text == question.preview.newText then
    decide(question, { outcome = 'once' })
  else
    decide(question, { outcome = 'modify', modified = { newText = text } })
  end
end

-- let_edit has the person edit the new text; writing it is the answer.
local function let_edit(question, buf, decide)
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].modifiable = true
  vim.bo[buf].modified = false
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
      accept(question, buf, there, decide)
    end,
  })
end

-- show shows what an edit would change, in a tab. With decide, which answers the
-- question, the person may edit the new text first.
function M.show(question, decide)
  question.compared = (question.compared or 0) + 1 -- it may be shown in another tab
  local name = vim.fn.fnamemodify(vim.uri_to_fname(question.preview.uri), ':t')
  vim.cmd('tabnew')
  for i, text in ipairs({ question.preview.oldText or '', question.preview.newText or '' }) do
    if i == 2 then
      vim.cmd('rightbelow vnew')
    end
    local buf = api.nvim_get_current_buf()
    vim.bo[buf].buftype = 'nofile'
    vim.bo[buf].bufhidden = 'wipe'
    api.nvim_buf_set_name(buf, ('agents://%s/%d/%s %s'):format(question.id, question.compared, i == 1 and 'before' or 'after', name))
    api.nvim_buf_set_lines(buf, 0, -1, false, ui.lines_of((text:gsub('\n$', ''))))
    vim.bo[buf].modifiable = false
    vim.cmd('diffthis')
    if decide and i == 2 then
      vim.wo.statusline = 'edit it: :w accepts, :tabclose! goes back'
      let_edit(question, buf, decide)
    else
      vim.wo.statusline = (i == 1 and 'before' or 'after') .. '  (q: back to the question)'
      api.nvim_buf_set_keymap(buf, 'n', 'q', '<Cmd>tabclose!<CR>', { nowait = true })
    end
  end
end

return M
