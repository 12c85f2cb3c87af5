import { writeFile } from "node:fs/promises";
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

/** Puts credentials into a file that only its owner can read and that does not exist yet. */
export async function writeCredentials(path: string, first: BootstrapCredentials): Promise<void> {
  await writeFile(path, `${JSON.stringify(first, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
}
