-- What agents ask of the language servers of this Neovim (agents/editorQuery).
local M = {}

local patience = 5000 -- milliseconds, for an answer of another language server
local settling = 1500 -- for diagnostics of the latest text

local seen = {} -- by buffer: its changedtick when its diagnostics came last
vim.api.nvim_create_autocmd('DiagnosticChanged', {
  group = vim.api.nvim_create_augroup('agents_languages', {}),
  callback = function(event)
    seen[event.buf] = vim.api.nvim_buf_get_changedtick(event.buf)
  end,
})

-- wait calls start with a function, and returns what that is called with, or nil after
-- so many milliseconds. Where a handler cannot wait for anything (Neovim before 0.10),
-- the screen stands still meanwhile.
local function wait(milliseconds, start)
  local thread, result, ended, waits = coroutine.running(), nil, false, false
  local function finish(value)
    if ended then
      return
    end
    ended, result = true, value
    if waits then
      coroutine.resume(thread)
    end
  end
  if not thread then
    start(finish)
    vim.wait(milliseconds, function()
      return ended
    end, 5)
    ended = true
    return result
  end
  vim.defer_fn(finish, milliseconds)
  start(finish)
  if not ended then
    waits = true
    coroutine.yield()
  end
  return result
end

-- servers returns the other language clients of a buffer, or all without one, that
-- serve a method.
local function servers(method, buf)
  local all = {}
  if vim.lsp.get_clients then
    all = vim.lsp.get_clients({ bufnr = buf })
  else
    all = vim.tbl_values(buf and vim.lsp.buf_get_clients(buf) or vim.lsp.get_active_clients())
  end
  local newer = vim.fn.has('nvim-0.11') == 1
  return vim.tbl_filter(function(client)
    if client.name == 'agentls' then
      return false
    end
    if newer then
      return not method or client:supports_method(method)
    end
    return not method or client.supports_method(method)
  end, all)
end

-- request sends a request to each of some clients and returns the list of their results.
-- params makes the parameters for one client.
local function request(clients, method, params, buf)
  local results, open = {}, #clients
  wait(patience, function(done)
    for _, client in ipairs(clients) do
      local function answered(_, result)
        if result and result ~= vim.NIL then
          table.insert(results, result)
        end
        open = open - 1
        if open == 0 then
          done()
        end
      end
      if vim.fn.has('nvim-0.11') == 1 then
        client:request(method, params(client), answered, buf)
      else
        client.request(method, params(client), answered, buf)
      end
    end
  end)
  return results
end

local function range_of(d)
  local character = math.max(d.col or 0, 0)
  return {
    start = { line = d.lnum, character = character },
    ['end'] = { line = d.end_lnum or d.lnum, character = math.max(d.end_col or character, 0) },
  }
end

