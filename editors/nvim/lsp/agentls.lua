-- For vim.lsp.config('agentls', ...) and vim.lsp.enable('agentls'), Neovim 0.11 and newer.
return require('agents').config()
