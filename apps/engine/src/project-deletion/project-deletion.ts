import type { Logger } from "@stackwright/base/logger";
import { ENGINE_KINDS } from "@stackwright/core";
import type { RoleBinding } from "@stackwright/proto/stackwright";
import {
  type DamagedResource,
  type Guard,
  isStorageError,
  listResourceHeads,
  type ResourceHead,
  type ResourceId,
  type ResourceType,
  readStored,
  type StorageBackend,
  type Tenancy,
  WILDCARD,
} from "@stackwright/storage";
import { bindingPlace, type SubjectKind } from "../access/access-places.ts";
import { projectHasStacks } from "../access/known-projects.ts";
import { listBindings } from "../access/remove-bindings.ts";
import {
  isOfProject,
  KINDS_OF_PROJECTS,
  type ProjectPlace,
  projectDeletionPlace,
} from "../domain/kinds-of-projects.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { countPlace, orderWithCreations } from "../queue/require-room.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";

// Invariants:
// - While the record of a deletion is there, a transaction that makes something in the project fails: a stack, what users set, a role.
//   So what is listed after the record was written is all that there is, and a project of the name that comes later begins with nothing.
// - The record says `decided` in the step that removes the settings, at a time without stacks, and that writes the audit trail. Before that
//   the deletion may be taken back, which any server does where its request was interrupted: no other one knows what its user has seen.
//   After it the project is gone for everybody, and the rest is removed by whichever server comes first.
// - The record goes last.

const KIND = SERVER_KINDS.projectDeletion;
const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
/** Ids of stacks. The data keys of a project itself have other names. */
const STACK_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
/** How often all is looked for again, as work that began before may have written meanwhile. */
const PASSES = 5;
/** How often a resource that others write is looked for again. */
const ATTEMPTS = 5;
/** A resource is not what it was. */
const GONE = ["STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID"] as const;
/** How long the request of a deletion has to decide it. */
const UNDECIDED_MS = 60_000;

type DeletionParts = TransactionParts & { readonly logger?: Logger | undefined };

/** What came of a decision: the project is gone, has stacks, or its deletion is not under way any more. */
type Decision = "decided" | "not_empty" | "absent";

/** Takes a project away, unless it has stacks by now. `requireMatch` refuses a generation of its settings. */
export async function decideDeletion(
  parts: TransactionParts,
  project: ProjectPlace,
  requireMatch: (generation: string) => void,
): Promise<Decision> {
  const { tenancy } = projectPlace(project);
  return transact(parts, async (tx) => {
    const row = await tx.find(KIND, projectDeletionPlace(project));
    if (row === undefined) return "absent";
    if (row.message.decided) return "decided";
    if (await projectHasStacks(parts.storage, project)) return "not_empty";
    const settings = await tx.find(SERVER_KINDS.project, projectPlace(project));
    if (settings !== undefined) {
      requireMatch(settings.resource.generation);
      tx.remove(settings);
    }
    // Who gives a role that was read before this begins again, and finds no project.
    await orderWithCreations(tx, { kind: SERVER_KINDS.roleBinding, tenancy });
    tx.update(row, { decided: true });
    return "decided";
  });
}

/** Takes a deletion back that is not decided. */
export async function takeBackDeletion(
  parts: TransactionParts,
  project: ProjectPlace,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.find(KIND, projectDeletionPlace(project));
    if (row !== undefined && !row.message.decided) tx.remove(row);
  });
}

/** Removes what belongs to a project whose deletion is decided, and then the record of it. What an interruption leaves is removed by {@link finishProjectDeletions}. */
export async function finishProjectDeletion(
  parts: DeletionParts,
  project: ProjectPlace,
): Promise<void> {
  const record = await readStored(
    parts.storage,
    "strong",
    idOf(KIND, projectDeletionPlace(project)),
  );
  if (record === undefined || !decodeRecord(KIND, record).decided) return;
  const guard = { id: record.id, version: record.version };
  try {
    for (let pass = 0; pass < PASSES; pass += 1) {
      if ((await removeAll(parts, project, guard)) === 0) break;
    }
    await parts.storage.batch([{ kind: "delete", ...guard }]);
  } catch (error) {
    // Another server has finished it.
    if (!isStorageError(error, "STORAGE_GUARD_FAILED", ...GONE)) throw error;
  }
}

/** Finishes the deletions of all projects that were interrupted, and takes those back that were not decided. Resolves with the number of projects that are gone. */
export async function finishProjectDeletions(
  parts: DeletionParts,
  signal?: AbortSignal,
): Promise<number> {
  const { storage, clock, logger } = parts;
  let finished = 0;
  const onDamaged = logDamaged(logger);
  const deletions = await listReadable(storage, KIND, ANYWHERE, { signal, onDamaged });
  for (const { id, message } of deletions) {
    signal?.throwIfAborted();
    const project = { account: id.tenancy.partition, project: id.name };
    try {
      const { atMs, decided } = message;
      if (decided) {
        await finishProjectDeletion(parts, project);
        finished += 1;
      } else if (clock.wallMs() - Number(atMs) >= UNDECIDED_MS) {
        await takeBackDeletion(parts, project);
      }
    } catch (error) {
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      logger?.error({ ...project, err: error }, "the deletion of a project could not be finished");
    }
  }
  return finished;
}

