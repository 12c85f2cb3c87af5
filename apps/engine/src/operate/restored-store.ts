import { randomUUID } from "node:crypto";
import { Freeze } from "@stackwright/proto/stackwright";
import { type Resource, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { typeUrlOf } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { freezePlace } from "../queue/freeze.ts";
import { idOf } from "../queue/transaction.ts";
import { readableRecords } from "../retention/expired-records.ts";

/** Who froze what was restored: its freezes differ by it from those of users. */
const RESTORE_ACTOR = "admin restore";

/** A project as a command names it. */
interface ProjectName {
  readonly account: string;
  readonly project: string;
}

/**
 * What a restore changes of a backup, in the step in which the store appears, so that servers may open it: the world may be newer than what it says.
 * Every project with runs of a server is frozen: plans are made and can be compared, and none is applied before `thawRestored`. All logins to the console
 * are left out, as some may have been ended since. A freeze of a user stays as it is.
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
    if (type.kind === SERVER_KINDS.queue.type.kind) this.#projects.set(keyOf(project), project);
    const isFreeze = type.kind === SERVER_KINDS.freeze.type.kind;
    if (isFreeze && name === freezePlace(project).name) this.#frozen.add(keyOf(project));
    return resource;
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

function keyOf({ account, project }: ProjectName): string {
  return `${account}\0${project}`;
}
