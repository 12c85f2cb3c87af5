import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createProtocolConnection,
  type Diagnostic,
  type ProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));
const SOON = { timeout: 50_000 };
const TEXT = `resource "terraform_data" "a" {
  input = upper("x")
}
output "o" {
  value = terraform_data.a.outputs
}
`;

describe("lsp", { timeout: 120_000 }, () => {
  let cleanup: AsyncDisposableStack;
  let child: ChildProcess;
  let connection: ProtocolConnection;
  let uri: string;
  let path: string;
  let problems: readonly Diagnostic[];

  beforeEach(async () => {
    cleanup = new AsyncDisposableStack();
    const folder = cleanup.use(await mkdtempDisposable(join(tmpdir(), "lsp-"))).path;
    path = join(folder, "main.tf");
    uri = pathToFileURL(path).href;
    problems = [];
    await writeFile(path, TEXT);
    child = spawn(process.execPath, [COMMAND, "lsp", "--stdio"], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const closed = once(child, "close");
    cleanup.defer(async () => {
      // What it keeps of compiled code, it writes at its end into the folder that is removed next.
      child.kill();
      await closed;
    });
    const { stdin, stdout } = child;
    if (stdin === null || stdout === null) throw new Error("the process has no streams");
    connection = createProtocolConnection(
      new StreamMessageReader(stdout),
      new StreamMessageWriter(stdin),
    );
    cleanup.defer(() => connection.dispose());
    connection.onNotification(
      "textDocument/publishDiagnostics",
      (published: { uri: string; diagnostics: Diagnostic[] }) => {
        if (published.uri === uri) problems = published.diagnostics;
      },
    );
    connection.listen();
    const root = pathToFileURL(folder).href;
    await connection.sendRequest("initialize", {
      initializationOptions: { trusted: true, plannedChanges: true },
      processId: process.pid,
      capabilities: {},
      rootUri: root,
      workspaceFolders: [{ uri: root, name: "test" }],
    });
    await connection.sendNotification("initialized", {});
    await connection.sendNotification("textDocument/didOpen", {
      textDocument: { uri, languageId: "terraform", version: 1, text: TEXT },
    });
  }, 60_000);
  // A plan or a check that runs ends first.
  afterEach(async () => {
    await cleanup.disposeAsync();
  }, 60_000);

  it("serves an editor with the schemas of installed providers, and ends with it", async () => {
    const hover = async (): Promise<string> => {
      const position = { line: 1, character: 3 };
      const found = await connection.sendRequest<{ contents: { value: string } } | null>(
        "textDocument/hover",
        { textDocument: { uri }, position },
      );
      return found?.contents.value ?? "";
    };
    await expect.poll(hover, SOON).toContain("**input**");
    await expect
      .poll(() => problems.map(({ message }) => message), SOON)
      .toEqual([expect.stringContaining("Unsupported attribute")]);
    await connection.sendRequest("shutdown");
    const ended = once(child, "exit");
    await connection.sendNotification("exit");
    expect(await ended).toEqual([0, null]);
  });

  it("finds after a save what only providers and values show", async () => {
    const text = 'output "o" {\n  value = lower([])\n}\n';
    await connection.sendNotification("textDocument/didChange", {
      textDocument: { uri, version: 2 },
      contentChanges: [{ text }],
    });
    await writeFile(path, text);
    await connection.sendNotification("textDocument/didSave", { textDocument: { uri } });
    await expect
      .poll(() => problems.map(({ message }) => message), SOON)
      .toEqual([expect.stringContaining("Invalid function argument")]);
  });

  it("shows after a save what a plan of the recorded state would do, until the text is another one", async () => {
    const hints = async (): Promise<readonly (readonly [number, unknown])[]> => {
      const range = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } };
      const found = await connection.sendRequest<
        readonly { readonly position: { readonly line: number }; readonly label: unknown }[]
      >("textDocument/inlayHint", { textDocument: { uri }, range });
      return found.map(({ position, label }) => [position.line, label] as const);
    };
    const change = async (text: string, version: number) => {
      await connection.sendNotification("textDocument/didChange", {
        textDocument: { uri, version },
        contentChanges: [{ text }],
      });
      await writeFile(path, text);
    };
    const text =
      'resource "terraform_data" "a" {\n  count = 3\n}\n\nresource "terraform_data" "b" {\n}\n';
    await change(text, 2);
    expect(await hints()).toEqual([]);
    await connection.sendNotification("textDocument/didSave", { textDocument: { uri } });
    await expect.poll(hints, SOON).toEqual([
      [0, "plan: +3"],
      [4, "plan: +1"],
    ]);
    await change(`${text}\n`, 3);
    expect(await hints()).toEqual([]);
  });

  it("drops what a plan would do once a command in a terminal has changed the state", async () => {
    const hints = async (): Promise<readonly unknown[]> => {
      const range = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } };
      const found = await connection.sendRequest<readonly { readonly label: unknown }[]>(
        "textDocument/inlayHint",
        { textDocument: { uri }, range },
      );
      return found.map(({ label }) => label);
    };
    const command = async (...words: string[]) => {
      const { code, error } = await tryCommand(words, {
        cwd: dirname(path),
        env: { HOME: dirname(path) },
      });
      expect(code, error).toBe(0);
    };
    // The first apply makes the store, the second one finds it.
    for (const [index, [count, label]] of [
      [3, "plan: +3"],
      [4, "plan: +1"],
    ].entries()) {
      const text = `resource "terraform_data" "a" {\n  count = ${count}\n}\n`;
      await connection.sendNotification("textDocument/didChange", {
        textDocument: { uri, version: index + 2 },
        contentChanges: [{ text }],
      });
      await writeFile(path, text);
      await connection.sendNotification("textDocument/didSave", { textDocument: { uri } });
      await expect.poll(hints, SOON).toEqual([label]);
      await command("plan");
      expect(await hints()).toEqual([label]);
      await command("up", "--yes");
      await expect.poll(hints, SOON).toEqual([]);
    }
  });

  it("ends with its editor", async () => {
    const ended = once(child, "exit");
    child.stdin?.end();
    expect(await ended).toEqual([1, null]);
  });
});
