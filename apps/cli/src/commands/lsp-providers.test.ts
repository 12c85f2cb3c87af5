import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hashDirectory, Platform } from "@stackwright/provider-source";
import { expect, it, vi } from "vitest";
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));
const SOON = { timeout: 60_000 };
const TEXT = `terraform {
  required_providers {
    lab = { source = "example.com/test/lab" }
  }
}
resource "lab_server" "a" {
  name = var.nope
}
`;

interface Session {
  readonly options?: readonly string[];
  /** What the user answers when the server asks. */
  readonly answer?: string;
  /** What an editor with a trust of its own says. */
  readonly ofEditor?: boolean;
}

/**
 * Opens a file of a folder that brings a provider and its lock file, once for each session; whether the program of the provider was started
 * in it, and how often the user was asked.
 */
async function isStarted(...sessions: readonly Session[]): Promise<readonly [boolean, number][]> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), "lsp-providers-"));
  const folder = temporary.path;
  const { os, arch } = Platform.ofNode();
  const place = join(folder, `.stackwright/providers/example.com/test/lab/1.0.0/${os}_${arch}`);
  const mark = join(folder, "started");
  await mkdir(place, { recursive: true });
  await writeFile(
    join(place, "terraform-provider-lab_v1.0.0"),
    `#!/bin/sh\ntouch "${mark}"\nexit 1\n`,
    { mode: 0o755 },
  );
  const hash = await hashDirectory(place);
  await writeFile(
    join(folder, ".terraform.lock.hcl"),
    `provider "example.com/test/lab" {\n  version = "1.0.0"\n  hashes  = ["${hash}"]\n}\n`,
  );
  const path = join(folder, "main.tf");
  await writeFile(path, TEXT);
  const results: [boolean, number][] = [];
  for (const session of sessions) {
    await rm(mark, { force: true });
    const asked = await open({ folder, path, mark, session });
    results.push([existsSync(mark), asked]);
  }
  return results;
}

/** A folder that needs no program, with a problem that only its provider knows of. */
const BUILT_IN = `resource "terraform_data" "a" {
  inputs = 1
}
`;

interface OpenFolder {
  readonly text?: string;
  readonly folder: string;
  readonly path: string;
  readonly mark: string;
  readonly session: Session;
  readonly onProblems?: (messages: readonly string[]) => void;
}

/** How often the user was asked. */
async function open({
  folder,
  path,
  mark,
  session,
  text = TEXT,
  onProblems,
}: OpenFolder): Promise<number> {
  const { options = [], answer, ofEditor } = session;
  const child = spawn(process.execPath, [COMMAND, "lsp", ...options], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const connection = createProtocolConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  let asked = 0;
  connection.onRequest("window/showMessageRequest", () => {
    asked += 1;
    return answer === undefined ? null : { title: answer };
  });
  connection.listen();
  try {
    await connection.sendRequest("initialize", {
      processId: process.pid,
      capabilities: {},
      initializationOptions: ofEditor === undefined ? undefined : { trusted: ofEditor },
    });
    const textDocument = {
      uri: pathToFileURL(path).href,
      languageId: "terraform",
      version: 1,
      text,
    };
    const checked = new Promise((resolve) => {
      connection.onNotification(
        "textDocument/publishDiagnostics",
        ({ diagnostics }: { readonly diagnostics: readonly { readonly message: string }[] }) => {
          if (diagnostics.length === 0) return;
          onProblems?.(diagnostics.map(({ message }) => message));
          resolve(undefined);
        },
      );
      connection.onNotification("window/logMessage", resolve);
    });
    // It has a problem, which is published when its providers were asked.
    await connection.sendNotification("textDocument/didOpen", { textDocument });
    await connection.sendNotification("textDocument/didSave", { textDocument });
    await Promise.race([checked, once(child, "exit")]);
    // The answer of a user comes after the first check.
    if (answer === "Trust") await vi.waitFor(() => expect(existsSync(mark)).toBe(true), SOON);
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    await closed;
    return asked;
  } finally {
    connection.dispose();
    child.kill();
    await closed;
  }
}

it("starts programs of folders that the user trusts, and remembers the answer", {
  timeout: 180_000,
}, async () => {
  expect(await isStarted({}, { answer: "Trust" }, {}, { options: ["--no-providers"] })).toEqual([
    [false, 1],
    [true, 1],
    [true, 0],
    [false, 0],
  ]);
});

it("asks nothing where the user said never, or where the editor knows", {
  timeout: 180_000,
}, async () => {
  expect(await isStarted({ answer: "Never" }, {}, { ofEditor: true }, { ofEditor: false })).toEqual(
    [
      [false, 1],
      [false, 0],
      [true, 0],
      [false, 0],
    ],
  );
});

it("checks what needs no program without asking", { timeout: 60_000 }, async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), "lsp-providers-"));
  const folder = temporary.path;
  const path = join(folder, "main.tf");
  await writeFile(path, BUILT_IN);
  const found: string[] = [];
  const onProblems = (messages: readonly string[]): void => void found.push(...messages);
  const opened = { folder, path, mark: join(folder, "started"), text: BUILT_IN, onProblems };
  for (const session of [{}, { options: ["--no-providers"] }]) {
    found.length = 0;
    expect(await open({ ...opened, session })).toBe(0);
    expect(found.join("\n")).toContain('"inputs"');
  }
});
