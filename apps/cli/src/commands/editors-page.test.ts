import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { pageBlocks } from "../testing/page-blocks.ts";
import { pageText, tableRows } from "../testing/page-tables.ts";
import { silentProgram } from "../testing/silent-program.ts";
import { tryCommand } from "../testing/try-command.ts";

// What apps/cli/docs/editors.md says of the command and of the settings of editors; what an editor shows is tried beside the language server.

const PATH = "apps/cli/docs/editors.md";
const PAGE = pageText(PATH);
const VSCODE = join(import.meta.dirname, "../../../vscode");

interface Manifest {
  readonly contributes: {
    readonly languages: readonly { readonly id: string }[];
    readonly configuration: { readonly properties: Readonly<Record<string, object>> };
  };
  readonly capabilities: {
    readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] };
  };
}

const manifest = JSON.parse(readFileSync(join(VSCODE, "extension.json"), "utf8")) as Manifest;
const LANGUAGES = manifest.contributes.languages.map(({ id }) => id);

describe("the table of trust", () => {
  const rows = tableRows(PAGE, "Command").map(([cell = ""]) => cell.replaceAll("`", ""));

  it("has options of the command, and all of them", () => {
    const lsp = silentProgram().commands.find((one) => one.name() === "lsp");
    const options = lsp
      ?.createHelp()
      .visibleOptions(lsp)
      .map(({ long }) => long ?? "")
      .filter((long) => !["--help", "--stdio", "--port"].includes(long));
    const written = rows.map((row) => /--[a-z-]+/.exec(row)?.[0] ?? "");
    expect(written.toSorted()).toEqual(options?.toSorted());
  });

  it("leads to an answer that is kept where the page says, for a folder and all below it, and taken back", async () => {
    const home = await realpath(await mkdtemp(join(tmpdir(), "editors-page-")));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    await mkdir(join(home, "work/below"), { recursive: true });
    const lsp = async (row: string, folder: string): Promise<void> => {
      const words = row.replace(/^stackwright /, "").replace("FOLDER", folder);
      const ended = await tryCommand(words.split(" "), { cwd: home, env: { HOME: home } });
      expect(ended).toMatchObject({ code: 0, error: "" });
    };
    const [, file = ""] = /is kept in `~\/(.*?)`/.exec(PAGE) ?? [];
    const kept = async (): Promise<unknown> =>
      JSON.parse(await readFile(join(home, file), "utf8")) as unknown;
    const [trust = "", forget = ""] = rows;
    await lsp(trust, "work/below");
    await lsp(trust, "work");
    expect(await kept()).toEqual({
      [join(home, "work")]: "trusted",
      [join(home, "work/below")]: "trusted",
    });
    await lsp(forget, "work");
    expect(await kept()).toEqual({});
  });
});

describe("the set-up of an editor", () => {
  const program = ["stackwright", "lsp"];

  it("starts the command for the languages of the page", async () => {
    const [, ids = ""] = /language ids (.*?),\s+the action/s.exec(PAGE) ?? [];
    expect([...ids.matchAll(/`(.*?)`/g)].map(([, id]) => id)).toEqual(LANGUAGES);
    const [neovim = "", hints = "", ...others] = await pageBlocks(PATH, "lua");
    expect(others).toEqual([]);
    const list = (text: string, name: string): unknown => {
      const [, items = ""] = new RegExp(`\\b${name} = [{[](.*?)[}\\]]`).exec(text) ?? [];
      return JSON.parse(`[${items}]`);
    };
    expect(list(neovim, "cmd")).toEqual(program);
    expect(list(neovim, "filetypes")).toEqual(LANGUAGES);
    // A later call adds to the settings of the same server.
    const names = [...(neovim + hints).matchAll(/vim\.lsp\.(?:config|enable)\("(.*?)"/g)];
    expect(new Set(names.map(([, name]) => name))).toEqual(new Set(["stackwright"]));

    const [helix = ""] = await pageBlocks(PATH, "toml");
    expect([/command = "(.*?)"/.exec(helix)?.[1], list(helix, "args")]).toEqual([
      "stackwright",
      ["lsp"],
    ]);
    expect(helix.match(/^language-servers = \["stackwright"\]$/gm)).toHaveLength(2);
    const [emacs = ""] = await pageBlocks(PATH, "lisp");
    expect(emacs).toContain(`(terraform-mode . (${program.map((word) => `"${word}"`).join(" ")}))`);
    expect(emacs.split("(")).toHaveLength(emacs.split(")").length);
  });

  it("has settings of VS Code that exist, of which a workspace that is not trusted sets none that names a program", () => {
    const settings = [...PAGE.matchAll(/`(stackwright\.[a-zA-Z]+)`/g)].map(([, name = ""]) => name);
    expect(new Set(settings).size).toBe(3);
    const { properties } = manifest.contributes.configuration;
    for (const name of settings) expect(Object.keys(properties)).toContain(name);
    const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    expect(PAGE).toContain("the workspace cannot name the program");
    expect(restrictedConfigurations).toContain("stackwright.command");
  });

  it("is made in a clone by the script of the page", () => {
    const [, filter = "", script = ""] = /`pnpm --filter (\S+) (\S+)`/.exec(PAGE) ?? [];
    const { name, scripts } = JSON.parse(readFileSync(join(VSCODE, "package.json"), "utf8")) as {
      readonly name: string;
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect([filter, Object.keys(scripts)]).toEqual([name, expect.arrayContaining([script])]);
  });
});
