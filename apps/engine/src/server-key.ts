import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ensureKeyFile,
  type KeyEncryptionKey,
  keyEncryptionKey,
  loadKey,
  type StoreAddress,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { makeDirectory } from "@stackwright/storage";
import { formerKeySourcesOf, keySourceOf, type ServerOptions } from "./server-options.ts";

/**
 * The keys of a server: the first encrypts stored secrets, all decrypt them. The first is the configured one, for an embedded store
 * without one the key in the file `registry.key` next to it, which is created when it is first needed, for a store in memory a new one.
 *
 * Stores that others can reach need a configured key (`ENGINE_KEY_UNAVAILABLE`): all servers have to
 * have the same, and a key that is stored with its ciphertexts protects nothing.
 */
export async function serverKeys(
  options: ServerOptions,
  address: StoreAddress,
  env: NodeJS.ProcessEnv,
): Promise<readonly [KeyEncryptionKey, ...KeyEncryptionKey[]]> {
  const [current, ...implied] = await currentKeys(options, address, env);
  const former = await Promise.all(formerKeySourcesOf(options, env).map(loadKey));
  return [current, ...former, ...implied];
}

/** The file with the key of an embedded store, where none is configured; undefined for other stores. */
export function keyFileOf(
  options: ServerOptions,
  address: StoreAddress,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const isImplied = keySourceOf(options, env) === undefined && address.kind === "sqlite";
  return isImplied ? join(address.directory, "registry.key") : undefined;
}

/** The key that an interrupted rotation was changing to. */
export function nextKeyFile(path: string): string {
  return `${path}.next`;
}

async function currentKeys(
  options: ServerOptions,
  address: StoreAddress,
  env: NodeJS.ProcessEnv,
): Promise<readonly [KeyEncryptionKey, ...KeyEncryptionKey[]]> {
  const source = keySourceOf(options, env);
  if (source !== undefined) return [await loadKey(source)];
  if (address.kind === "memory") return [keyEncryptionKey(randomBytes(32))];
  const path = keyFileOf(options, address, env);
  if (path === undefined || address.kind !== "sqlite") {
    throw new EngineError(
      "ENGINE_KEY_UNAVAILABLE",
      "a store that others can reach needs a key for secrets: set keyFile, keyVariable or keyCommand",
    );
  }
  makeDirectory(address.directory);
  await ensureKeyFile(path);
  if ((await readFile(path, "utf8")).trim() === "") {
    throw new EngineError("ENGINE_KEY_UNAVAILABLE", `the key file "${path}" is empty`);
  }
  const current = await loadKey({ kind: "file", path });
  const next = await loadKey({ kind: "file", path: nextKeyFile(path) }).catch(() => undefined);
  return next === undefined ? [current] : [current, next];
}
