import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { EngineError } from "@stackwright/core/errors";
import type { CredentialStore } from "@stackwright/registry";

/** The first credentials of a store. */
export interface BootstrapCredentials {
  readonly account: string;
  /** For `X-Auth-Token` and `Bearer`. */
  readonly token: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/**
 * Makes a token and an access key that may do everything, in a store that has no credentials yet.
 * `ENGINE_CONFIG_INVALID` where there are some, unless `evenIfThereAreSome`: an operator who can open the store and has
 * its key may make further ones.
 */
export async function createFirstCredentials(
  credentials: CredentialStore,
  account: string,
  options: { readonly evenIfThereAreSome?: boolean } = {},
): Promise<BootstrapCredentials> {
  if (options.evenIfThereAreSome !== true && !(await credentials.isEmpty())) {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      "the store has credentials already; --again makes further ones",
    );
  }
  const input = { account, roles: ["operator", "worker"] as const, description: "bootstrap" };
  const { token } = await credentials.createToken(input);
  const { accessKey, secretKey } = await credentials.createKey(input);
  return { account, token, accessKey, secretKey };
}

/**
 * Makes credentials and puts them into a file that only its owner can read and that does not exist yet, in a folder that is made for it.
 * Nothing is made where there can be no such file: credentials that were shown to no user are lost, and the store makes none a second time.
 */
export async function writeCredentials(
  path: string,
  make: () => Promise<BootstrapCredentials>,
): Promise<void> {
  let file: FileHandle;
  try {
    await mkdir(dirname(path), { recursive: true });
    file = await open(path, "wx", 0o600);
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === "EEXIST";
    const why = isThere ? "it exists: remove it, or name another one" : (cause as Error).message;
    const text = `the file "${path}" cannot get the first credentials, and none were made: ${why}`;
    throw new EngineError("ENGINE_CONFIG_INVALID", text, { cause });
  }
  await using _ = file;
  try {
    await file.writeFile(`${JSON.stringify(await make(), undefined, 2)}\n`);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
