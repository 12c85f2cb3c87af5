import { chmod, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const PROGRAM = TEST_PROGRAMS.shelfProvider;

const HEAD = `terraform {
  required_providers {
    shelf = { source = "stackwright.local/pulumi/shelf" }
  }
}

resource "terraform_data" "slug" {
  input = shelf_shelf_book.emma.slug
}
`;

const book = (type: string): string =>
  `\nresource "${type}" "emma" {\n  title = "Emma"\n  pages = 300\n}\n`;

const BY_NAME = HEAD + book("shelf_shelf_book");
const BY_TOKEN = HEAD + book("shelf:index:shelf_book");

/* A template is edited between commands, and the provider is a program that is found as users' programs are. */

describe("the token of a type in a template", { timeout: 120_000 }, () => {
  it("changes nothing where the name was, for all commands", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "type-token-"));
    const cwd = folder.path;
    const program = join(cwd, "pulumi-resource-shelf");
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`);
    await chmod(program, 0o755);
    const env = { PATH: process.env.PATH, HOME: cwd, STACKWRIGHT_PULUMI_PLUGINS: cwd };
    const run = async (...words: string[]) => tryCommand(words, { cwd, env });
    const write = async (text: string) => writeFile(join(cwd, "main.tf"), text);

    await write(BY_NAME);
    expect(await run("up", "--yes")).toMatchObject({ code: 0, error: "" });
    const before = { graph: await run("graph"), providers: await run("providers") };

    await write(BY_TOKEN);
    expect(await run("fmt", "-check")).toMatchObject({ code: 0 });
    expect(await run("validate")).toMatchObject({ code: 0 });
    expect(await run("plan", "-detailed-exitcode", "-out", "kept")).toMatchObject({ code: 0 });
    expect(await run("graph")).toEqual(before.graph);
    expect(await run("providers")).toEqual(before.providers);
    expect((await run("state", "show", "shelf_shelf_book.emma")).output).toContain("emma-300");
    const shown = JSON.parse((await run("show", "-json", "kept")).output) as {
      resource_changes: object[];
      configuration: { root_module: { resources: object[] } };
    };
    expect(shown.resource_changes).toMatchObject([
      {
        address: "shelf_shelf_book.emma",
        type: "shelf_shelf_book",
        change: { actions: ["no-op"] },
      },
      { address: "terraform_data.slug" },
    ]);
    expect(shown.configuration.root_module.resources).toMatchObject([
      {
        address: "shelf_shelf_book.emma",
        type: "shelf_shelf_book",
        provider_config_key: "shelf",
        expressions: { title: { constant_value: "Emma" } },
      },
      { expressions: { input: { references: expect.arrayContaining(["shelf_shelf_book.emma"]) } } },
    ]);
  });

  it("receives a hint what to write in the place of an address", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "type-token-"));
    const cwd = folder.path;
    await writeFile(join(cwd, "main.tf"), BY_TOKEN);
    const said = "shelf:index:shelf_book is shelf_shelf_book.";
    for (const words of [
      ["plan", "-target", "shelf:index:shelf_book.emma"],
      ["plan", "-replace", "shelf:index:shelf_book.emma"],
      ["state", "list", "shelf:index:shelf_book.emma"],
      ["state", "show", "shelf:index:shelf_book.emma"],
      ["state", "rm", "shelf:index:shelf_book.emma"],
      ["state", "mv", "shelf:index:shelf_book.emma", "shelf_shelf_book.b"],
      ["import", "shelf:index:shelf_book.emma", "x"],
    ]) {
      const { code, error, output } = await tryCommand(words, { cwd });
      expect(code, words.join(" ")).toBe(1);
      expect((error + output).replaceAll(/\s+[│|]?\s*/g, " "), words.join(" ")).toContain(said);
    }
  });
});
