import { StorageError } from "../../errors.ts";
import { writeTimeMs } from "../write-time.ts";
import type { Connections } from "./connections.ts";
import { OtherWriters } from "./other-writers.ts";
import { byteaArray, numberArray, textArray, type WriteStep } from "./rows.ts";

/** Requests and bytes of one transaction; what is beyond waits for the next. */
const GROUP_REQUESTS = 128;
const GROUP_BYTES = 4 * 1024 * 1024;

/** Groups from this size on ask the server for more time, which costs two round trips. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** Transactions under way: while the server syncs one, the next is on its way. */
const GROUPS = 2;

/**
 * The same beside other instances: their transactions keep the server busy, so what comes meanwhile is worth more in one
 * transaction than in several that wait for the lock of the writers.
 */
const GROUPS_BESIDE_OTHERS = 1;

const TYPES = [
  "integer",
  "smallint",
  "text",
  "text",
  "text",
  "text",
  "text",
  "text",
  "text",
  "text",
  "bytea",
  "bytea",
];
const PARAMETERS = TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(", ");

// Of one text each: the library builds a query from parts anew each time.
const CALL_ALONE = `CALL write_alone(${PARAMETERS}, NULL)`;
const CALL_GROUP = `CALL write_group(${PARAMETERS}, NULL)`;
const APPLY_LARGE = `SELECT p_outcome FROM apply_group(${PARAMETERS})`;

/** What became of a request: revisions per step (`undefined`: no effect), or the refused step. */
export type WriteOutcome =
  | { readonly kind: "applied"; readonly revisions: ReadonlyMap<number, number> }
  | { readonly kind: "refused"; readonly step: number; readonly reason: 2 | 3 | 4 };

/** What a transaction has added to the history, roughly. */
interface Written {
  readonly events: number;
  readonly bytes: number;
  /** The last of its revisions. */
  readonly revision: number;
  /** Whether an instance may listen for it. */
  readonly heard: boolean;
}

interface Queued {
  readonly steps: readonly WriteStep[];
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (outcome: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
}

interface OutcomeRow {
  readonly step: number;
  readonly outcome: number;
  readonly at_revision: number | null;
}

interface OutcomeText {
  readonly p_outcome: string | null;
}

/** What the functions give: an array for each step that has an outcome, and for the step 0 whether an instance listens. */
function toRows(json: string): readonly OutcomeRow[] {
  const rows = JSON.parse(json) as readonly (readonly [number, number, number | null])[];
  return rows.map(([step, outcome, at_revision]) => ({ step, outcome, at_revision }));
}

/**
 * Merges concurrent write requests into transactions. Commits are in one order for the whole store,
 * so what a write costs is its share of a round trip and of a sync of the log; a lone writer does
 * not wait.
 */
export class WriteGroups {
  readonly #connections: Connections;
  readonly #onCommit: (written: Written) => void;
  readonly #others = new OtherWriters();
  #queue: Queued[] = [];
  /** How many of those that run take further requests. */
  #taking = 0;
  readonly #running = new Set<Promise<void>>();

  /** `onCommit` is called after each transaction that changed something. */
  constructor(connections: Connections, onCommit: (written: Written) => void) {
    this.#connections = connections;
    this.#onCommit = onCommit;
  }

