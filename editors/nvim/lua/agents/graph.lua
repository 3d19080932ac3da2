-- The graph of an agent, with the states of its newest run.
local M = {}

local api = vim.api
local ui = require('agents.ui')
local agents = require('agents')

local shown = { runs = {} } -- what is shown: buf, agent, params, waiting; and the newest run of each agent

-- draw_graph asks for the graph that is shown, and writes it into its buffer.
local function draw_graph(client, enter)
  agents.request(client, 'agents/graph/get', shown.params, function(result)
    shown.agent = result.agent
    local run = shown.runs[result.agent]
    if run and shown.params.run ~= run then
      shown.params.run = run
      return draw_graph(client, enter)
    end
    vim.bo[shown.buf].modifiable = true
    api.nvim_buf_set_lines(shown.buf, 0, -1, false, ui.lines_of((result.drawing:gsub('\n$', ''))))
    vim.bo[shown.buf].modifiable = false
    if enter then
      ui.show_buffer(shown.buf, true)
    end
  end)
end

-- show shows the graph of an agent, which follows what its newest run does.
function M.show(client, params)
  if not shown.buf or not api.nvim_buf_is_valid(shown.buf) then
    shown.buf = api.nvim_create_buf(false, true)
    api.nvim_buf_set_name(shown.buf, 'agents://graph')
    vim.bo[shown.buf].modifiable = false
  end
  shown.params, shown.agent = params, nil
  draw_graph(client, true)
end

-- moved draws the graph again when a node of its agent moved.
function M.moved(client, event)
  if event.type ~= 'graph.node' then
    return
  end
  shown.runs[event.agent] = event.run
  if event.agent == shown.agent and api.nvim_buf_is_valid(shown.buf) and not shown.waiting then
    shown.waiting = true
    vim.defer_fn(function()
      shown.waiting = false
      draw_graph(client)
    end, 50)
  end
end

return M
