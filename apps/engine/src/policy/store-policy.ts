import { createHash } from "node:crypto";
import type { PolicyVersion } from "@stackwright/proto/stackwright";
import type { BlobStore } from "@stackwright/storage/blob";
import { ServerError } from "../domain/server-error.ts";
import { compileRego } from "./compile-rego.ts";
import type { PolicyRunner } from "./policy-runner.ts";
import { readPolicyUpload } from "./read-upload.ts";

interface StorePolicyParts {
  readonly blobs: BlobStore;
  readonly policies: PolicyRunner;
  readonly opaCommand: readonly string[];
}

/**
 * Reads, compiles and tries what was uploaded for a policy set, and stores it as blobs. `unprocessable` for a program that could judge no
 * plan: it cannot be loaded, has no entry point, or calls what is not here.
 */
export async function storePolicy(
  { blobs, policies, opaCommand }: StorePolicyParts,
  content: Uint8Array<ArrayBuffer>,
  given: { readonly account: string; readonly actor: string; readonly atMs: number } & {
    readonly entrypoints: readonly string[];
  },
): Promise<PolicyVersion> {
  const { account: owner, actor, atMs, entrypoints: wanted } = given;
  const upload = readPolicyUpload(content);
  const isSource = upload.format === "rego";
  const built = isSource ? await compileRego(opaCommand, upload.files, wanted) : upload;
  // Sources are compiled with all that is wanted of them.
  const entrypoints = isSource || wanted.length === 0 ? undefined : wanted;
  const { program, data } = built;
  const outcome = await policies.evaluate({ program, data, entrypoints });
  if (outcome.kind === "error") {
    throw new ServerError("unprocessable", `the policies cannot be used: ${outcome.text}`);
  }
  const writing = { owner };
  const [source, stored, storedData] = await Promise.all([
    blobs.write(content, writing),
    blobs.write(program, writing),
    data && blobs.write(data, writing),
  ]);
  return {
    digest: digestOf(source.sha256, outcome.answer.entrypoints),
    sourceSha256: source.sha256,
    programSha256: stored.sha256,
    dataSha256: storedData?.sha256 ?? "",
    entrypoints: [...outcome.answer.entrypoints],
    format: upload.format,
    actor,
    atMs: BigInt(atMs),
  };
}

/** The name of a version: what was uploaded, and what of it judges plans. */
function digestOf(sourceSha256: string, entrypoints: readonly string[]): string {
  return createHash("sha256")
    .update([sourceSha256, ...entrypoints].join("\n"))
    .digest("hex");
}
