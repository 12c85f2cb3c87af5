import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readTarball } from "@stackwright/provider-source";
import type { BlobStore } from "@stackwright/storage/blob";
import { CONFIGURATION_LIMITS } from "../configuration/configuration-limits.ts";
import { rootedDigest } from "../configuration/rooted-digest.ts";
import { ServerError } from "../domain/server-error.ts";
import type { ExecutionJob } from "./execution-job.ts";

/**
 * Unpacks the configuration of a job into its folder, which it returns, and compares it with its digest. `bundle_invalid` also where it lacks the
 * folder of the root module.
 */
export async function unpackBundle(
  { folder, configuration }: Pick<ExecutionJob, "folder" | "configuration">,
  blobs: BlobStore,
  signal: AbortSignal,
): Promise<string> {
  const directory = join(folder, "configuration");
  await mkdir(directory, { mode: 0o700 });
  const { archiveSha256, digest, root = "" } = configuration;
  const summary = await readTarball(blobs.read(archiveSha256, { signal }), {
    directory,
    limits: CONFIGURATION_LIMITS,
    signal,
  });
  const found = rootedDigest(summary.digest, root);
  if (found !== digest) {
    throw new ServerError(
      "bundle_invalid",
      `the configuration has the digest ${found}, not ${digest}`,
    );
  }
  const isThere = await stat(join(directory, root)).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isThere) return directory;
  throw new ServerError("bundle_invalid", `${rootName(root)} is not in the configuration`);
}

/** What errors call the folder of the root module. */
export function rootName(root: string): string {
  return root === "" ? "the configuration" : `the folder ${JSON.stringify(root)}`;
}
