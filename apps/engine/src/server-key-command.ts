import { resolve } from "node:path";
import {
  ensureKeyFile,
  loadKey,
  openStore,
  parseStoreAddress,
  replaceKeyFile,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import {
  createKeyRing,
  isRegistryError,
  listSecretKeys,
  reencryptSecrets,
  type SecretKeyUse,
} from "@stackwright/registry";
import { parseServeArguments } from "./serve-arguments.ts";
import { keyFileOf, nextKeyFile, serverKeys } from "./server-key.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";

/** What a rotation did. */
export interface ServerKeyRotation {
  /** The key that encrypts all stored secrets now. */
  readonly keyId: string;
  /** How many secrets were encrypted again. */
  readonly secrets: number;
  /** The file with the new key, where the rotation created it. */
  readonly keyFile: string | undefined;
}

interface CommandParts {
  readonly env?: NodeJS.ProcessEnv;
  readonly directory?: string;
  readonly signal?: AbortSignal;
}

/** Lists the keys that the stored secrets of a server need. An embedded store must not be in use by a server. */
export async function listServerKeys(
  options: ServerOptions,
  parts: CommandParts = {},
): Promise<readonly SecretKeyUse[]> {
  const { env = process.env, directory = process.cwd(), signal } = parts;
  const resolved = resolveServerOptions(options);
  const address = parseStoreAddress(resolved.store, directory);
  const keys = await serverKeys(resolved, address, env);
  await using store = await openStore(address, { blobDirectory: blobsOf(resolved, directory) });
  const ring = createKeyRing(keys.map(({ bytes }) => bytes));
  return await listSecretKeys(store.storage, ring, { ...(signal && { signal }) });
}

/**
 * Encrypts all stored secrets of a server with its current key. Where no key is configured for an embedded store, a new key is
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
  const given = await serverKeys(resolved, address, env);
  // Opened before a key is created: an embedded store that is in use is left alone.
  await using store = await openStore(address, { blobDirectory: blobsOf(resolved, directory) });
  const keyFile = keyFileOf(resolved, address, env);
  const next = keyFile === undefined ? undefined : nextKeyFile(keyFile);
  if (next !== undefined) await ensureKeyFile(next);
  const created = next === undefined ? [] : [await loadKey({ kind: "file", path: next })];
  const ring = createKeyRing([...created, ...given].map(({ bytes }) => bytes));
  let secrets: number;
  try {
    secrets = await reencryptSecrets(store.storage, ring, { ...(signal && { signal }) });
  } catch (error) {
    if (!isRegistryError(error) || error.code !== "REGISTRY_KEY_MISSING") throw error;
    throw new EngineError("ENGINE_KEY_UNAVAILABLE", error.message, {
      details: {
        advice:
          "Nothing was changed. Name the former key with --former-key-file, --former-key-variable or --former-key-command.",
      },
      cause: error,
    });
  }
  if (keyFile !== undefined && next !== undefined) await replaceKeyFile(keyFile, next);
  return { keyId: ring.currentId, secrets, keyFile };
}

/** The command `server-key list`: one line per key, or JSON. */
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
    const rows = keys.map(({ keyId, secrets, isCurrent, isAvailable }) => ({
      key: keyId,
      secrets,
      current: isCurrent,
      available: isAvailable,
    }));
    return `${JSON.stringify({ keys: rows }, undefined, 2)}\n`;
  }
  return keys
    .map(({ keyId, secrets, isCurrent, isAvailable }) => {
      const state = isAvailable ? "available" : "not available";
      const noun = secrets === 1 ? "secret" : "secrets";
      return `${isCurrent ? "*" : " "} key ${keyId}  encrypts ${secrets} ${noun}  ${state}\n`;
    })
    .join("");
}

/** The command `server-key rotate`: what it did, as text. */
export async function runServerKeyRotate(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string> {
  const options = await parseServeArguments(given, env, directory);
  const { keyId, secrets, keyFile } = await rotateServerKey(options, { env, directory });
  const noun = secrets === 1 ? "secret was" : "secrets were";
  const where =
    keyFile === undefined
      ? ""
      : `The new key is in ${keyFile}; back it up. The former key is still needed for older backups of the store.\n`;
  return `The key ${keyId} encrypts all secrets of the server; ${secrets} ${noun} encrypted again.\n${where}`;
}

function blobsOf({ blobDirectory }: ServerOptions, directory: string): string {
  return resolve(directory, blobDirectory ?? "blobs");
}
