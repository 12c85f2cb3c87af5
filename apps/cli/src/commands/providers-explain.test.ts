import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const TEMPLATE = `
terraform {
  required_providers {
    chatty = { source = "stackwright.local/pulumi/chatty" }
  }
}
resource "terraform_data" "a" {}
`;

/** A folder that requires a plug-in of Pulumi beside the provider that is built in. */
async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "providers-explain-"));
  const plugin = join(scratch.path, "plugins", "resource-chatty-v1.2.3");
  await mkdir(plugin, { recursive: true });
  const script = `#!/bin/sh\nCHATTY_VERSION=1.2.3 exec "${process.execPath}" "${TEST_PROGRAMS.chattyProvider}" "$@"\n`;
  await writeFile(join(plugin, "pulumi-resource-chatty"), script, { mode: 0o755 });
  await writeFile(join(scratch.path, "main.tf"), TEMPLATE);
  const env = { PATH: process.env.PATH, HOME: scratch.path, PULUMI_HOME: scratch.path };
  return {
    explain: async (...words: readonly string[]) =>
      tryCommand(["providers", "explain", ...words], { cwd: scratch.path, env }),
    [Symbol.asyncDispose]: () => scratch.remove(),
  };
}

describe("what providers have, in words", { timeout: 60_000 }, () => {
  it("is a list of their types, with what they say first of themselves", async () => {
    await using tried = await setUp();
    const { code, output } = await tried.explain();
    expect(code).toBe(0);
    expect(output).toMatchInlineSnapshot(`
      "stackwright.local/pulumi/chatty 1.2.3
        resources
          chatty_chatty_note

      terraform.io/builtin/terraform
        resources
          terraform_data
        data sources
          terraform_remote_state
        functions
          decode_tfvars  The values that a text in the syntax of a .tfvars file defines, as an object.
          encode_expr    A value as an expression of the language.
          encode_tfvars  An object in the syntax of a .tfvars file.
      "
    `);
  });

  it("is what a type of a plug-in takes and gives, by its name and by its token", async () => {
    await using tried = await setUp();
    const { output } = await tried.explain("chatty_chatty_note");
    expect(output).toMatchInlineSnapshot(`
      "resource chatty_chatty_note
        chatty:index:chatty_note of stackwright.local/pulumi/chatty 1.2.3

      Arguments
        text  string, required
            What is written.

      Decided by the provider
        made_by  string
        id  string
      "
    `);
    expect((await tried.explain("resource.chatty:index:chatty_note")).output).toBe(output);
  });

  it("names what is like a name that they do not have", async () => {
    await using tried = await setUp();
    const { code, error } = await tried.explain("note");
    expect(code).toBe(1);
    expect(error).toContain('No provider of the configuration has "note"');
    expect(error).toContain("chatty_chatty_note");
  });
});
