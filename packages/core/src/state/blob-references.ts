import {
  type Content,
  type PlanDocuments,
  Run,
  StackOutputs,
  StackPlan,
  StackRevision,
  StateObject,
} from "@stackwright/proto/stackwright";
import type { Resource } from "@stackwright/storage";
import type { BlobReferenceKind } from "@stackwright/storage/blob";
import { FENCE_TYPE, HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { blobsOf } from "./content.ts";
import { decodeKind, STATE_KINDS } from "./kinds.ts";
import { contentsOf } from "./object-codec.ts";
import { STACK_KIND } from "./stack-directory.ts";
import { LINEAGE_KIND } from "./stack-lineage.ts";

/** Digests of the blobs that a resource of a state needs, by its kind; of a kind that needs none, nothing. */
const BLOBS: Readonly<
  Record<keyof typeof STATE_KINDS, ((resource: Resource) => readonly string[]) | undefined>
> = {
  head: undefined,
  keys: undefined,
  run: (resource) => documentBlobs(decodeKind(resource, Run).planDocuments),
  object: (resource) => digests(contentsOf(decodeKind(resource, StateObject))),
  outputs: (resource) =>
    digests(decodeKind(resource, StackOutputs).outputs.flatMap(({ json }) => json ?? [])),
  plan: (resource) => {
    const { bytes, documents } = decodeKind(resource, StackPlan);
    return [...digests(bytes === undefined ? [] : [bytes]), ...documentBlobs(documents)];
  },
  revision: (resource) => {
    const { changes, blobs } = decodeKind(resource, StackRevision);
    const own = digests(changes === undefined ? [] : [changes]);
    return [...own, ...blobs.map(({ sha256 }) => sha256)];
  },
};

/**
 * The kinds of the engine with the blobs that they refer to: objects, outputs, plans, what is kept of the plans of runs, and the objects
 * within the history. For the collection of blobs, which has to know every kind. A resource that cannot be decoded fails it.
 */
export const STATE_BLOB_KINDS: readonly BlobReferenceKind[] = [
  ...(Object.keys(STATE_KINDS) as (keyof typeof STATE_KINDS)[]).map((kind): BlobReferenceKind => {
    const blobs = BLOBS[kind];
    return { type: STATE_KINDS[kind], ...(blobs !== undefined && { blobs }) };
  }),
  ...[STACK_KIND, LINEAGE_KIND, FENCE_TYPE, HEARTBEAT_TYPE].map((type) => ({ type })),
];

function digests(contents: readonly Content[]): string[] {
  return blobsOf(contents).map(({ sha256 }) => sha256);
}

function documentBlobs(documents: PlanDocuments | undefined): string[] {
  if (documents === undefined) return [];
  return [documents.documentSha256, documents.viewSha256].filter((sha256) => sha256 !== "");
}
