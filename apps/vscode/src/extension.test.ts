import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { expect, it } from "vitest";
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { packageExtension } from "../scripts/package-extension.ts";
import { initializationOptions, serverCommand } from "./client-settings.ts";

const COMMAND = join(import.meta.dirname, "../../cli/bin/stackwright.mjs");

interface Extension {
  readonly main: string;
  readonly contributes: {
    readonly languages: readonly { readonly configuration: string }[];
    readonly grammars: readonly { readonly path: string }[];
    readonly configuration: {
      readonly properties: Readonly<Record<string, { readonly scope?: string }>>;
    };
  };
  readonly capabilities: {
    readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] };
  };
}

it("is one file with all that its manifest names, the same twice", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-vscode-"));
  const [first, second] = [join(scratch.path, "a.vsix"), join(scratch.path, "b.vsix")];
  await packageExtension(first, "1.2.3");
  await packageExtension(second, "1.2.3");
  expect(readFileSync(first).equals(readFileSync(second))).toBe(true);
  const files = unzipSync(readFileSync(first));
  const text = (name: string) => Buffer.from(files[name] ?? []).toString();
  const extension = JSON.parse(text("extension/package.json")) as Extension;
  const { languages, grammars, configuration } = extension.contributes;
  const named = [
    extension.main,
    ...languages.map((one) => one.configuration),
    ...grammars.map(({ path }) => path),
  ];
  for (const name of named) expect(files).toHaveProperty([name.replace(/^\./, "extension")]);
  for (const [, path = ""] of text("extension.vsixmanifest").matchAll(/Path="([^"]+)"/g)) {
    expect(files).toHaveProperty([path]);
  }
  const { restrictedConfigurations } = extension.capabilities.untrustedWorkspaces;
  expect(Object.keys(configuration.properties)).toEqual(
    expect.arrayContaining([...restrictedConfigurations]),
  );
  // A plan calls addresses that the configuration names: no folder turns that on.
  expect(restrictedConfigurations).toContain("stackwright.plannedChanges");
  expect(configuration.properties["stackwright.plannedChanges"]?.scope).toBe("machine");
  // Of what it needs, the editor brings one module alone.
  const required = text("extension/extension.cjs").matchAll(/require\("([^".][^"]*)"\)/g);
  const { builtinModules } = await import("node:module");
  expect([
    ...new Set(
      Array.from(required, ([, name = ""]) => name.replace(/^node:/, "")).filter(
        (name) => !builtinModules.includes(name),
      ),
    ),
  ]).toEqual(["vscode"]);
  expect(text("extension/THIRD-PARTY.txt")).toContain("vscode-languageclient");
});

it("starts a server that speaks the protocol", { timeout: 120_000 }, async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-vscode-"));
  const { command, args } = serverCommand({
    command: process.execPath,
    arguments: [COMMAND],
    providers: false,
  });
  expect(args.slice(1)).toEqual(["lsp", "--stdio", "--no-providers"]);
  const child = spawn(command, args, {
    cwd: scratch.path,
    env: { PATH: process.env["PATH"], HOME: scratch.path },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const connection = createProtocolConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  connection.listen();
  try {
    const answer = await connection.sendRequest<{ readonly serverInfo: object }>("initialize", {
      processId: process.pid,
      capabilities: {},
      initializationOptions: initializationOptions(false, {
        plannedChanges: false,
        valueHints: true,
      }),
    });
    expect(answer.serverInfo).toMatchObject({ name: "stackwright" });
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    await closed;
    expect(child.exitCode).toBe(0);
  } finally {
    connection.dispose();
    child.kill();
    await closed;
  }
});
