import {
  StackOutputs,
  StackPlan,
  StackRevision,
  StateObject,
} from "@stackwright/proto/stackwright";
import { type CallOptions, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { blobsOf } from "./content.ts";
import { type Converters, decodeKind, STATE_KINDS } from "./kinds.ts";
import { contentsOf } from "./object-codec.ts";

/**
 * Digests of all blobs that the states of all stacks refer to: objects, outputs, plans, and the objects within the history.
 * For the garbage collection of the blob store, which has to see all references; some may come twice. Reads strongly.
 */
export async function* stateBlobReferences(
  storage: StorageBackend,
  options: CallOptions & { readonly converters?: Converters } = {},
): AsyncGenerator<string> {
  const { converters } = options;
  const everywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
  const list = (kind: keyof typeof STATE_KINDS) =>
    storage.list("strong", STATE_KINDS[kind], everywhere, "", options);
  for (const resource of await list("object")) {
    yield* digests(contentsOf(decodeKind(resource, StateObject, converters)));
  }
  for (const resource of await list("outputs")) {
    const { outputs } = decodeKind(resource, StackOutputs, converters);
    yield* digests(outputs.flatMap(({ json }) => json ?? []));
  }
  for (const resource of await list("plan")) {
    const { bytes } = decodeKind(resource, StackPlan, converters);
    yield* digests(bytes === undefined ? [] : [bytes]);
  }
  for (const resource of await list("revision")) {
    const { changes, blobs } = decodeKind(resource, StackRevision, converters);
    yield* digests(changes === undefined ? [] : [changes]);
    for (const { sha256 } of blobs) yield sha256;
  }
}

function digests(contents: Parameters<typeof blobsOf>[0]): string[] {
  return blobsOf(contents).map(({ sha256 }) => sha256);
}
