import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hashDirectory, Platform } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));
const TEXT = `terraform {
  required_providers {
    lab = { source = "example.com/test/lab" }
  }
}
resource "lab_server" "a" {
  name = var.nope
}
`;

/** Opens a file of a folder that brings a provider and its lock file; whether the program of the provider was started. */
async function isStarted(...options: readonly string[]): Promise<boolean> {
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
  connection.listen();
  try {
    await connection.sendRequest("initialize", { processId: process.pid, capabilities: {} });
    const textDocument = {
      uri: pathToFileURL(path).href,
      languageId: "terraform",
      version: 1,
      text: TEXT,
    };
    const checked = new Promise((resolve) => {
      connection.onNotification("textDocument/publishDiagnostics", resolve);
      connection.onNotification("window/logMessage", resolve);
    });
    // It has a problem, which is published when its providers were asked.
    await connection.sendNotification("textDocument/didOpen", { textDocument });
    await connection.sendNotification("textDocument/didSave", { textDocument });
    await Promise.race([checked, once(child, "exit")]);
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    await closed;
    return await access(mark).then(
      () => true,
      () => false,
    );
  } finally {
    connection.dispose();
    child.kill();
    await closed;
  }
}

it("starts programs of a folder that is opened, and none with --no-providers", {
  timeout: 60_000,
}, async () => {
  expect(await isStarted()).toBe(true);
  expect(await isStarted("--no-providers")).toBe(false);
});
