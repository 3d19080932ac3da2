-- What the server asks and tells beyond LSP: docs/protocol.md describes each method.
-- A handler returns the result of a request. Before Neovim 0.10 it cannot wait for a
-- person, so questions are answered "later", and then by agents/respond.
local M = {}
local languages = require('agents.languages')

local function client_of(context)
  return vim.lsp.get_client_by_id(context.client_id)
end

M['agents/activity'] = function(_, event, context)
  local client, runs = client_of(context), require('agents').runs
  if not client then
    return
  end
  local to = event.type == 'run.state' and event.data.to
  if event.type == 'run.started' or to == 'running' then
    if not event.parentRun then
      runs[event.run] = { agent = event.agent, session = event.session, client = client.id }
    end
  elseif event.type == 'run.finished' or to == 'paused' or to == 'interrupted' then
    runs[event.run] = nil
  end
  require('agents.events').show(client, event)
end

M['agents/confirm'] = function(_, question, context)
  require('agents.questions').confirm(client_of(context), question)
  return { outcome = 'later' }
end

M['agents/confirm/resolved'] = function(_, resolved)
  require('agents.questions').resolved(resolved.id, resolved.reason)
end

M['agents/ask'] = function(_, question, context)
  require('agents.questions').ask(client_of(context), question)
  return { action = 'later' }
end

-- choose asks for one of some actions, as Neovim does, but without its "Request Actions:"
-- in 0.7, and the colon behind a sentence in newer ones.
M['window/showMessageRequest'] = function(_, asked)
  local ui = require('agents.ui')
  local actions, title = asked.actions or {}, function(action)
    return ui.one_line(action.title, vim.o.columns - 4)
  end
  if #actions == 0 then
    require('agents').notify(asked.message)
    return vim.NIL
  end
  local prompt = ui.wrap(asked.message, vim.o.columns - 1)
  local thread, main = coroutine.running()
  if not thread or main then -- before 0.10, which cannot wait for another vim.ui.select
    local lines = { prompt }
    for i, action in ipairs(actions) do
      table.insert(lines, ('%d: %s'):format(i, title(action)))
    end
    ui.clear()
    local choice = actions[vim.fn.inputlist(lines)]
    ui.clear()
    return choice or vim.NIL
  end
  ui.select(actions, { prompt = prompt, kind = 'agents', format_item = title }, vim.schedule_wrap(function(choice)
    coroutine.resume(thread, choice or vim.NIL)
  end))
  return coroutine.yield()
end

M['agents/status'] = function(_, status)
  local agents = require('agents')
  local before = agents.status
  agents.status = status
  if status.message and status.health ~= 'ok' and not (before and before.message == status.message) then
    local fix = status.command and ' Run `' .. status.command .. '`.' or ''
    agents.notify(status.message .. fix, status.health == 'error' and 'ERROR' or 'WARN')
  end
  vim.cmd('redrawstatus!')
end

M['agents/didChange'] = function() end -- the list is asked for whenever it is shown

M['agents/saveDocuments'] = function(_, asked)
  local result = { saved = {}, failed = {} }
  for _, uri in ipairs(asked.uris) do
    local buf = vim.uri_to_bufnr(uri)
    local saved = vim.api.nvim_buf_is_loaded(buf)
      and pcall(vim.api.nvim_buf_call, buf, function()
        vim.cmd('silent update')
      end)
    table.insert(saved and result.saved or result.failed, uri)
  end
  return result
end

M['agents/editorQuery'] = function(_, asked, context)
  return languages.answer(asked, client_of(context))
end

-- A buffer with unsaved changes is left to the person, whom Neovim warns.
M['agents/filesWritten'] = function(_, written)
  local paths = {}
  for _, uri in ipairs(written.uris) do
    paths[vim.uri_to_fname(uri)] = true
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if paths[vim.api.nvim_buf_get_name(buf)] and vim.api.nvim_buf_is_loaded(buf) then
      vim.bo[buf].autoread = true
      vim.cmd('checktime ' .. buf)
    end
  end
end

return M
