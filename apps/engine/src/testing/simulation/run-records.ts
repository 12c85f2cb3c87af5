import {
  Fence,
  Freeze,
  PlanSet,
  Project,
  Run,
  Run_Mode,
  RunLog,
  RunLogSegment,
  RunTicket,
  RunTrigger,
  Schedule,
  Stack,
  StackDeletion,
  StackHead,
  StackLock,
  StackOutputs,
  StackQueue,
} from "@stackwright/proto/stackwright";
import { type StorageBackend, WILDCARD } from "@stackwright/storage";
import { STACK_KIND } from "../../domain/run-places.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import type { SimRequest } from "./sim-request.ts";
import type { CommittedWrite } from "./sim-store.ts";
import type { SimWorld } from "./sim-world.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

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
  readonly schedules = new Table(Schedule);
  readonly triggers = new Table(RunTrigger);
  readonly outputs = new Table(StackOutputs);
  readonly sets = new Table(PlanSet);
  /** By their names, which no two stacks of a simulation share. */
  readonly stacks = new Table(Stack);
  readonly deletions = new Table(StackDeletion);
  /** What requested runs without a user, by run. */
  readonly sources = new Map<string, Schedule | RunTrigger>();
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

  /** Takes over what is stored before anything happens. */
  async read(storage: StorageBackend): Promise<void> {
    for (const [kind, table] of [
      [SERVER_KINDS.project, this.projects],
      [SERVER_KINDS.schedule, this.schedules],
      [SERVER_KINDS.trigger, this.triggers],
      [STACK_KIND, this.stacks],
    ] as const) {
      for (const resource of await storage.list("strong", kind.type, ANYWHERE, "")) {
        const { name, tenancy } = resource.id;
        table.take({ kind: kind.type.kind, name, tenancy, resource });
      }
    }
  }

  /** The schedule or the trigger that requested a run; undefined for one of a user. */
  sourceOf({ id }: Run): Schedule | RunTrigger | undefined {
    return this.sources.get(id);
  }

  /** The first stage of the chain that a run is of: the run itself where it has none before it. */
  firstStageOf(run: Run): Run {
    const before = this.runs.get(run.stage?.previous ?? "");
    return before === undefined ? run : this.firstStageOf(before);
  }

  /** The runs of the set of this name that were requested. */
  runsOfSet(name: string): readonly Run[] {
    const { members = [] } = this.sets.rows.get(name) ?? {};
    return members.flatMap(({ run }) => this.runs.get(run) ?? []);
  }

  /** The plan set of a run. */
  setOf({ planSet }: Run): PlanSet | undefined {
    return [...this.sets.rows.values()].find(({ id }) => id === planSet);
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
