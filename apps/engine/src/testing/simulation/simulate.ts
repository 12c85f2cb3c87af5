import type { NamedStack, StackReference } from "@stackwright/core";
import {
  createChance,
  createVirtualScheduler,
  type VirtualScheduler,
} from "@stackwright/core/testing";
import {
  ConfigurationVersion,
  Run_Phase as P,
  Project,
  Project_AutoApply,
  Project_Supersede,
  Run_Mode,
  Stack,
} from "@stackwright/proto/stackwright";
import { isStorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { ChangeEntry } from "../../access/change-entry.ts";
import { projectPlace } from "../../domain/project-settings.ts";
import { typeUrlOf } from "../../domain/record-kind.ts";
import { memberPlace, projectTenancy, STACK_KIND } from "../../domain/run-places.ts";
import { isServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { cancelRun } from "../../queue/cancel.ts";
import { approveRun, discardRun } from "../../queue/decide.ts";
import { enqueueRun } from "../../queue/enqueue.ts";
import { freeze, overrideFreeze, unfreeze } from "../../queue/freeze.ts";
import { lockStack, unlockStack } from "../../queue/stack-lock.ts";
import { type TransactionParts, transact } from "../../queue/transaction.ts";
import { RunModel } from "./run-model.ts";
import { ENDS, nameOf } from "./run-phases.ts";
import { RunRecords } from "./run-records.ts";
import type { RunSabotage } from "./sabotage.ts";
import type { SimAction, SimCase } from "./sim-case.ts";
import { SimExecutor } from "./sim-executor.ts";
import { SimProcess, type WriteFault } from "./sim-process.ts";
import type { SimRequest } from "./sim-request.ts";
import { SimServer } from "./sim-server.ts";
import { type SharedStore, SimStore } from "./sim-store.ts";
import { SimWorld } from "./sim-world.ts";

/** What a simulation found. */
interface SimResult {
  readonly violations: readonly string[];
  /** One line for each transition of a run. */
  readonly trace: readonly string[];
  readonly runs: number;
  /** Ends, by their names. */
  readonly ends: ReadonlyMap<string, number>;
  /** Servers and executors that died. */
  readonly deaths: number;
}

const CONFIGURATION = "c".repeat(64);
const ACCOUNT = "acme";
/** Users have stopped by then, and nothing goes wrong any more. */
const CALM_AT_MS = 100_000;
/** Within this time everything comes to rest: longer than ten recoveries with their pauses. */
const REST_MS = 1_200_000;
const LOOK_MS = 10_000;

const SUPERSEDES = [
  Project_Supersede.SUPERSEDE_UNSPECIFIED,
  Project_Supersede.SUPERSEDE_PENDING,
  Project_Supersede.SUPERSEDE_UNAPPROVED,
] as const;
const AUTO_APPLIES = [
  Project_AutoApply.AUTO_APPLY_UNSPECIFIED,
  Project_AutoApply.AUTO_APPLY_NEVER,
  Project_AutoApply.AUTO_APPLY_ALWAYS,
] as const;

/** Runs a case: users and faults, then neither, until nothing moves; then everything is allowed, until all runs have ended. */
export async function simulateRuns(given: SimCase, sabotage: RunSabotage = {}): Promise<SimResult> {
  return new Simulation(given, sabotage).run();
}

class Simulation {
  readonly #given: SimCase;
  readonly #sabotage: RunSabotage;
  readonly #scheduler: VirtualScheduler;
  readonly #world: SimWorld;
  readonly #model: RunModel;
  readonly #shared: SharedStore;
  readonly #requests = new Map<string, SimRequest>();
  readonly #stacks: readonly NamedStack[];
  readonly #servers: SimServer[] = [];
  readonly #starts: number[] = [];
  #deaths = 0;
  #isCalm = false;

  constructor(given: SimCase, sabotage: RunSabotage) {
    this.#given = given;
    this.#sabotage = sabotage;
    const order = createChance(given.seed);
    this.#scheduler = createVirtualScheduler({ pick: (count) => order.below(count) });
    this.#stacks = given.stacks.map((project, index) => ({
      name: `s${index}`,
      reference: {
        account: ACCOUNT,
        project: `p${project}`,
        stack: `01J000000000000000000000S${index}`,
      },
      description: "",
      createdAtMs: 0,
      adoption: undefined,
    }));
    this.#world = new SimWorld((effect) => this.#model.effect(effect));
    this.#model = new RunModel(
      new RunRecords({
        world: this.#world,
        requests: this.#requests,
        projectOf: (stack) =>
          this.#stacks.find(({ reference }) => reference.stack === stack)?.reference.project ?? "",
      }),
    );
    this.#shared = {
      inner: createMemoryStorage({ epoch: "simulation" }),
      onCommit: (commit) => this.#model.take(commit),
      alter: sabotage.alter,
      alterRead: sabotage.alterRead,
      hidden: sabotage.hidden,
    };
  }

  async run(): Promise<SimResult> {
    try {
      await this.#prepare();
      for (const index of this.#given.servers.keys()) this.#start(index);
      for (const action of this.#given.actions) {
        this.#scheduler.after(action.atMs, () => void this.#act(action));
      }
      for (const fault of this.#given.serverFaults) {
        this.#scheduler.after(fault.atMs, () => {
          const server = this.#servers[fault.server];
          if (server === undefined) return;
          if (fault.kind === "restart") void this.#restart(fault.server, fault.ms);
          else {
            const until = this.#scheduler.monotonicMs() + fault.ms;
            server.process.awayUntil = until;
            server.process.disturbedAt = until;
          }
        });
      }
      await this.#scheduler.pass(CALM_AT_MS);
      this.#isCalm = true;
      for (const { process } of this.#servers) process.faults = [];
      await this.#rest();
      if (this.#model.records.violations.length === 0) await this.#checkRest();
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#model.records.fail(0, `the simulation broke: ${text}`);
    }
    const ends = new Map<string, number>();
    for (const { phase } of this.#model.records.runs.values()) {
      ends.set(nameOf(phase), (ends.get(nameOf(phase)) ?? 0) + 1);
    }
    for (const { process } of this.#servers) process.die();
    return {
      violations: this.#model.records.violations,
      trace: this.#model.records.trace,
      runs: this.#model.records.runs.size,
      ends,
      deaths: this.#deaths,
    };
  }

  async #checkRest(): Promise<void> {
    this.#model.checkRest(this.#scheduler.wallMs());
    await this.#release();
    this.#model.checkRest(this.#scheduler.wallMs());
    const left = [...this.#model.records.runs.values()].filter(({ phase }) => !ENDS.has(phase));
    if (left.length > 0)
      this.#model.records.fail(12, `${left.length} runs are left, and all is allowed`);
  }

  /** Stacks with a configuration each. */
  async #prepare(): Promise<void> {
    const { inner } = this.#shared;
    for (const { name, reference } of this.#stacks) {
      const version = ConfigurationVersion.create({ digest: CONFIGURATION });
      const kinds = [
        [
          STACK_KIND.type,
          { tenancy: projectTenancy(reference), name },
          Stack.encode(Stack.create({ id: reference.stack })).finish(),
        ],
        [
          SERVER_KINDS.configuration.type,
          memberPlace(reference, CONFIGURATION),
          ConfigurationVersion.encode(version).finish(),
        ],
      ] as const;
      for (const [type, place, value] of kinds) {
        await inner.writeCAS({
          id: { uid: name, type, ...place },
          version: "",
          generation: name,
          metadata: {},
          status: {},
          data: { typeUrl: typeUrlOf(type), value },
        });
      }
    }
  }

  #start(index: number): void {
    const { seed, servers, delayMs, writeFaults } = this.#given;
    const start = (this.#starts[index] ?? 0) + 1;
    this.#starts[index] = start;
    const { capacity, skewMs } = servers[index] ?? { capacity: 1, skewMs: 0 };
    const own = seed * 1_000 + index * 100 + start;
    const chance = createChance(own);
    // What has happened to a server does not happen to it again.
    const now = this.#scheduler.monotonicMs();
    const faults = (ofExecutor: boolean): WriteFault[] =>
      writeFaults.filter(
        (fault) =>
          !this.#isCalm &&
          fault.server === index &&
          fault.ofExecutor === ofExecutor &&
          (start === 1 || fault.fromMs > now),
      );
    const process = new SimProcess({
      name: `server${index}.${start}`,
      scheduler: this.#scheduler,
      chance,
      skewMs,
      delayMs,
      faults: faults(false),
      onDeath: (fault) => {
        executor.orphan();
        for (const request of this.#requests.values()) {
          if (request.outcome === undefined) request.mayBeLost = true;
        }
        if (fault === undefined) return;
        this.#deaths += 1;
        this.#scheduler.after(fault.ms, () => this.#start(index));
      },
    });
    const store = new SimStore(this.#shared, process);
    let tokens = 0;
    const executor: SimExecutor = new SimExecutor({
      shared: this.#shared,
      world: this.#world,
      parent: process,
      faults: faults(true),
      drawOf: ({ run, step, name }) =>
        createChance(seed ^ hashOf(`${this.#numberOf(run)} ${step} ${name.slice(-1)}`)).next(),
      token: () => `${process.name}-x${(tokens += 1)}`,
      sabotage: this.#sabotage,
      onLoss: (run) => this.#model.lost(run),
      isCalm: () => this.#isCalm,
    });
    this.#servers[index] = new SimServer({
      process,
      store,
      executor,
      capacity,
      seed: own,
      stackOf: ({ stack }) => this.#stacks.find(({ reference }) => reference.stack === stack),
    });
  }

  #numberOf(run: string): string {
    const { stack = "", number = 0n } = this.#model.records.runs.get(run) ?? {};
    return `${stack} ${number}`;
  }

  /** A new release, say. */
  async #restart(index: number, ms: number): Promise<void> {
    const server = this.#servers[index];
    if (server === undefined || server.process.isDead) return;
    await server.close(ms);
    server.process.die();
    this.#start(index);
  }

  /** What a user does; rejects never. */
  async #act(action: SimAction): Promise<void> {
    const server = this.#servers[action.server];
    const stack = this.#stacks[action.stack];
    if (server === undefined || stack === undefined || server.process.isDead) return;
    const { process } = server;
    const id = `r${this.#requests.size + 1}`;
    const store = server.parts.storage.forRequest(id);
    let entries = 0;
    const parts: TransactionParts = {
      ...server.parts,
      storage: store,
      companion: new ChangeEntry(() => {
        entries += 1;
        return {
          kind: "write",
          resource: {
            id: {
              uid: `${id}.${entries}`,
              name: `${id}.${entries}`,
              type: { group: "stackwright", groupVersion: "v1", kind: "SimAudit" },
              tenancy: projectTenancy(stack.reference),
            },
            version: "",
            generation: `${id}.${entries}`,
            metadata: {},
            status: {},
          },
        };
      }),
    };
    const made = this.#request(id, action, stack, parts);
    if (made === undefined) return;
    const { request, send } = made;
    this.#requests.set(id, request);
    // The request is on its way.
    await new Promise<void>((resolve) => {
      this.#scheduler.after((action.pick % 7) * 300, resolve);
    });
    if (process.isDead) {
      request.mayBeLost = true;
      return;
    }
    try {
      await send();
      request.outcome = "ok";
    } catch (error) {
      if (isServerError(error)) request.outcome = error.code;
      else if (isStorageError(error, "STORAGE_INCONSISTENT")) request.outcome = "unknown";
      else {
        request.outcome = "failed";
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.#model.records.fail(9, `${action.kind} ${id} failed: ${text}`);
      }
    }
    this.#model.answered(request);
  }

  #request(
    id: string,
    { kind, actor, pick }: SimAction,
    { name, reference: stack }: NamedStack,
    parts: TransactionParts,
  ): { readonly request: SimRequest; readonly send: () => Promise<unknown> } | undefined {
    const open = this.#model.records.runsOf(stack.stack).filter(({ phase }) => !ENDS.has(phase));
    const waiting = open.find(({ phase }) => phase === P.PHASE_AWAITING_APPROVAL);
    const some = open[pick % Math.max(1, open.length)];
    const request = (
      run: string,
      given: Pick<SimRequest, "planDigest" | "autoApply"> & { readonly mayBeIdle?: boolean } = {},
    ): SimRequest => ({
      id,
      kind,
      actor,
      run,
      mayBeIdle: false,
      mayBeLost: false,
      commits: 0,
      outcome: undefined,
      ...given,
    });
    const named = (run: string) => ({ stack, run });
    const ms = (pick % 4) * 15_000;
    const held = { actor, reason: "of the simulation", forMs: ms === 0 ? undefined : ms };
    const target = pick % 3 === 0 ? { account: stack.account, project: stack.project } : stack;
    switch (kind) {
      case "enqueue": {
        const run = parts.token();
        const autoApply = [true, false, undefined][pick % 3];
        const mode = pick % 5 === 0 ? Run_Mode.MODE_PLAN_ONLY : Run_Mode.MODE_APPLY;
        return {
          request: request(run, { autoApply }),
          send: async () =>
            enqueueRun(parts, {
              reference: named(run),
              stackName: name,
              configuration: CONFIGURATION,
              mode,
              actor,
              savedPlan: pick % 7 === 0,
              ...(autoApply !== undefined && { autoApply }),
            }),
        };
      }
      case "approve": {
        const run = waiting ?? some;
        if (run === undefined) return undefined;
        const { planDigest } = run;
        return {
          request: request(run.id, { planDigest, mayBeIdle: true }),
          send: async () =>
            approveRun(
              parts,
              named(run.id),
              this.#sabotage.approvesAny === true
                ? { actor, planDigest: this.#model.records.runs.get(run.id)?.planDigest ?? "" }
                : { actor, planDigest },
            ),
        };
      }
      case "discard": {
        const run = waiting ?? some;
        if (run === undefined) return undefined;
        return {
          request: request(run.id),
          send: async () => discardRun(parts, named(run.id), { actor }),
        };
      }
      case "cancel": {
        if (some === undefined) return undefined;
        return {
          request: request(some.id, { mayBeIdle: true }),
          send: async () => cancelRun(parts, named(some.id), { actor, force: pick % 2 === 0 }),
        };
      }
      case "override": {
        if (some === undefined) return undefined;
        return {
          request: request(some.id),
          send: async () => overrideFreeze(parts, named(some.id), held),
        };
      }
      case "lock":
        return { request: request(""), send: async () => lockStack(parts, stack, held) };
      case "unlock":
        return {
          request: request("", { mayBeIdle: true }),
          send: async () => unlockStack(parts, stack, { actor, force: pick % 2 === 0 }),
        };
      case "freeze":
        return { request: request(""), send: async () => freeze(parts, target, held) };
      case "unfreeze":
        return {
          request: request("", { mayBeIdle: true }),
          send: async () => unfreeze(parts, target),
        };
      case "settings":
        return { request: request(""), send: async () => this.#settle(parts, stack, pick) };
      default:
        throw new Error(kind satisfies never);
    }
  }

  /** Other settings of a project. */
  async #settle(parts: TransactionParts, stack: StackReference, pick: number): Promise<void> {
    await transact(parts, async (tx) => {
      const row = await tx.findOrNew(SERVER_KINDS.project, projectPlace(stack), () =>
        Project.create({ name: stack.project }),
      );
      tx.update(row, {
        requiredApprovals: pick % 3,
        excludeAuthor: pick % 4 === 0,
        supersede: SUPERSEDES[pick % 3] ?? Project_Supersede.SUPERSEDE_UNSPECIFIED,
        autoApply: AUTO_APPLIES[(pick >> 2) % 3] ?? Project_AutoApply.AUTO_APPLY_UNSPECIFIED,
      });
    });
  }

  /** Lets time pass until nothing moves. */
  async #rest(): Promise<void> {
    const end = this.#scheduler.monotonicMs() + REST_MS;
    let moves = -1;
    while (this.#scheduler.monotonicMs() < end && this.#model.records.violations.length === 0) {
      await this.#scheduler.pass(LOOK_MS);
      const isWorking = [...this.#model.records.tickets.rows.values()].some(
        ({ claim, attempts }) => claim !== undefined || attempts > 0,
      );
      const isAwaited = [...this.#requests.values()].some(
        ({ outcome, mayBeLost }) => outcome === undefined && !mayBeLost,
      );
      if (!isWorking && !isAwaited && this.#model.records.trace.length === moves) return;
      moves = this.#model.records.trace.length;
    }
  }

  /** Locks and freezes go, and plans are approved, until no run is left. */
  async #release(): Promise<void> {
    for (let round = 0; round < 200; round += 1) {
      const open = [...this.#model.records.runs.values()].filter(({ phase }) => !ENDS.has(phase));
      if (open.length === 0 || this.#model.records.violations.length > 0) return;
      const atMs = this.#scheduler.monotonicMs();
      const server = this.#servers.findIndex(({ process }) => !process.isDead);
      for (const stack of this.#stacks.keys()) {
        const all = { atMs, server, stack, pick: 2 };
        void this.#act({ ...all, kind: "unlock", actor: "ann" });
        void this.#act({ ...all, kind: "unfreeze", actor: "ann" });
        void this.#act({ ...all, kind: "unfreeze", actor: "ann", pick: 0 });
        for (const actor of ["ann", "bea", "cem"] as const) {
          void this.#act({ ...all, kind: "approve", actor });
        }
      }
      await this.#scheduler.pass(LOOK_MS);
    }
  }
}

/** A number of a text, for choices that do not depend on what happened before. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
