import {
  type Content,
  type StateObject as ObjectMessage,
  RevisionChanges,
  StackRevision,
} from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions } from "@stackwright/storage";
import { applyStatusOf } from "./apply-status.ts";
import { blobsOf, inlineContent, loadContent, spillContents } from "./content.ts";
import { memberId, revisionMember, STATE_KINDS } from "./kinds.ts";
import { contentsOf } from "./object-codec.ts";
import type { StackRecords } from "./stack-records.ts";
import type { RevisionChange, RevisionEntry } from "./stack-state.ts";

/** What the entry of a run has in addition to its changes. */
interface RevisionFacts extends RevisionEntry {
  readonly token: string;
}

/** The write that appends a run to the history. Its changes are stored as the objects were: secrets encrypted. */
export async function revisionOperation(
  records: StackRecords,
  changes: RevisionChanges,
  { revision, run, finishedAtMs, changed, complete, status, token }: RevisionFacts,
): Promise<BatchOperation> {
  const content: Content = inlineContent(RevisionChanges.encode(changes).finish());
  const objects = changes.changes.flatMap(({ before, after }) =>
    [before ?? [], after ?? []].flat(),
  );
  const blobs = objects.flatMap((object: ObjectMessage) => blobsOf(contentsOf(object)));
  const message = StackRevision.create({
    revision,
    run,
    finishedAtMs: BigInt(finishedAtMs),
    changed: BigInt(changed),
    complete,
    status: status ?? "",
    changes: content,
    blobs: [...new Map(blobs.map((blob) => [blob.sha256, blob])).values()],
  });
  message.changes = content;
  await spillContents(
    [content],
    () => StackRevision.encode(message).finish().length,
    records.blobs,
  );
  const id = memberId(records.reference, STATE_KINDS.revision, revisionMember(revision));
  const bytes = StackRevision.encode(message).finish();
  return { kind: "write", resource: records.resource(id, undefined, bytes, token) };
}

/** What a stored revision says. */
export function revisionEntry(message: StackRevision): RevisionEntry {
  return {
    revision: message.revision,
    run: message.run,
    finishedAtMs: Number(message.finishedAtMs),
    changed: Number(message.changed),
    complete: message.complete,
    status: applyStatusOf(message.status),
  };
}

/** The changes of a stored revision. */
export async function revisionChanges(
  records: StackRecords,
  message: StackRevision,
  options?: CallOptions,
): Promise<readonly RevisionChange[]> {
  const bytes = await loadContent(message.changes, records.blobs);
  const { changes } = RevisionChanges.decode(bytes);
  const before = await records.decodeObjects(
    changes.map((change) => change.before),
    options,
  );
  const after = await records.decodeObjects(
    changes.map((change) => change.after),
    options,
  );
  return changes.flatMap((_change, position) => {
    const [old, present] = [before[position], after[position]];
    const object = present ?? old;
    if (object === undefined) return [];
    return {
      address: object.address,
      deposed: object.deposed,
      ...(old === undefined ? {} : { before: old }),
      ...(present === undefined ? {} : { after: present }),
    };
  });
}
