import type { Freeze, StackLock } from "@stackwright/proto/stackwright";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isThawed } from "../queue/freeze.ts";
import { isOver } from "../queue/stack-lock.ts";
import { DAY_MS, type DoctorParts } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";

const LOCK_MS = DAY_MS;

/** The locks and freezes of an account that have not ended. */
export class StackHolds {
  readonly #locks: ReadonlyMap<string, StackLock>;
  readonly #freezes: ReadonlyMap<string, Freeze>;

  constructor(locks: ReadonlyMap<string, StackLock>, freezes: ReadonlyMap<string, Freeze>) {
    this.#locks = locks;
    this.#freezes = freezes;
  }

  /** Who locked a stack. */
  lockOf(project: string, stack: string): string | undefined {
    const lock = this.#locks.get(`${project}/${stack}`);
    return lock && lockText(lock);
  }

  /** Who froze a stack or its project. */
  freezeOf(project: string, stack: string): string | undefined {
    const freeze =
      this.#freezes.get(`${project}/${stack}`) ?? this.#freezes.get(`${project}/project`);
    return freeze && `frozen by ${withReason(freeze)}`;
  }
}

export async function readHolds({ records, nowMs }: DoctorParts): Promise<StackHolds> {
  const locks = await records.list(SERVER_KINDS.lock);
  const freezes = await records.list(SERVER_KINDS.freeze);
  return new StackHolds(
    byStack(locks.filter(({ message }) => !isOver(message, nowMs))),
    byStack(freezes.filter(({ message }) => !isThawed(message, nowMs))),
  );
}

/** Locks that are held for long, whether a run waits for them or not. */
export async function lockFindings({
  records,
  nameOf,
  nowMs,
}: DoctorParts): Promise<readonly Finding[]> {
  return (await records.list(SERVER_KINDS.lock)).flatMap(({ project, owner, message }) => {
    const sinceMs = Number(message.atMs);
    if (isOver(message, nowMs) || nowMs - sinceMs < LOCK_MS) return [];
    return finding("lock_held", lockText(message), {
      project,
      stack: nameOf(project, owner),
      sinceMs,
    });
  });
}

export function byStack<M>(
  records: readonly { readonly project: string; readonly owner: string; readonly message: M }[],
): ReadonlyMap<string, M> {
  return new Map(records.map(({ project, owner, message }) => [`${project}/${owner}`, message]));
}

function lockText(lock: StackLock): string {
  const { terraform } = lock;
  const by =
    terraform === undefined
      ? withReason(lock)
      : `${terraform.who} (${terraform.operation}, lock ${terraform.id})`;
  return `locked by ${by}`;
}

function withReason({
  actor,
  reason,
}: {
  readonly actor: string;
  readonly reason: string;
}): string {
  return reason === "" ? actor : `${actor}: ${reason}`;
}
