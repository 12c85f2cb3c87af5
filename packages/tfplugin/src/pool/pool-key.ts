import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Environment } from "../launch/environment.ts";

/** What has to be equal for a running provider to serve another request. */
export interface PoolKey {
  /** The tenant. Providers are never shared between projects, even where all else is equal. */
  readonly project: string;
  /** Of the program; see {@link fileDigest}. */
  readonly binaryDigest: string;
  /** Of all variables; see {@link environmentDigest}. */
  readonly environmentDigest: string;
  /** Of what the provider was configured with; empty for one that is not configured. */
  readonly configurationDigest: string;
}

/** The key as one text, different for different keys. */
export function formatPoolKey(key: PoolKey): string {
  const { project, binaryDigest, environmentDigest, configurationDigest } = key;
  return JSON.stringify([project, binaryDigest, environmentDigest, configurationDigest]);
}

/** SHA-256 of a file, in hex. */
export async function fileDigest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** SHA-256 of an environment in hex, independent of the order of its variables. It stands for secrets: keep it in memory. */
export function environmentDigest(env: Environment): string {
  const pairs = Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(pairs)).digest("hex");
}
