import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { Platform, packTarball } from "@stackwright/provider-source";
import { expect, it, onTestFinished } from "vitest";
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));
const SOURCE = "stackwright.local/pulumi/chatty";
const SOON = { timeout: 60_000 };
const TEXT = `terraform {
  required_providers {
    chatty = {
      source  = "${SOURCE}"
      version = "1.2.0"
    }
  }
}
resource "chatty_chatty_note" "a" {
  text = "hello"
}
resource "chatty_chatty_note" "b" {
  
}
`;

/** A folder with an installed plug-in, which writes a line for each of its starts. */
async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "kept-descriptions-"));
  onTestFinished(() => scratch.remove());
  const [log, cwd, server] = ["starts", "work", "server"].map((name) => join(scratch.path, name));
  if (log === undefined || cwd === undefined || server === undefined) throw new Error("no folder");
  await mkdir(cwd);
  await mkdir(server);
  const program = `#!/bin/sh\necho started >>"${log}"\nexec "${process.execPath}" "${TEST_PROGRAMS.chattyProvider}" "$@"\n`;
  const entry = {
    path: "pulumi-resource-chatty",
    executable: true,
    size: Buffer.byteLength(program),
    async *content() {
      yield Buffer.from(program);
    },
  };
  const { os, arch } = Platform.ofNode();
  const archive = join(server, `pulumi-resource-chatty-v1.2.0-${os}-${arch}.tar.gz`);
  await writeFile(archive, packTarball([entry]));
  await writeFile(join(cwd, "main.tf"), TEXT);
  const plugins = { [SOURCE]: { server } };
  await writeFile(join(cwd, "stackwright.providers.json"), JSON.stringify({ plugins }));
  const env = {
    PATH: process.env.PATH,
    HOME: scratch.path,
    PULUMI_HOME: join(scratch.path, "home"),
  };
  const run = async (...words: readonly string[]) => {
    const done = await tryCommand(words, { cwd, env });
    expect(done.code, done.error).toBe(0);
    return done.output;
  };
  const starts = async () => (await readFile(log, "utf8").catch(() => "")).split("\n").length - 1;
  await run("init");
  return { cwd, env, run, starts };
}

/** A connection to a language server of the command, as an editor has it, with the file open. */
async function openEditor({ cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  const child = spawn(process.execPath, [COMMAND, "lsp"], {
    cwd,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const connection = createProtocolConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  onTestFinished(async () => {
    connection.dispose();
    child.kill();
    await closed;
  });
  connection.listen();
  const trusted = { trusted: true };
  const options = { processId: process.pid, capabilities: {}, initializationOptions: trusted };
  await connection.sendRequest("initialize", options);
  const { href: uri } = pathToFileURL(join(cwd, "main.tf"));
  await connection.sendNotification("textDocument/didOpen", {
    textDocument: { uri, languageId: "terraform", version: 1, text: TEXT },
  });
  return async <T>(method: string, line: number, character: number): Promise<T> =>
    connection.sendRequest(method, { textDocument: { uri }, position: { line, character } });
}

it("a plug-in is described from its kept schema, by providers schema and in editors: its program is not started", {
  timeout: 120_000,
}, async () => {
  const { cwd, env, run, starts } = await setUp();
  const schema = await run("providers", "schema", "-json");
  expect(JSON.parse(schema)).toMatchObject({
    provider_schemas: {
      [SOURCE]: {
        resource_schemas: {
          chatty_chatty_note: {
            block: { attributes: { text: { description: "What is written." } } },
          },
        },
      },
    },
  });
  expect(await starts()).toBe(1);
  expect(await run("providers", "schema", "-json")).toBe(schema);
  expect(await starts()).toBe(1);

  const ask = await openEditor({ cwd, env });
  const lines = TEXT.split("\n");
  const hover = async () =>
    (
      await ask<{ readonly contents: { readonly value: string } } | null>(
        "textDocument/hover",
        lines.indexOf('  text = "hello"'),
        3,
      )
    )?.contents.value;
  await expect.poll(hover, SOON).toContain("What is written.");
  const proposed = await ask<
    readonly { readonly label: string; readonly documentation?: { readonly value: string } }[]
  >("textDocument/completion", lines.indexOf("  "), 2);
  expect(proposed.find(({ label }) => label === "text")?.documentation?.value).toBe(
    "What is written.",
  );
  expect(await starts()).toBe(1);
});
