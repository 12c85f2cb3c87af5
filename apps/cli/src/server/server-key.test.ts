import { mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import {
  createStoredKeys,
  keyEncryptionKey,
  openStore,
  type StackReference,
} from "@stackwright/core";
import { type BootstrapCredentials, serve } from "@stackwright/engine";
import { CredentialStore, createKeyRing, createRegistry } from "@stackwright/registry";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const STORE = ["--store", "sqlite:data"];
const OLD = Buffer.alloc(32, 1).toString("base64");
const NEW = Buffer.alloc(32, 2).toString("base64");

async function bootstrapped(env: NodeJS.ProcessEnv = {}, ...options: string[]) {
  const folder = await mkdtempDisposable(join(tmpdir(), "server-key-"));
  const cwd = folder.path;
  const run = async (given: NodeJS.ProcessEnv, ...words: string[]) =>
    tryCommand(words, { cwd, env: given });
  const made = await run(env, "bootstrap", ...STORE, ...options);
  expect(made).toMatchObject({ code: 0, error: "" });
  const first = JSON.parse(made.output) as BootstrapCredentials;
  return {
    cwd,
    run,
    first,
    list: async (given: NodeJS.ProcessEnv, ...words: string[]) =>
      JSON.parse((await run(given, "server-key", "list", "--json", ...STORE, ...words)).output)
        .keys as {
        key: string;
        secrets: number;
        data_keys: number;
        current: boolean;
        available: boolean;
      }[],
    [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose](),
  };
}

/** The secret of an access key, as a server with these keys reads it. */
async function secretOf(cwd: string, accessKey: string, ...keys: Uint8Array[]) {
  const blobDirectory = join(cwd, "blobs");
  const directory = join(cwd, "data");
  await using store = await openStore({ kind: "sqlite", directory }, { blobDirectory });
  const ring = createKeyRing(keys);
  const registry = createRegistry({ storage: store.storage, blobs: store.blobs, keys: ring });
  const { records } = registry.parts;
  const credentials = new CredentialStore({ records, keys: ring, clock: systemClock });
  return (await credentials.keyWithSecret(accessKey))?.secret;
}

/** The data keys of a stack, as a server with a key reads them; `make` makes the first. */
async function dataKeysOf(cwd: string, key: string, stack: StackReference, make = false) {
  const blobDirectory = join(cwd, "blobs");
  const directory = join(cwd, "data");
  await using store = await openStore({ kind: "sqlite", directory }, { blobDirectory });
  const current = keyEncryptionKey(Buffer.from(key.trim(), "base64"));
  const keys = createStoredKeys({ storage: store.storage, current });
  if (make) await keys.ensure(stack);
  return await keys.dataKeys(stack);
}

describe("the key of a server", { timeout: 60_000 }, () => {
  it("is replaced where none is configured; the former one is not needed afterwards", async () => {
    await using made = await bootstrapped();
    const before = await readFile(join(made.cwd, "data/registry.key"), "utf8");
    const stack = { account: "default", project: "web", stack: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
    const dataKeys = await dataKeysOf(made.cwd, before, stack, true);
    const [listed] = await made.list({});
    expect(listed).toMatchObject({ current: true, available: true });
    expect(listed?.secrets).toBeGreaterThan(0);
    const rotated = await made.run({}, "server-key", "rotate", ...STORE);
    expect(rotated).toMatchObject({ code: 0, error: "" });
    expect(rotated.output).toContain(`${listed?.secrets} secret`);
    const after = await readFile(join(made.cwd, "data/registry.key"), "utf8");
    expect(after).not.toBe(before);
    expect(await readdir(join(made.cwd, "data"))).not.toContain("registry.key.next");
    expect(await made.list({})).toEqual([
      {
        key: expect.not.stringContaining(listed?.key ?? ""),
        secrets: listed?.secrets,
        data_keys: 1,
        current: true,
        available: true,
      },
    ]);
    const key = Buffer.from(after.trim(), "base64");
    expect(await secretOf(made.cwd, made.first.accessKey, key)).toBe(made.first.secretKey);
    expect(await dataKeysOf(made.cwd, after, stack)).toEqual(dataKeys);
  });

  it("is replaced by a configured one, which needs the former one once", async () => {
    const env = { OLD, NEW };
    await using made = await bootstrapped(env, "--key-variable", "OLD");
    const rotate = ["server-key", "rotate", ...STORE, "--key-variable", "NEW"];
    const refused = await made.run(env, ...rotate);
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("not configured");
    expect(refused.error).toContain("--former-key-file");
    expect((await made.list(env, "--key-variable", "OLD")).map(({ current }) => current)).toEqual([
      true,
    ]);
    const done = await made.run(env, ...rotate, "--former-key-variable", "OLD");
    expect(done).toMatchObject({ code: 0, error: "" });
    expect(await made.list(env, "--key-variable", "OLD")).toMatchObject([
      { current: true, secrets: 0 },
      { available: false },
    ]);
    expect((await made.run(env, ...rotate)).output).toContain("0 secrets were encrypted again");
    const key = Buffer.from(NEW, "base64");
    expect(await secretOf(made.cwd, made.first.accessKey, key)).toBe(made.first.secretKey);
  });

  it("stays as it is while a server uses the store", async () => {
    await using made = await bootstrapped();
    await using _server = await serve(
      { store: "sqlite:data", port: 0, logLevel: "silent" },
      { directory: made.cwd, env: {} },
    );
    const refused = await made.run({}, "server-key", "rotate", ...STORE);
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("The store is in use");
    expect(await readdir(join(made.cwd, "data"))).not.toContain("registry.key.next");
  });

  it("may be half replaced: a server starts, and a repetition completes the rotation", async () => {
    await using made = await bootstrapped();
    // As after an end behind the last record and before the file was replaced.
    const env = { NEXT: NEW };
    await made.run(
      env,
      "server-key",
      "rotate",
      ...STORE,
      "--key-variable",
      "NEXT",
      "--former-key-file",
      join(made.cwd, "data/registry.key"),
    );
    await writeFile(join(made.cwd, "data/registry.key.next"), NEW);
    const [former, next] = await made.list({});
    expect([former?.secrets, next?.available]).toEqual([0, true]);
    expect((await made.run({}, "bootstrap", ...STORE, "--again")).code).toBe(0);
    expect(await made.list({})).toMatchObject([{ available: true }, { available: true }]);
    expect((await made.run({}, "server-key", "rotate", ...STORE)).code).toBe(0);
    expect(await made.list({})).toMatchObject([{ current: true }]);
    expect(await readFile(join(made.cwd, "data/registry.key"), "utf8")).toBe(NEW);
  });

  it("is not made anew where it was lost", async () => {
    await using made = await bootstrapped();
    const path = join(made.cwd, "data/registry.key");
    const key = await readFile(path);
    await rm(path);
    for (const words of [
      ["bootstrap", "--again"],
      ["server-key", "list"],
      ["server-key", "rotate"],
      ["serve", "--port", "0"],
    ]) {
      const { code, error } = await made.run({}, ...words, ...STORE);
      expect([words, code]).toEqual([words, 1]);
      expect(error).toContain(`the key file "${path}" does not exist`);
      expect(error).toContain("Restore the file from a backup");
    }
    expect(await readdir(join(made.cwd, "data"))).not.toContain("registry.key");
    await writeFile(path, key);
    expect((await made.run({}, "bootstrap", "--again", ...STORE)).code).toBe(0);
  });

  it("is made for the store of a command, which has no secrets of a server", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "server-key-"));
    const cwd = folder.path;
    await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const options = { cwd, env: { STACKWRIGHT_STORE: "sqlite:data" } };
    expect(await tryCommand(["up", "--yes"], options)).toMatchObject({ code: 0 });
    expect(await tryCommand(["bootstrap"], options)).toMatchObject({ code: 0, error: "" });
    expect(await readdir(join(cwd, "data"))).toContain("registry.key");
  });
});
