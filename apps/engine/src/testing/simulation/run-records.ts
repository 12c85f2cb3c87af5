import {
  Fence,
  Freeze,
  Project,
  Run,
  Run_Mode,
  RunLog,
  RunLogSegment,
  RunTicket,
  StackHead,
  StackLock,
  StackQueue,
} from "@stackwright/proto/stackwright";
import type { SimRequest } from "./sim-request.ts";
import type { CommittedWrite } from "./sim-store.ts";
import type { SimWorld } from "./sim-world.ts";

/** Records of a kind by name. */
interface Codec<M> {
  decode(bytes: Uint8Array): M;
}

class Table<M> {
  readonly rows = new Map<string, M>();
  readonly #codec: Codec<M>;

  constructor(codec: Codec<M>) {
    this.#codec = codec;
  }

  take({ resource, ...write }: CommittedWrite, name = write.name): void {
    if (resource === undefined) this.rows.delete(name);
    else this.rows.set(name, this.#codec.decode(resource.data?.value ?? new Uint8Array()));
  }
}

/** What the second opinion has seen stored, what users asked for, and what it found wrong. */
export class RunRecords {
  readonly violations: string[] = [];
  /** One line for each transition. */
  readonly trace: string[] = [];
  readonly runs = new Map<string, Run>();
  readonly runTable = new Table(Run);
  readonly tickets = new Table(RunTicket);
  readonly queues = new Table(StackQueue);
  readonly locks = new Table(StackLock);
  readonly freezes = new Table(Freeze);
  readonly heads = new Table(StackHead);
  readonly projects = new Table(Project);
  readonly fences = new Table(Fence);
  readonly logs = new Table(RunLog);
  readonly segments = new Table(RunLogSegment);
  readonly world: SimWorld;
  readonly requests: ReadonlyMap<string, SimRequest>;
  readonly projectOf: (stack: string) => string;

  constructor(options: {
    readonly world: SimWorld;
    readonly requests: ReadonlyMap<string, SimRequest>;
    readonly projectOf: (stack: string) => string;
  }) {
    this.world = options.world;
    this.requests = options.requests;
    this.projectOf = options.projectOf;
  }

  /** Notes a violation of a rule of `RunModel`. */
  fail(rule: number, text: string): void {
    this.violations.push(`${rule}: ${text}`);
  }

  runsOf(stack: string): Run[] {
    return [...this.runs.values()]
      .filter((run) => run.stack === stack)
      .toSorted((a, b) => Number(a.number - b.number));
  }

  ruleOf(stack: string): Project {
    return this.projects.rows.get(this.projectOf(stack)) ?? Project.create({});
  }

  ticketOf(tickets: ReadonlyMap<string, RunTicket>, run: string): RunTicket | undefined {
    return tickets.get(`default.${run}`);
  }

  short(run: string): string {
    const { stack, number } = this.runs.get(run) ?? {};
    return stack === undefined ? run : `${stack.slice(-1)}#${number}`;
  }

  list(runs: readonly string[]): string {
    return runs.length === 0 ? "empty" : runs.map((run) => this.short(run)).join(" ");
  }
}

export function isPlanOnly({ planOnly, mode }: Run): boolean {
  return planOnly || mode === Run_Mode.MODE_PLAN_ONLY;
}

export function isOn(held: { readonly untilMs: bigint } | undefined, wallMs: number): boolean {
  return held !== undefined && (held.untilMs === 0n || Number(held.untilMs) > wallMs);
}
