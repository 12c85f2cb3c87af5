import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreAddress } from "@stackwright/core";
import { type KeyEncryptionKey, keyEncryptionKey, loadKey } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { makeDirectory } from "@stackwright/storage";
import { keySourceOf, type ServerOptions } from "./server-options.ts";

/**
 * The key that encrypts stored secrets: the one that is configured; for an embedded store without one,
 * a key in a file beside it that is made when it is first needed; for a store in memory, any.
 *
 * Stores that others can reach need a configured key (`ENGINE_KEY_UNAVAILABLE`): all servers have to
 * have the same, and a key that lies where its ciphertexts lie protects nothing.
 */
export async function serverKey(
  options: ServerOptions,
  address: StoreAddress,
  env: NodeJS.ProcessEnv,
): Promise<KeyEncryptionKey> {
  const source = keySourceOf(options, env);
  if (source !== undefined) return loadKey(source);
  if (address.kind === "memory") return keyEncryptionKey(randomBytes(32));
  if (address.kind !== "sqlite") {
    throw new EngineError(
      "ENGINE_KEY_UNAVAILABLE",
      "a store that others can reach needs a key for secrets: give keyFile, keyVariable or keyCommand",
    );
  }
  const path = join(address.directory, "registry.key");
  makeDirectory(address.directory);
  try {
    await writeFile(path, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if ((await readFile(path, "utf8")).trim() === "") {
    throw new EngineError("ENGINE_KEY_UNAVAILABLE", `the key file "${path}" is empty`);
  }
  return loadKey({ kind: "file", path });
}
