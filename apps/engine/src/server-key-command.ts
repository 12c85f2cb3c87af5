import { resolve } from "node:path";
import {
  ensureKeyFile,
  loadKey,
  openStore,
  parseStoreAddress,
  replaceKeyFile,
  rewrapAllKeys,
} from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import { createKeyRing, isRegistryError, reencryptSecrets } from "@stackwright/registry";
import { requireStore } from "./require-store.ts";
import { parseServeArguments } from "./serve-arguments.ts";
import { keyFileOf, nextKeyFile, serverKeys } from "./server-key.ts";
import { listServerKeyUses, type ServerKeyUse } from "./server-key-uses.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";

/** What a rotation did. */
export interface ServerKeyRotation {
  /** The key that encrypts all stored secrets now. */
  readonly keyId: string;
  /** How many secrets were encrypted again. */
  readonly secrets: number;
  /** How many data keys of stacks and of what projects keep beside them were encrypted again. */
  readonly dataKeys: number;
  /** How many data keys are left with keys that the server was not given, by the ids of those. */
  readonly left: ReadonlyMap<string, number>;
  /** The file with the new key, where the rotation created it. */
  readonly keyFile: string | undefined;
}

interface CommandParts {
  readonly env?: NodeJS.ProcessEnv;
  readonly directory?: string;
  readonly signal?: AbortSignal;
}

/** Lists the keys that the stored secrets and the data keys of a server's store need. An embedded store must not be in use by a server. */
export async function listServerKeys(
  options: ServerOptions,
  parts: CommandParts = {},
): Promise<readonly ServerKeyUse[]> {
  const { env = process.env, directory = process.cwd(), signal } = parts;
  const resolved = resolveServerOptions(options);
  const address = parseStoreAddress(resolved.store, directory);
  await requireStore(address);
  const keys = await serverKeys(resolved, address, env);
  await using store = await openStore(address, { blobDirectory: blobsOf(resolved, directory) });
  return await listServerKeyUses(store.storage, keys, { ...(signal && { signal }) });
}

/**
 * Encrypts all stored secrets of a server with its current key, and the data keys of stacks, of variable sets of projects and accounts, of connections and
 * destinations. Where no key is configured for an embedded store, a new key is
 * created first and replaces `registry.key` afterwards. After an interruption at any moment the server starts as before, as it
 * takes both keys, and a repetition completes the rotation.
 */
export async function rotateServerKey(
  options: ServerOptions,
  parts: CommandParts = {},
): Promise<ServerKeyRotation> {
  const { env = process.env, directory = process.cwd(), signal } = parts;
  const resolved = resolveServerOptions(options);
  const address = parseStoreAddress(resolved.store, directory);
  await requireStore(address);
  const given = await serverKeys(resolved, address, env);
  // Opened before a key is created: an embedded store that is in use is left alone.
  await using store = await openStore(address, { blobDirectory: blobsOf(resolved, directory) });
  const keyFile = keyFileOf(resolved, address, env);
  const next = keyFile === undefined ? undefined : nextKeyFile(keyFile);
  if (next !== undefined) await ensureKeyFile(next);
  const created = next === undefined ? [] : [await loadKey({ kind: "file", path: next })];
  const [current, ...former] = [...created, ...given];
  if (current === undefined) throw new EngineError("ENGINE_KEY_UNAVAILABLE", "there is no key");
  const ring = createKeyRing([current, ...former].map(({ bytes }) => bytes));
  const { storage } = store;
  const during = { ...(signal && { signal }) };
  let secrets = 0;
  const { rewrapped: dataKeys, left } = await rewrapAllKeys({
    storage,
    current,
    former,
    ...during,
    before: async () => {
      secrets = await reencryptSecrets(storage, ring, during);
    },
  }).catch(refuseWithAdvice);
  if (keyFile !== undefined && next !== undefined) await replaceKeyFile(keyFile, next);
  return { keyId: ring.currentId, secrets, dataKeys, left, keyFile };
}

/** Throws the error of a rotation, with what to do where a key is missing. */
function refuseWithAdvice(error: unknown): never {
  const isMissing = isRegistryError(error)
    ? error.code === "REGISTRY_KEY_MISSING"
    : isEngineError(error, "ENGINE_KEY_UNAVAILABLE");
  if (!isMissing || !(error instanceof Error)) throw error;
  const advice =
    "Nothing was changed. Name the former key with --former-key-file, --former-key-variable or --former-key-command.";
  throw new EngineError("ENGINE_KEY_UNAVAILABLE", error.message, {
    details: { advice },
    cause: error,
  });
}

/** The command `admin list-keys`: one line per key, or JSON. */
export async function runServerKeyList(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string> {
  const options = await parseServeArguments(
    given.filter((word) => word !== "--json"),
    env,
    directory,
  );
  const keys = await listServerKeys(options, { env, directory });
  if (given.includes("--json")) {
    const rows = keys.map(({ keyId, secrets, dataKeys, isCurrent, isAvailable }) => ({
      key: keyId,
      secrets,
      data_keys: dataKeys,
      current: isCurrent,
      available: isAvailable,
    }));
    return `${JSON.stringify({ keys: rows }, undefined, 2)}\n`;
  }
  return keys
    .map(({ keyId, secrets, dataKeys, isCurrent, isAvailable }) => {
      const state = isAvailable ? "available" : "not available";
      const what = `${counted(secrets, "secret")}, ${counted(dataKeys, "data key")}`;
      return `${isCurrent ? "*" : " "} key ${keyId}  encrypts ${what}  ${state}\n`;
    })
    .join("");
}

/** The command `admin rotate-keys`: what it did, as text. */
export async function runServerKeyRotate(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string> {
  const options = await parseServeArguments(given, env, directory);
  const rotation = await rotateServerKey(options, { env, directory });
  const { keyId, secrets, dataKeys, left, keyFile } = rotation;
  const were = secrets === 1 ? "secret was" : "secrets were";
  const where =
    keyFile === undefined
      ? ""
      : `The new key is in ${keyFile}; back it up. The former key is still needed for older backups of the store.\n`;
  const others = [...left].map(
    ([id, count]) =>
      `The key ${id}, which was not given, still encrypts ${counted(count, "data key")}. It is the key of a user whose commands use the store, or a former key of the server: name it and repeat this.\n`,
  );
  return `The key ${keyId} encrypts all secrets of the server; ${secrets} ${were} encrypted again, and ${counted(dataKeys, "data key")} of stacks, projects and accounts.\n${others.join("")}${where}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}

function blobsOf({ blobDirectory }: ServerOptions, directory: string): string {
  return resolve(directory, blobDirectory ?? "blobs");
}
