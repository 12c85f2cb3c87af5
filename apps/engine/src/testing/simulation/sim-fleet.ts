import type { NamedStack } from "@stackwright/core";
import { createChance, type VirtualScheduler } from "@stackwright/core/testing";
import {
  PolicyResult,
  PolicySet_Enforcement,
  PolicySetResult,
  PolicySetResult_Outcome,
} from "@stackwright/proto/stackwright";
import type { StoredClaimParts } from "../../worker/stored-claim-host.ts";
import type { RunModel } from "./run-model.ts";
import type { RunSabotage } from "./sabotage.ts";
import { hasDeletions, type SimCase } from "./sim-case.ts";
import { SimConnection } from "./sim-connection.ts";
import { SimExecutor } from "./sim-executor.ts";
import { SimProcess, type WriteFault } from "./sim-process.ts";
import { SimRemoteWorker } from "./sim-remote-worker.ts";
import { SimServer } from "./sim-server.ts";
import { type SharedStore, SimStore } from "./sim-store.ts";
import type { SimWorld } from "./sim-world.ts";

interface SimFleetParts {
  readonly given: SimCase;
  readonly sabotage: RunSabotage;
  readonly scheduler: VirtualScheduler;
  readonly world: SimWorld;
  readonly model: RunModel;
  readonly shared: SharedStore;
  readonly stacks: readonly NamedStack[];
  /** A server has died. */
  readonly onDeath: () => void;
}

/** The servers and the remote workers of a simulation, which die and start again. */
export class SimFleet {
  readonly #parts: SimFleetParts;
  readonly #members: (SimServer | SimRemoteWorker)[] = [];
  readonly #starts: number[] = [];
  #deaths = 0;
  #isCalm = false;

  constructor(parts: SimFleetParts) {
    this.#parts = parts;
    const { given, scheduler } = parts;
    const count = given.servers.length + given.workers.length;
    for (let index = 0; index < count; index += 1) this.#start(index);
    for (const { atMs, server: index, kind, ms } of given.serverFaults) {
      scheduler.after(atMs, () => {
        const member = this.#members[index];
        if (member === undefined) return;
        if (kind === "restart") void this.#restart(index, ms);
        else {
          const until = scheduler.monotonicMs() + ms;
          member.process.awayUntil = until;
          member.process.disturbedAt = until;
        }
      });
    }
  }

  /** Servers and executors that died. */
  get deaths(): number {
    return this.#deaths;
  }

  get servers(): readonly SimServer[] {
    return this.#members.filter((member) => member instanceof SimServer);
  }

  server(index: number): SimServer | undefined {
    const member = this.#members[index];
    return member instanceof SimServer ? member : undefined;
  }

  /** Nothing goes wrong any more. */
  calm(): void {
    this.#isCalm = true;
    for (const { process } of this.#members) process.faults = [];
  }

  end(): void {
    for (const { process } of this.#members) process.die();
  }

  #start(index: number): void {
    const { given, scheduler, shared, stacks } = this.#parts;
    const { seed, servers, workers, delayMs } = given;
    const start = (this.#starts[index] ?? 0) + 1;
    this.#starts[index] = start;
    const { capacity, skewMs } = [...servers, ...workers][index] ?? { capacity: 1, skewMs: 0 };
    const own = seed * 1_000 + index * 100 + start;
    const isServer = index < servers.length;
    const process = new SimProcess({
      name: `${isServer ? "server" : "worker"}${index}.${start}`,
      scheduler,
      chance: createChance(own),
      skewMs,
      delayMs,
      faults: this.#faultsOf(index, start, false),
      onDeath: (fault) => {
        executor.orphan();
        this.#parts.onDeath();
        if (fault === undefined) return;
        this.#deaths += 1;
        scheduler.after(fault.ms, () => this.#start(index));
      },
    });
    const executor = this.#executorOf(process, this.#faultsOf(index, start, true));
    const store = new SimStore(shared, process);
    const parts = { process, store, executor, capacity, seed: own };
    this.#members[index] = isServer
      ? new SimServer({
          ...parts,
          stackOf: ({ stack }) => stacks.find(({ reference }) => reference.stack === stack),
          judgePlan: this.#judgePlan,
          finishesDeletions: hasDeletions(given),
        })
      : new SimRemoteWorker({ ...parts, connection: this.#connectionOf(process) });
  }

  /** What has happened to a process does not happen to it again. */
  #faultsOf(index: number, start: number, ofExecutor: boolean): readonly WriteFault[] {
    const { given, scheduler } = this.#parts;
    const now = scheduler.monotonicMs();
    return given.writeFaults.filter(
      (fault) =>
        !this.#isCalm &&
        fault.server === index &&
        fault.ofExecutor === ofExecutor &&
        (start === 1 || fault.fromMs > now),
    );
  }

  #executorOf(process: SimProcess, faults: readonly WriteFault[]): SimExecutor {
    const { given, shared, world, sabotage, model, stacks } = this.#parts;
    let tokens = 0;
    return new SimExecutor({
      shared,
      world,
      parent: process,
      faults,
      drawOf: ({ run, step, name }) =>
        createChance(
          given.seed ^ hashOf(`${this.#numberOf(run)} ${step} ${name.slice(-1)}`),
        ).next(),
      token: () => `${process.name}-x${(tokens += 1)}`,
      sabotage,
      onLoss: (run) => model.lost(run),
      onExecution: (run, state) => model.executes(run, process, state),
      policyOf: (stack) => {
        const position = stacks.findIndex(({ reference }) => reference.stack === stack);
        return given.policies[position] ?? "none";
      },
      readsOf: (stack) => {
        const position = stacks.findIndex(({ reference }) => reference.stack === stack);
        const project = stacks[position]?.reference.project;
        return given.reads.flatMap(({ reader, other }) => {
          const read = stacks[other];
          return read !== undefined && reader === position && read.reference.project === project
            ? [read.name]
            : [];
        });
      },
      isCalm: () => this.#isCalm,
    });
  }

  #connectionOf(process: SimProcess): SimConnection {
    const { sabotage, model } = this.#parts;
    return new SimConnection({
      process,
      servers: () => this.servers,
      sabotage,
      onFailure: (text) => model.records.fail(9, `a request of ${process.name} failed: ${text}`),
    });
  }

  readonly #judgePlan: NonNullable<StoredClaimParts["judgePlan"]> = async (
    _parts,
    { planDigest },
  ) => {
    const { world, sabotage } = this.#parts;
    const { block = "none" } = world.plans.get(planDigest) ?? {};
    const fails = block !== "none" && sabotage.passesAll !== true;
    const set = PolicySetResult.create({
      set: "all",
      enforcement:
        block === "overridable"
          ? PolicySet_Enforcement.ENFORCEMENT_OVERRIDABLE
          : PolicySet_Enforcement.ENFORCEMENT_MANDATORY,
      outcome: fails
        ? PolicySetResult_Outcome.OUTCOME_FAILED
        : PolicySetResult_Outcome.OUTCOME_PASSED,
    });
    return Promise.resolve(PolicyResult.create({ planDigest, sets: [set] }));
  };

  #numberOf(run: string): string {
    const { stack = "", number = 0n } = this.#parts.model.records.runs.get(run) ?? {};
    return `${stack} ${number}`;
  }

  /** A new release, say. */
  async #restart(index: number, ms: number): Promise<void> {
    const member = this.#members[index];
    if (member === undefined || member.process.isDead) return;
    await member.close(ms);
    if (member.process.isDead) return;
    member.process.die();
    this.#start(index);
  }
}

/** A number of a text, for choices that do not depend on what happened before. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
