import { randomUUID } from "node:crypto";
import { Freeze } from "@stackwright/proto/stackwright";
import { type Resource, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { typeUrlOf } from "../domain/record-kind.ts";
import { RUN_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { freezePlace } from "../queue/freeze.ts";
import { idOf } from "../queue/transaction.ts";
import { readableRecord, readableRecords } from "../retention/expired-records.ts";

/** Who froze what was restored: its freezes differ by it from those of users. */
export const RESTORE_ACTOR = "admin restore";

/** A project as a command names it. */
export interface ProjectName {
  readonly account: string;
  readonly project: string;
}

/** Records from which a server makes runs, or has made some: a project that has none of them is worked on by commands alone. */
const OF_SERVER_RUNS: ReadonlySet<string> = new Set(
  [SERVER_KINDS.queue, SERVER_KINDS.configuration, SERVER_KINDS.vcsConnection].map(
    ({ type }) => type.kind,
  ),
);

/**
 * What a restore changes of a backup, in the step in which the store appears, so that servers may open it: the world may be newer than what it says.
 * Every project with runs of a server is frozen: plans are made and can be compared, and none is applied before `thawRestored`. A freeze of a user that
 * has no end stays as it is; one that has an end, which may have come, is replaced. No run may pass a freeze any more because an administrator let it
 * pass before. All logins to the console are left out, as some may have been ended since.
 */
export class RestoredStore {
  readonly #reason: string;
  readonly #atMs: number;
  /** By account and project. */
  readonly #projects = new Map<string, ProjectName>();
  readonly #frozen = new Set<string>();
  #logins = 0;

  constructor(given: { readonly reason: string; readonly atMs: number }) {
    this.#reason = given.reason;
    this.#atMs = given.atMs;
  }

  /** A resource of the backup as it is restored; undefined for one that is left out. */
  resource(resource: Resource): Resource | undefined {
    const { type, tenancy, name } = resource.id;
    const project = { account: tenancy.partition, project: tenancy.namespace };
    if (type.group !== SERVER_KINDS.queue.type.group) return resource;
    if (type.kind === SERVER_KINDS.loginSession.type.kind) {
      this.#logins += 1;
      return undefined;
    }
    if (type.kind === RUN_KIND.type.kind) return withoutOverride(resource);
    if (OF_SERVER_RUNS.has(type.kind)) this.#projects.set(keyOf(project), project);
    const isFreeze = type.kind === SERVER_KINDS.freeze.type.kind;
    if (!isFreeze || name !== freezePlace(project).name) return resource;
    if (stays(resource)) {
      this.#frozen.add(keyOf(project));
      return resource;
    }
    this.#projects.set(keyOf(project), project);
    return undefined;
  }

  /** The freezes, once all of the backup was given. */
  *added(): Generator<Resource, undefined> {
    const kind = SERVER_KINDS.freeze;
    for (const project of this.projects) {
      const message = Freeze.create({
        actor: RESTORE_ACTOR,
        reason: this.#reason,
        atMs: BigInt(Math.floor(this.#atMs)),
      });
      yield {
        id: { ...idOf(kind, freezePlace(project)), uid: randomUUID() },
        version: "",
        generation: randomUUID(),
        metadata: {},
        status: {},
        data: { typeUrl: typeUrlOf(kind.type), value: kind.codec.encode(message).finish() },
      };
    }
  }

  /** What is frozen by the restore. */
  get projects(): readonly ProjectName[] {
    return [...this.#projects.values()].filter((project) => !this.#frozen.has(keyOf(project)));
  }

  /** How many logins were left out. */
  get logins(): number {
    return this.#logins;
  }
}

/** Ends the freezes of a {@link RestoredStore}, of all accounts or of one; those of users stay. Resolves with the projects. */
export async function thawRestored(
  storage: StorageBackend,
  {
    account = WILDCARD,
    signal,
  }: { readonly account?: string | undefined; readonly signal: AbortSignal },
): Promise<readonly ProjectName[]> {
  const thawed: ProjectName[] = [];
  const freezes = readableRecords(storage, SERVER_KINDS.freeze, signal);
  for await (const { id, version, message } of freezes) {
    const { partition, namespace } = id.tenancy;
    const isAsked = account === WILDCARD || partition === account;
    if (message.actor !== RESTORE_ACTOR || !isAsked) continue;
    await storage.deleteCAS(id, version);
    thawed.push({ account: partition, project: namespace });
  }
  return thawed;
}

/** Whether a freeze in a backup is kept. One that cannot be read is no freeze that this release made. */
function stays(resource: Resource): boolean {
  const freeze = readableRecord(SERVER_KINDS.freeze, resource);
  return freeze === undefined || (freeze.untilMs === 0n && freeze.actor !== RESTORE_ACTOR);
}

function withoutOverride(resource: Resource): Resource {
  const run = readableRecord(RUN_KIND, resource);
  if (run?.freezeOverride === undefined) return resource;
  const value = RUN_KIND.codec.encode({ ...run, freezeOverride: undefined }).finish();
  return { ...resource, data: { typeUrl: typeUrlOf(RUN_KIND.type), value } };
}

function keyOf({ account, project }: ProjectName): string {
  return `${account}\0${project}`;
}