/** Whether anything belongs to a project beside its settings and its stacks. */
export async function hasRemains(
  parts: Pick<DeletionParts, "storage" | "logger">,
  { account, project }: ProjectPlace,
): Promise<boolean> {
  const { storage } = parts;
  const roles = await listBindings(parts, account, (one) => one.project === project);
  if (roles.length > 0) return true;
  const tenancy = projectTenancy({ account, project });
  for (const kind of KINDS_OF_PROJECTS) {
    for await (const { id } of listResourceHeads(storage, "strong", kind, tenancy, "")) {
      if (isOfProject(id)) return true;
    }
  }
  return false;
}

/** Resolves with the number of resources. `STORAGE_GUARD_FAILED` once the record of the deletion is gone: all that is there then is of another project. */
async function removeAll(parts: DeletionParts, place: ProjectPlace, guard: Guard): Promise<number> {
  const { storage } = parts;
  const { project } = place;
  const tenancy = projectTenancy(place);
  const { tenancy: ofAccount } = projectPlace(place);
  const remove = async (
    type: ResourceType,
    at: Tenancy,
    isChosen: (id: ResourceId) => boolean,
  ): Promise<number> => removeGuarded(storage, { type, tenancy: at, isChosen, guard });
  // What is secret first: without its keys the rest is not readable. Then what lets others in.
  let removed = await remove(engineKind("StackKeys"), tenancy, ({ name }) => !STACK_ID.test(name));
  const bindings = await listBindings(parts, place.account, (one) => one.project === project);
  const roles = new Set(bindings.map((one) => nameOf(place, one)));
  removed += await remove(SERVER_KINDS.roleBinding.type, ofAccount, ({ name }) => roles.has(name));
  for (const kind of KINDS_OF_PROJECTS) removed += await remove(kind, tenancy, isOfProject);
  // A command that works on the store alone may have made a stack since.
  if (!(await projectHasStacks(storage, place))) {
    removed += await remove(engineKind("StackLineage"), tenancy, () => true);
  }
  const counts = new Set(KINDS_OF_PROJECTS.map((kind) => countPlace(kind, tenancy, "").name));
  const { type: count } = SERVER_KINDS.creationCount;
  removed += await remove(count, ofAccount, ({ name }) => counts.has(name));
  return removed + (await forgetReader(parts, place, guard));
}

/** The name of the record of a role in a project. */
function nameOf(place: ProjectPlace, { subjectKind, subject }: RoleBinding): string {
  return bindingPlace({ ...place, kind: subjectKind as SubjectKind, subject }).name;
}

/** Projects that share their outputs with this one do not share them with another one of its name. */
async function forgetReader(
  parts: DeletionParts,
  { account, project }: ProjectPlace,
  guard: Guard,
): Promise<number> {
  const { tenancy } = projectPlace({ account, project });
  // Settings that are damaged share nothing.
  const onDamaged = logDamaged(parts.logger);
  let changed = 0;
  for (const { id, message } of await listReadable(parts.storage, SERVER_KINDS.project, tenancy, {
    onDamaged,
  })) {
    if (!message.outputsSharedWith.includes(project)) continue;
    changed += 1;
    await transact(parts, async (tx) => {
      tx.guard(guard);
      const row = await tx.find(SERVER_KINDS.project, { tenancy, name: id.name });
      const shared = row?.message.outputsSharedWith ?? [];
      if (row === undefined || !shared.includes(project)) return;
      tx.update(row, { outputsSharedWith: shared.filter((one) => one !== project) });
    });
  }
  return changed;
}

/** Removes the resources of a kind in one place that are chosen, as long as a guard holds. */
async function removeGuarded(
  storage: StorageBackend,
  {
    type,
    tenancy,
    isChosen,
    guard,
  }: {
    readonly type: ResourceType;
    readonly tenancy: Tenancy;
    readonly isChosen: (id: ResourceId) => boolean;
    readonly guard: Guard;
  },
): Promise<number> {
  let removed = 0;
  for (let attempt = 1; ; attempt += 1) {
    let isMissed = false;
    const remove = async ({ id, version }: Pick<ResourceHead, "id" | "version">): Promise<void> => {
      if (!isChosen(id)) return;
      try {
        await storage.batch([{ kind: "delete", id, version }], { guards: [guard] });
        removed += 1;
      } catch (error) {
        // It was written meanwhile.
        if (!isStorageError(error, ...GONE) || attempt >= ATTEMPTS) throw error;
        isMissed = true;
      }
    };
    const damaged: DamagedResource[] = [];
    const options = { onDamaged: (one: DamagedResource) => damaged.push(one) };
    const heads = listResourceHeads(storage, "strong", type, tenancy, "", options);
    for await (const head of heads) await remove(head);
    for (const { id, version } of damaged) await remove({ id: { ...id, type }, version });
    if (!isMissed) return removed;
  }
}

/** A kind of `@stackwright/core`. */
function engineKind(kind: string): ResourceType {
  if (!ENGINE_KINDS.includes(kind))
    throw new Error(`${kind} is missing among the kinds of the engine`);
  return { group: "stackwright", groupVersion: "v1", kind };
}