-- fresh waits until the diagnostics of a buffer are of its text as it is now.
local function fresh(buf)
  local function settled()
    return not vim.api.nvim_buf_is_valid(buf) or seen[buf] == vim.api.nvim_buf_get_changedtick(buf)
  end
  if settled() or (not seen[buf] and #servers(nil, buf) == 0) then
    return
  end
  local watch
  wait(settling, function(done)
    watch = vim.api.nvim_create_autocmd('DiagnosticChanged', {
      buffer = buf,
      callback = function()
        if settled() then
          done()
        end
      end,
    })
  end)
  pcall(vim.api.nvim_del_autocmd, watch)
end

local function diagnostics(buf, asked)
  if buf and asked.fresh then
    fresh(buf)
  end
  local items, files = {}, {}
  for _, d in ipairs(vim.diagnostic.get(buf)) do
    if vim.api.nvim_buf_is_valid(d.bufnr) then
      local uri = vim.uri_from_bufnr(d.bufnr)
      if not files[uri] then
        files[uri] = { uri = uri, diagnostics = {} }
        table.insert(items, files[uri])
      end
      local own = d.user_data and d.user_data.lsp or {}
      local code = d.code or own.code
      table.insert(files[uri].diagnostics, {
        range = range_of(d),
        severity = d.severity,
        code = (type(code) == 'string' or type(code) == 'number') and code or nil,
        source = d.source,
        message = d.message,
      })
    end
  end
  return { items = items }
end

-- flatten adds the symbols of one file to a list: as SymbolInformation, which some
-- servers answer with, and others with trees.
local function flatten(list, symbols, uri, container)
  for _, symbol in ipairs(symbols) do
    table.insert(list, {
      name = symbol.name,
      kind = symbol.kind,
      containerName = type(symbol.containerName) == 'string' and symbol.containerName or container,
      location = symbol.location or { uri = uri, range = symbol.selectionRange or symbol.range },
    })
    flatten(list, type(symbol.children) == 'table' and symbol.children or {}, uri, symbol.name)
  end
end

local function symbols(buf, asked)
  local method = buf and 'textDocument/documentSymbol' or 'workspace/symbol'
  local list = {}
  local answers = request(servers(method, buf), method, function()
    return buf and { textDocument = { uri = vim.uri_from_bufnr(buf) } } or { query = asked.query or '' }
  end, buf)
  for _, answer in ipairs(answers) do
    flatten(list, answer, asked.uri)
  end
  return list
end

-- column returns the byte of a line at a position that a client counts.
local function column(buf, position, encoding)
  local line = vim.api.nvim_buf_get_lines(buf, position.line, position.line + 1, false)[1] or ''
  if encoding == 'utf-8' then
    return math.min(position.character, #line)
  end
  local ok, byte
  if vim.fn.has('nvim-0.11') == 1 then
    ok, byte = pcall(vim.str_byteindex, line, encoding, position.character, false)
  else
    ok, byte = pcall(vim.str_byteindex, line, position.character, encoding == 'utf-16')
  end
  return ok and byte or #line
end

local function locations(buf, asked, encoding)
  local method = 'textDocument/' .. asked.kind
  local at, list, known = column(buf, asked.position, encoding), {}, {}
  local answers = request(servers(method, buf), method, function(client)
    local character = vim.lsp.util.character_offset(buf, asked.position.line, at, client.offset_encoding)
    return {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      position = { line = asked.position.line, character = character },
      context = asked.kind == 'references' and { includeDeclaration = true } or nil,
    }
  end, buf)
  for _, answer in ipairs(answers) do
    for _, l in ipairs((answer.uri or answer.targetUri) and { answer } or answer) do
      local found = { uri = l.uri or l.targetUri, range = l.range or l.targetSelectionRange }
      local key = found.uri .. ':' .. found.range.start.line .. ':' .. found.range.start.character
      if not known[key] then -- by another server of the same file
        known[key] = true
        table.insert(list, found)
      end
    end
  end
  return list
end

-- answer returns the result of agents/editorQuery, or nil and an error of the protocol:
-- InternalError, since Neovim 0.7 does not send a code that it does not know.
function M.answer(asked, client)
  local buf
  if asked.uri then
    buf = vim.uri_to_bufnr(asked.uri)
    local name = vim.fn.fnamemodify(vim.uri_to_fname(asked.uri), ':~:.')
    if asked.kind ~= 'diagnostics' and not vim.api.nvim_buf_is_loaded(buf) then
      return nil, { code = -32603, message = name .. ' is not open in Neovim, so no language server looks at it' }
    end
  end
  if asked.kind == 'diagnostics' then
    return diagnostics(buf, asked)
  end
  local methods = {
    symbols = buf and 'textDocument/documentSymbol' or 'workspace/symbol',
    definition = 'textDocument/definition',
    references = 'textDocument/references',
  }
  if not methods[asked.kind] then
    return nil, { code = -32602, message = 'the kind ' .. tostring(asked.kind) .. ' is not known' }
  end
  if #servers(methods[asked.kind], buf) == 0 then
    return nil, { code = -32603, message = 'no language server of Neovim answers ' .. methods[asked.kind] .. ' here' }
  end
  if asked.kind == 'symbols' then
    return symbols(buf, asked)
  end
  return locations(buf, asked, client.offset_encoding)
end

return M
