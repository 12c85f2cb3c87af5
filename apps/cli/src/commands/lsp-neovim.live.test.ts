import { spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/* The language server under the client that Neovim has built in. */

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.cjs", import.meta.url));
const version = /^NVIM v(\d+)\.(\d+)/.exec(
  spawnSync("nvim", ["--version"], { encoding: "utf8" }).stdout ?? "",
);

const FILES = {
  "main.tf": `module "net" {
  source = "./net"
  zone   = var.region
}

output "written" {
  value = "😀 \${var.regoin}"
}
`,
  "variables.tf": 'variable "region" {\n  description = "Where it is."\n}\n',
  "net/main.tf": 'variable "zone" {\n}\n\noutput "zone" {\n  value = var.zone\n}\n',
};

/** What a user does in the editor, and what is seen then. */
const SCRIPT = `
local report, exited = {}, nil
local function waits(what, is_so)
  if not vim.wait(30000, is_so, 20) then error("waited in vain for " .. what) end
end
local function said(text)
  for _, found in ipairs(vim.diagnostic.get(0)) do
    if found.message:find(text, 1, true) then return true end
  end
  return false
end
local function cursor(pattern)
  vim.fn.cursor(1, 1)
  local line, column = unpack(vim.fn.searchpos(pattern, "c"))
  if line == 0 then error("there is no " .. pattern) end
  vim.api.nvim_win_set_cursor(0, { line, column - 1 })
end
local function asked(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params or vim.lsp.util.make_position_params(), 30000)
  for _, answer in pairs(answers or {}) do
    if answer.err then error(method .. ": " .. vim.inspect(answer.err)) end
    return answer.result
  end
end
local function lines(buffer) return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, true), "\\n") end
local function run()
  vim.o.hidden = true
  vim.cmd("edit " .. vim.fn.fnameescape(vim.env.TRIED .. "/main.tf"))
  local main = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({
    name = "stackwright",
    cmd = { vim.env.TRIED_NODE, vim.env.TRIED_COMMAND, "lsp" },
    root_dir = vim.env.TRIED,
    workspace_folders = { { uri = vim.uri_from_fname(vim.env.TRIED), name = "tried" } },
    -- Nobody is there to answer whether the folder is trusted.
    init_options = { trusted = false },
    get_language_id = function() return "terraform" end,
    on_exit = function(code) exited = code end,
  })
  vim.lsp.buf_attach_client(main, client)
  waits("the problem of the text", function() return said("regoin") end)
  local found = vim.diagnostic.get(0)[1]
  report.problem = { found.lnum, found.col }

  -- The text is put right.
  vim.api.nvim_buf_set_lines(main, 6, 7, true, { '  value = "😀 \${var.region}"' })
  waits("no problem", function() return #vim.diagnostic.get(0) == 0 end)

  cursor("region}")
  report.hover = asked("textDocument/hover").contents.value
  local labels = {}
  for _, item in ipairs(asked("textDocument/completion") or {}) do table.insert(labels, item.label) end
  report.completion = labels

  vim.lsp.buf.definition()
  waits("the declaration", function() return vim.fn.expand("%:t") == "variables.tf" end)
  report.definition = vim.api.nvim_win_get_cursor(0)

  -- A variable of the module that is called: its name is in both files.
  vim.cmd("edit " .. vim.fn.fnameescape(vim.env.TRIED .. "/net/main.tf"))
  local module = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(module, client)
  cursor("zone")
  vim.lsp.buf.rename("place")
  waits("the new name in both files", function()
    return lines(main):find("place", 1, true) and not lines(module):find('"zone" {\\n}', 1, true)
  end)
  report.main, report.module = lines(main), lines(module)

  vim.api.nvim_buf_set_lines(module, 0, -1, true, { 'variable "place" {', 'type=string', '}' })
  local format = { textDocument = vim.lsp.util.make_text_document_params(), options = { tabSize = 2, insertSpaces = true } }
  local edits = asked("textDocument/formatting", format)
  vim.lsp.util.apply_text_edits(edits, module, "utf-16")
  report.formatted = lines(module)

  vim.lsp.stop_client(client)
  waits("the end of the server", function() return exited ~= nil end)
  report.exited = exited
end
local is_done, problem = pcall(run)
if not is_done then report.error = tostring(problem) end
vim.fn.writefile({ vim.fn.json_encode(report) }, vim.env.TRIED_REPORT)
vim.cmd("qall!")
`;

it("shows problems, completes, explains, leads and renames in Neovim", {
  timeout: 120_000,
}, async (context) => {
  context.skip(version === null, "nvim is not installed");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "neovim folder "));
  const folder = join(scratch.path, "tried");
  await mkdir(join(folder, "net"), { recursive: true });
  for (const [path, text] of Object.entries(FILES)) await writeFile(join(folder, path), text);
  const [script, report] = [join(scratch.path, "tried.lua"), join(scratch.path, "report.json")];
  await writeFile(script, SCRIPT);
  const words = ["--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", script];
  const run = spawnSync("nvim", words, {
    cwd: folder,
    encoding: "utf8",
    timeout: 100_000,
    env: {
      PATH: process.env.PATH,
      HOME: scratch.path,
      TERM: "dumb",
      LANG: "C.UTF-8",
      TRIED: folder,
      TRIED_NODE: process.execPath,
      TRIED_COMMAND: COMMAND,
      TRIED_REPORT: report,
    },
  });
  const text = await readFile(report, "utf8").catch(() => "{}");
  const seen = JSON.parse(text) as Record<string, unknown>;
  expect(seen, run.stderr).toEqual({
    problem: [6, expect.any(Number)],
    hover: expect.stringContaining("Where it is."),
    completion: expect.arrayContaining(["region"]),
    definition: [1, expect.any(Number)],
    main: expect.stringContaining("  place   = var.region"),
    module: expect.stringMatching(/variable "place"[^]*var\.place/),
    formatted: 'variable "place" {\n  type = string\n}',
    exited: 0,
  });
});