  /** Applies a request: guards first, then operations, all or nothing. */
  add(steps: readonly WriteStep[]): Promise<WriteOutcome> {
    let bytes = 0;
    for (const step of steps) bytes += step.body?.length ?? 0;
    const deadline = performance.now() + writeTimeMs(this.#connections.options.timeoutMs, bytes);
    return new Promise((resolve, reject) => {
      this.#queue.push({ steps, bytes, deadline, resolve, reject });
      if (this.#taking >= this.#groups) return;
      this.#taking += 1;
      const running = this.#run();
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    });
  }

  /** Resolves when nothing is queued or under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  get #groups(): number {
    return this.#others.active && this.#queue.length <= GROUP_REQUESTS
      ? GROUPS_BESIDE_OTHERS
      : GROUPS;
  }

  async #run(): Promise<void> {
    // Requests of the same turn travel together from the first group on.
    await Promise.resolve();
    while (this.#queue.length > 0 && this.#taking <= this.#groups) {
      const group = this.#takeGroup();
      if (group.length === 0) continue;
      try {
        await this.#apply(group);
      } catch (error) {
        for (const queued of group) queued.reject(error);
      }
    }
    this.#taking -= 1;
  }

  #takeGroup(): Queued[] {
    const now = performance.now();
    const group: Queued[] = [];
    let bytes = 0;
    while (group.length < GROUP_REQUESTS && (group.length === 0 || bytes < GROUP_BYTES)) {
      const queued = this.#queue.shift();
      if (queued === undefined) break;
      if (queued.deadline < now) {
        queued.reject(
          new StorageError("STORAGE_INCONSISTENT", "the write had no turn before its deadline", {
            details: { outcome: "not-applied" },
          }),
        );
        continue;
      }
      bytes += queued.bytes;
      group.push(queued);
    }
    return group;
  }

  async #apply(group: readonly Queued[]): Promise<void> {
    const steps = group.flatMap((queued) => queued.steps);
    const requests = group.flatMap((queued, index) => queued.steps.map(() => index));
    const size = group.reduce((sum, queued) => sum + queued.bytes, 0);
    const timeoutMs = writeTimeMs(this.#connections.options.timeoutMs, size);
    const texts = (value: (step: WriteStep) => string) => textArray(steps.map(value));
    const parameters = [
      numberArray(requests),
      numberArray(steps.map((step) => step.kind)),
      texts((step) => step.id.type.group),
      texts((step) => step.id.type.kind),
      texts((step) => step.id.tenancy.partition),
      texts((step) => step.id.tenancy.peerName),
      texts((step) => step.id.tenancy.namespace),
      texts((step) => step.id.name),
      texts((step) => step.id.uid),
      texts((step) => step.expected),
      byteaArray(steps.map((step) => step.owner)),
      byteaArray(steps.map((step) => step.body)),
    ];
    const rows = await this.#connections.run(
      "write",
      async (sql): Promise<readonly OutcomeRow[]> => {
        if (size < LARGE_BYTES) {
          const call = this.#others.active ? CALL_GROUP : CALL_ALONE;
          const [row] = await sql.unsafe<OutcomeText[]>(call, parameters, { prepare: true });
          return toRows(row?.p_outcome ?? "[]");
        }
        // The statements of a connection have the time of a small write; a large one says so, in a transaction of its own,
        // whose commit waits for the log with the lock held.
        return sql.begin(async (transaction) => {
          const time = String(Math.ceil(timeoutMs * 0.8));
          await transaction`
            SELECT set_config('statement_timeout', ${time}, true),
              set_config('lock_timeout', ${time}, true)`;
          const [row] = await transaction.unsafe<OutcomeText[]>(APPLY_LARGE, parameters, {
            prepare: true,
          });
          const outcome = toRows(row?.p_outcome ?? "[]");
          if (outcome.every(({ at_revision }) => at_revision === null)) {
            // A commit without changes waits for nothing, and a refusal may have seen commits that are not on disk.
            await transaction`SELECT pg_logical_emit_message(true, 'stackwright', '')`;
          }
          return outcome;
        });
      },
      timeoutMs,
    );
    const revisions = rows.flatMap((row) => row.at_revision ?? []);
    const events = revisions.length;
    if (events > 0) {
      const revision = revisions.at(-1) as number;
      // A group writes one revision after the other, from the first step to the last.
      this.#others.wrote(revisions[0] as number, revision);
      // Roughly: what was refused is counted too, and the body of what was deleted counted when it was written.
      this.#onCommit({ events, bytes: size, revision, heard: isHeard(rows) });
    }
    let first = 1;
    for (const queued of group) {
      queued.resolve(toOutcome(rows, first, queued.steps));
      first += queued.steps.length;
    }
  }
}

/** Whether a commit has to be announced; a large one does not say. */
function isHeard(rows: readonly OutcomeRow[]): boolean {
  return rows.find(({ step }) => step === 0)?.outcome !== 0;
}

function toOutcome(
  rows: readonly OutcomeRow[],
  first: number,
  steps: readonly WriteStep[],
): WriteOutcome {
  const revisions = new Map<number, number>();
  let answered = 0;
  for (const row of rows) {
    if (row.step < first || row.step >= first + steps.length) continue;
    const step = row.step - first;
    if (row.outcome >= 2) return { kind: "refused", step, reason: row.outcome as 2 | 3 | 4 };
    answered += 1;
    if (row.at_revision !== null) revisions.set(step, row.at_revision);
  }
  const operations = steps.filter((step) => step.kind !== 0).length;
  if (answered === operations) return { kind: "applied", revisions };
  throw new StorageError("STORAGE_INCONSISTENT", "the answer of the server is not complete", {
    details: { outcome: "unknown" },
  });
}
