import type { RunPhase } from "@stackwright/core";
import { type VcsCommand, VcsPullRequest, type VcsRun } from "@stackwright/proto/stackwright";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { transact } from "../queue/transaction.ts";
import { VcsError } from "./provider/vcs-provider.ts";
import { readShownRun, type ShownRun } from "./shown-run.ts";
import { actorOf, type OpenConnection, type VcsParts } from "./vcs-parts.ts";
import { keyedPlace, pullRequestKey } from "./vcs-places.ts";

/** Phases in which nothing of a run was applied. */
const UNBEGUN: readonly RunPhase[] = [
  "queued",
  "preparing",
  "planning",
  "planned",
  "awaiting_approval",
  "approved",
  "policy_failed",
];

/** What is stored of a pull request, with its runs, and who may do something with it. */
export class PullRequestRecord {
  readonly parts: VcsParts;
  readonly open: OpenConnection;
  readonly id: string;

  constructor(parts: VcsParts, open: OpenConnection, id: string) {
    this.parts = parts;
    this.open = open;
    this.id = id;
  }

  async read(): Promise<VcsPullRequest | undefined> {
    return transact(
      this.parts,
      async (tx) => (await tx.find(SERVER_KINDS.vcsPullRequest, this.#place()))?.message,
    );
  }

  async save(change: (stored: VcsPullRequest) => VcsPullRequest): Promise<VcsPullRequest> {
    return transact(this.parts, async (tx) => {
      const row = await tx.findOrNew(SERVER_KINDS.vcsPullRequest, this.#place(), () =>
        VcsPullRequest.create({
          id: this.id,
          connection: this.open.reference.name,
          createdAtMs: BigInt(tx.nowMs),
        }),
      );
      tx.guard(this.open.guard);
      tx.update(row, { ...change(row.message), updatedAtMs: BigInt(tx.nowMs) });
      return row.message;
    });
  }

  /** The runs of its plans and of its applies. */
  async shown(): Promise<readonly [readonly ShownRun[], readonly ShownRun[]]> {
    const pull = await this.read();
    const read = async (runs: readonly VcsRun[]) =>
      Promise.all(runs.map(async (run) => readShownRun(this.parts, this.open.reference, run)));
    return [await read(pull?.plans ?? []), await read(pull?.applies ?? [])];
  }

  /**
   * Cancels runs that are of no use any more, where nothing was applied yet. One that is being planned would wait for an approval once its plan
   * is there, and keep the stack from all others; one that was approved would be applied as soon as a freeze or a lock ends.
   */
  async cancel(given: readonly VcsRun[]): Promise<void> {
    const actor = actorOf(this.open.reference);
    for (const one of given) {
      const { reference, phase, run } = await readShownRun(this.parts, this.open.reference, one);
      // A second request would end the executor.
      const isAsked = run?.cancel !== undefined;
      if (reference === undefined || phase === undefined || isAsked) continue;
      if (!UNBEGUN.includes(phase)) continue;
      try {
        // A worker may begin to apply it at this moment.
        await cancelRun(this.parts, reference, { actor, phases: UNBEGUN });
      } catch (error) {
        if (!isServerError(error)) throw error;
      }
    }
  }

  /** Whether one of the users who wrote comments may write to the repository. */
  async someMayWrite(commands: readonly VcsCommand[]): Promise<boolean> {
    for (const user of new Set(commands.map((command) => command.user))) {
      if (await this.mayWrite(user)) return true;
    }
    return false;
  }

  /** Whether a user may write to the repository; no where the token may not ask. */
  async mayWrite(user: string): Promise<boolean> {
    const { provider, signal, reference } = this.open;
    try {
      return await provider.mayWrite(user, signal);
    } catch (error) {
      if (!(error instanceof VcsError) || error.status !== 403) throw error;
      const note =
        "The token of the connection is not allowed to read the permissions of users, so comments and reviews do nothing.";
      await this.save((stored) => ({ ...stored, note }));
      this.parts.logger.warn({ connection: reference.name, err: error }, "a comment was left out");
      return false;
    }
  }

  /** Where what is requested now belongs; empty: nowhere. */
  get traceParent(): string {
    return this.parts.traces?.traceParent ?? "";
  }

  /** As people write it. */
  name(): string {
    return /^[0-9]+$/.test(this.id) ? `#${this.id}` : this.id;
  }

  #place() {
    return keyedPlace(this.open.reference, this.open.connection, pullRequestKey(this.id));
  }
}

/** Comments that a pull request remembers: a task has fewer. */
const MAX_HANDLED = 50;

/** What is handled of a pull request, with some comments more. */
export function handledOf({ handled }: VcsPullRequest, commands: readonly VcsCommand[]): string[] {
  const added = commands.map(({ delivery }) => delivery);
  return [...handled, ...added].slice(-MAX_HANDLED);
}

/** Names of users for a comment: as code, so that no user is notified. */
export function usersOf(commands: readonly VcsCommand[]): string {
  const users = new Set(commands.map(({ user }) => user.replaceAll(/[^\w.@-]/g, "")));
  return [...users].map((user) => `\`${user}\``).join(", ");
}
