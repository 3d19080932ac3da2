-- Tests of agents: run them, and list what failed.
local M = {}

-- show tells what came of tests, and lists what failed, each at its place.
local function show(client, result)
  local failed = {}
  for _, test in ipairs(result.results) do
    for _, failure in ipairs(test.failures) do
      local at = vim.lsp.util.locations_to_items({ { uri = test.uri, range = failure.range } }, client.offset_encoding)[1]
      at.text, at.type = test.name .. ': ' .. failure.message, 'E'
      table.insert(failed, at)
    end
  end
  vim.fn.setqflist({}, ' ', { title = 'Agent tests', items = failed })
  local line = ('%d passed, %d failed'):format(result.passed, result.failed)
  if #failed > 0 then
    vim.cmd('botright copen')
    require('agents').notify(line, 'WARN')
  else
    vim.cmd('cclose')
    require('agents').notify(line)
  end
end

-- run runs the tests that a URI means, or the one of a name; without a URI all.
function M.run(uri, name)
  local agents = require('agents')
  agents.with_client(function(client)
    agents.request(client, 'agents/test/run', { uri = uri, name = name }, function(result)
      show(client, result)
    end)
  end)
end

-- here runs the tests of the file that is open, where it has or may have some; with ! all.
function M.here(o)
  local path = vim.api.nvim_buf_get_name(0)
  local about = path:match('%.agent%-test%.yaml$') or path:match('%.gemini[/\\]agents[/\\][^/\\]+%.md$')
  if about and not o.bang then
    M.run(vim.uri_from_bufnr(0))
  else
    M.run()
  end
end

return M
