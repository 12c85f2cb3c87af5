import { type Static, Type } from "typebox";
import type { StackDriftStatus, StackStatus } from "../../live/stack-status.ts";
import type { Visible } from "./topic.ts";

/** A run as a status has it. */
interface StatusRunView {
  readonly id: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: string;
  /** Of its last change, in RFC 3339. */
  readonly at: string;
  /** Why a server noted its step as stuck: no worker takes it, or nothing is heard of it. */
  readonly stuck?: "unclaimed" | "silent";
}

/** What the last check for drift found. */
export const StatusDrift = Type.Object(
  {
    changed: Type.Integer(),
    deleted: Type.Integer(),
    ignored: Type.Optional(
      Type.Integer({ description: "objects that differ and are ignored; absent if none" }),
    ),
    checked_at: Type.Optional(
      Type.String({ description: "when the check ended; absent before the first one" }),
    ),
    since: Type.Optional(Type.String({ description: "since when there is drift" })),
    run: Type.Optional(Type.String({ description: "the run of the check" })),
    problem: Type.Optional(Type.String()),
  },
  { title: "DriftStatus" },
);

/** What keeps plans from being applied. */
interface StatusFreezeView {
  readonly actor: string;
  readonly reason: string;
  readonly of: "project" | "stack";
  readonly at: string;
  /** When it ends by itself. */
  readonly until?: string;
}

/** A status as the API shows it: an object of the events of the topic `stacks`. */
interface StackStatusView {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly current?: StatusRunView;
  readonly waiting: number;
  readonly newest?: StatusRunView;
  readonly lock?: { readonly actor: string; readonly reason: string };
  readonly freeze?: StatusFreezeView;
  readonly drift?: Static<typeof StatusDrift>;
  readonly outdated: readonly string[];
  readonly reads: readonly string[];
  /** PROJECT/NAME of stacks further up that are outdated themselves. */
  readonly behind?: readonly string[];
}

/**
 * A status without the stacks further up that a reader does not see: those that it reads itself are in its configuration, what these read is
 * not.
 */
export function statusFor(status: StackStatus, isVisible: Visible): StackStatus {
  const behind = status.behind.filter((place) => {
    const slash = place.indexOf("/");
    const [project, stack] = [place.slice(0, slash), place.slice(slash + 1)];
    return isVisible({ account: status.account, project, stack });
  });
  return behind.length === status.behind.length ? status : { ...status, behind };
}

export function statusViewOf(status: StackStatus): StackStatusView {
  const { id, project, name, current, waiting, newest, lock, freeze, drift } = status;
  const { outdated, reads, behind } = status;
  return {
    id,
    project,
    name,
    ...(current !== undefined && { current: runOf(current) }),
    waiting,
    ...(newest !== undefined && { newest: runOf(newest) }),
    ...(lock !== undefined && { lock }),
    ...(freeze !== undefined && { freeze: freezeOf(freeze) }),
    ...(drift !== undefined && { drift: statusDriftOf(drift) }),
    outdated,
    reads,
    ...(behind.length > 0 && { behind }),
  };
}

function runOf({
  id,
  number,
  phase,
  updatedAtMs,
  stuck,
}: NonNullable<StackStatus["current"]>): StatusRunView {
  const at = new Date(updatedAtMs).toISOString();
  return { id, number, phase, at, ...(stuck !== undefined && { stuck }) };
}

function freezeOf(freeze: NonNullable<StackStatus["freeze"]>): StatusFreezeView {
  const { actor, reason, atMs, untilMs, ofProject } = freeze;
  return {
    actor,
    reason,
    of: ofProject ? "project" : "stack",
    at: new Date(atMs).toISOString(),
    ...(untilMs !== 0 && { until: new Date(untilMs).toISOString() }),
  };
}

export function statusDriftOf(drift: StackDriftStatus): Static<typeof StatusDrift> {
  const { changed, deleted, ignored, checkedAtMs, sinceMs, run, problem } = drift;
  return {
    changed,
    deleted,
    ...(ignored !== 0 && { ignored }),
    ...(checkedAtMs !== 0 && { checked_at: new Date(checkedAtMs).toISOString() }),
    ...(sinceMs !== 0 && { since: new Date(sinceMs).toISOString() }),
    ...(run !== "" && { run }),
    ...(problem !== "" && { problem }),
  };
}
