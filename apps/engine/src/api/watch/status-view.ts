import type { StackStatus } from "../../live/stack-status.ts";

/** A run as a status has it. */
interface StatusRunView {
  readonly id: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: string;
  /** Of its last change, in RFC 3339. */
  readonly at: string;
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
  readonly outdated: readonly string[];
  readonly reads: readonly string[];
}

export function statusViewOf(status: StackStatus): StackStatusView {
  const { id, project, name, current, waiting, newest, lock, outdated, reads } = status;
  return {
    id,
    project,
    name,
    ...(current !== undefined && { current: runOf(current) }),
    waiting,
    ...(newest !== undefined && { newest: runOf(newest) }),
    ...(lock !== undefined && { lock }),
    outdated,
    reads,
  };
}

function runOf({
  id,
  number,
  phase,
  updatedAtMs,
}: NonNullable<StackStatus["current"]>): StatusRunView {
  return { id, number, phase, at: new Date(updatedAtMs).toISOString() };
}
