-- Run by test.sh.
local function must(condition, what)
  if not condition then
    io.stderr:write("FAILED: " .. what .. "\n")
    vim.cmd("cquit 1")
  end
  io.stderr:write("ok " .. what .. "\n")
end

require("opwright").setup({ cmd = { os.getenv("OPWRIGHT"), "server" } })
vim.bo.filetype = "python"
vim.cmd("doautocmd FileType python")

local function shown()
  return vim.diagnostic.get(0)
end
must(vim.wait(60000, function() return #shown() == 1 end), "one diagnostic is shown")
local found = shown()[1]
must(found.source == "opwright" and found.message:find("outside the dispatcher"), "it is the launcher: " .. found.message:gsub("\n.*", ""))
must(found.lnum == 18 and found.col == 4, "it stands at the function's name")

vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = {}, only = { "quickfix" } }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)
local cure
for _, answer in pairs(answers) do
  for _, action in ipairs(answer.result or {}) do
    cure = cure or (action.isPreferred and action)
  end
end
must(cure and cure.edit, "a code action is offered: " .. (cure and cure.title or ""))
vim.lsp.util.apply_workspace_edit(cure.edit, "utf-16")

local want = table.concat(vim.fn.readfile(os.getenv("FIXED")), "\n")
local have = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")
must(have == want, "the buffer is what `check --fix` writes")
must(vim.wait(60000, function() return #shown() == 0 end), "no diagnostic is left")
vim.cmd("qall!")
