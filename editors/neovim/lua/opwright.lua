-- Opwright's language server for Neovim 0.7 and later.
--
--   require("opwright").setup()
--   require("opwright").setup({ cmd = { "opwright", "server" }, settings = { inlayHints = true } })
--
-- Neovim 0.11 and later can do without this file: see docs/editors.md.

local M = {}

local defaults = {
  cmd = { "opwright", "server" },
  root_markers = { "opwright.toml", "pyproject.toml", ".git" },
  settings = {},
}

local function root_of(file, markers)
  local folder = vim.fn.fnamemodify(file, ":p:h")
  for _, marker in ipairs(markers) do
    local found = vim.fn.findfile(marker, folder .. ";")
    if found == "" then
      found = vim.fn.finddir(marker, folder .. ";")
    end
    if found ~= "" then
      return vim.fn.fnamemodify(found, ":p:h" .. (vim.fn.isdirectory(found) == 1 and ":h" or ""))
    end
  end
  return folder
end

local clients = {}

-- Attaches the server of a buffer's project, starting it when it is not running.
function M.attach(buffer, options)
  local root = root_of(vim.api.nvim_buf_get_name(buffer), options.root_markers)
  local config = {
    name = "opwright",
    cmd = options.cmd,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    init_options = options.settings,
    settings = { opwright = options.settings },
    on_exit = function()
      clients[root] = nil
    end,
  }
  if vim.lsp.start then
    return vim.lsp.start(config, { bufnr = buffer })
  end
  clients[root] = clients[root] or vim.lsp.start_client(config)
  vim.lsp.buf_attach_client(buffer, clients[root])
  return clients[root]
end

-- Starts the server for every Python buffer.
function M.setup(options)
  options = vim.tbl_deep_extend("force", defaults, options or {})
  vim.lsp.commands["opwright.showLaunches"] = function(command)
    local items = {}
    for _, place in ipairs(command.arguments[3]) do
      local start = place.range.start
      table.insert(items, { filename = vim.uri_to_fname(place.uri), lnum = start.line + 1, col = start.character + 1 })
    end
    vim.fn.setqflist({}, " ", { title = "launches", items = items })
    vim.cmd("copen")
  end
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "python",
    callback = function(event)
      M.attach(event.buf, options)
    end,
  })
end

return M
