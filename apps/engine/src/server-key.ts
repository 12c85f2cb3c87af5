import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  ensureKeyFile,
  type KeyEncryptionKey,
  keyEncryptionKey,
  loadKey,
  openStore,
  type StoreAddress,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { createKeyRing, listSecretKeys } from "@stackwright/registry";
import { makeDirectory } from "@stackwright/storage";
import { formerKeySourcesOf, keySourceOf, type ServerOptions } from "./server-options.ts";

/**
 * The keys of a server: the first encrypts stored secrets, all decrypt them. The first is the configured one, for an embedded store
 * without one the key in the file `registry.key` next to it, which is created when it is first needed, for a store in memory a new one.
 * None is created in the place of one that was lost (`ENGINE_KEY_UNAVAILABLE`): it would decrypt nothing of what the store has.
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
  if (!(await exists(path))) {
    if (await exists(join(address.directory, "store.db"))) await refuseLostKey(address, path);
    makeDirectory(address.directory);
    await ensureKeyFile(path);
  }
  if ((await readFile(path, "utf8")).trim() === "") {
    throw new EngineError("ENGINE_KEY_UNAVAILABLE", `the key file "${path}" is empty`);
  }
  const current = await loadKey({ kind: "file", path });
  const next = await loadKey({ kind: "file", path: nextKeyFile(path) }).catch(() => undefined);
  return next === undefined ? [current] : [current, next];
}

/** Throws where a store has secrets, which only the key decrypts that was in a file. */
async function refuseLostKey(
  address: Extract<StoreAddress, { kind: "sqlite" }>,
  path: string,
): Promise<void> {
  const blobDirectory = join(address.directory, "blobs");
  await using store = await openStore(address, { readOnly: true, blobDirectory });
  // Nothing is decrypted by it.
  const ring = createKeyRing([randomBytes(32)]);
  const uses = await listSecretKeys(store.storage, ring);
  const needed = uses.filter(({ secrets }) => secrets > 0).map(({ keyId }) => keyId);
  if (needed.length === 0) return;
  throw new EngineError(
    "ENGINE_KEY_UNAVAILABLE",
    `the key file "${path}" does not exist, and the store has secrets that the key ${needed.join(", ")} encrypts`,
    {
      details: {
        advice:
          "Restore the file from a backup, or name the key with --key-file, --key-variable or --key-command. Nothing else decrypts the secrets.",
      },
    },
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
