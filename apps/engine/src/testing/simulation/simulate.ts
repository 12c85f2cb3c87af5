import type { NamedStack } from "@stackwright/core";
import {
  createChance,
  createVirtualScheduler,
  type VirtualScheduler,
} from "@stackwright/core/testing";
import type { Run } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { finishDeletions } from "../../stack-deletion/stack-deletion.ts";
import { RunModel } from "./run-model.ts";
import { ENDS, nameOf } from "./run-phases.ts";
import { RunRecords } from "./run-records.ts";
import type { RunSabotage } from "./sabotage.ts";
import { hasDeletions, type SimAction, type SimCase } from "./sim-case.ts";
import { SimFleet } from "./sim-fleet.ts";
import type { SimRequest } from "./sim-request.ts";
import { prepareStacks, stacksOf } from "./sim-stacks.ts";
import type { SharedStore } from "./sim-store.ts";
import { SimUsers } from "./sim-users.ts";
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

/** Users have stopped by then, and nothing goes wrong any more. */
const CALM_AT_MS = 100_000;
/** Within this time everything comes to rest: longer than ten recoveries with their pauses. */
const REST_MS = 1_200_000;
const LOOK_MS = 10_000;
/** Looks in a row that see nothing move: longer than the pause between two sweeps. */
const QUIET_LOOKS = 3;
/** Longer than what is deleted is looked after. */
const LATE_MS = 2 * 3_600_000;
/** How often what has ended may lead to further runs. */
const MAX_ROUNDS = 10;

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
  readonly #stacks: readonly NamedStack[];
  readonly #users: SimUsers;

  constructor(given: SimCase, sabotage: RunSabotage) {
    this.#given = given;
    this.#sabotage = sabotage;
    const order = createChance(given.seed);
    this.#scheduler = createVirtualScheduler({ pick: (count) => order.below(count) });
    this.#stacks = stacksOf(given);
    this.#world = new SimWorld((effect) => this.#model.effect(effect));
    const requests = new Map<string, SimRequest>();
    this.#model = new RunModel(
      new RunRecords({
        world: this.#world,
        requests,
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
    this.#users = new SimUsers(
      {
        scheduler: this.#scheduler,
        model: this.#model,
        stacks: this.#stacks,
        sabotage,
        isStaged: given.isStaged,
        hasDeletions: hasDeletions(given),
      },
      requests,
    );
  }

  async run(): Promise<SimResult> {
    const { records } = this.#model;
    let fleet: SimFleet | undefined;
    try {
      const nowMs = this.#scheduler.wallMs();
      await prepareStacks(this.#shared.inner, this.#given, this.#stacks, nowMs);
      await records.read(this.#shared.inner);
      fleet = this.#start();
      await this.#scheduler.pass(CALM_AT_MS);
      fleet.calm();
      await this.#rest();
      if (records.violations.length === 0) await this.#checkRest(fleet);
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      records.fail(0, `the simulation broke: ${text}`);
    }
    const ends = new Map<string, number>();
    for (const { phase } of records.runs.values()) {
      ends.set(nameOf(phase), (ends.get(nameOf(phase)) ?? 0) + 1);
    }
    fleet?.end();
    const { violations, trace, runs } = records;
    return { violations, trace, runs: runs.size, ends, deaths: fleet?.deaths ?? 0 };
  }

  #start(): SimFleet {
    const fleet = new SimFleet({
      given: this.#given,
      sabotage: this.#sabotage,
      scheduler: this.#scheduler,
      world: this.#world,
      model: this.#model,
      shared: this.#shared,
      stacks: this.#stacks,
      onDeath: () => this.#users.loseAnswers(),
    });
    for (const action of this.#given.actions) {
      this.#scheduler.after(action.atMs, () => {
        void this.#users.act(action, fleet.server(action.server));
      });
    }
    return fleet;
  }

  async #checkRest(fleet: SimFleet): Promise<void> {
    this.#model.checkRest(this.#scheduler.wallMs());
    // What ends may lead to further runs, by triggers and schedules.
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      await this.#release(fleet);
      await this.#rest();
      if (this.#open().length === 0) break;
    }
    this.#model.checkRest(this.#scheduler.wallMs());
    const left = this.#open().length;
    if (left > 0) this.#model.records.fail(12, `${left} runs are left, and all is allowed`);
    if (this.#model.deletions.gone.length > 0) await this.#checkGone(fleet);
  }

  /** Once the time for late writes is over, what came late of deleted stacks goes, too. */
  async #checkGone({ servers }: SimFleet): Promise<void> {
    const server = servers.find(({ process }) => !process.isDead);
    if (server === undefined) return;
    const { parts } = server;
    const clock = { ...parts.clock, wallMs: () => parts.clock.wallMs() + LATE_MS };
    const ends: unknown[] = [];
    void Promise.allSettled([finishDeletions({ ...parts, clock })]).then((all) =>
      ends.push(...all),
    );
    while (ends.length === 0) await this.#scheduler.pass(LOOK_MS);
    await using stored = await this.#shared.inner.snapshot();
    for await (const { id } of stored) this.#model.deletions.checkLeft(id.type.kind, id.name);
  }

  /** The runs that have not ended. */
  #open(): readonly Run[] {
    return [...this.#model.records.runs.values()].filter(({ phase }) => !ENDS.has(phase));
  }

  /** Lets time pass until nothing moves. */
  async #rest(): Promise<void> {
    const end = this.#scheduler.monotonicMs() + REST_MS;
    const { records } = this.#model;
    let moves = "";
    let quiet = 0;
    while (this.#scheduler.monotonicMs() < end && records.violations.length === 0) {
      await this.#scheduler.pass(LOOK_MS);
      // What waits for a lock or a freeze may do so for ever, also where a worker was lost before.
      const isWorking = [...records.tickets.rows.values()].some(
        ({ claim, attempts, stack }) =>
          claim !== undefined ||
          (attempts > 0 && !records.locks.rows.has(stack) && records.freezes.rows.size === 0),
      );
      // A set that has just ended is about to end its runs.
      const sets = Array.from(records.sets.rows.values(), ({ phase, settled }) => [phase, settled]);
      const now = JSON.stringify([records.trace.length, sets]);
      const isOver = !isWorking && !this.#users.isAwaited && !this.#model.deletions.isUnfinished;
      const isQuiet = isOver && now === moves;
      quiet = isQuiet ? quiet + 1 : 0;
      if (quiet === QUIET_LOOKS) return;
      moves = now;
    }
  }

  /** Locks and freezes go, and plans pass and are approved, until no run is left. */
  async #release(fleet: SimFleet): Promise<void> {
    for (let round = 0; round < 200; round += 1) {
      if (this.#open().length === 0 || this.#model.records.violations.length > 0) return;
      const atMs = this.#scheduler.monotonicMs();
      const server = fleet.servers.find(({ process }) => !process.isDead);
      for (const stack of this.#stacks.keys()) {
        const all = { atMs, server: 0, stack, pick: 2 };
        const act = (action: Pick<SimAction, "kind" | "actor"> & Partial<SimAction>): void => {
          void this.#users.act({ ...all, ...action }, server);
        };
        act({ kind: "unlock", actor: "ann" });
        act({ kind: "unfreeze", actor: "ann" });
        act({ kind: "unfreeze", actor: "ann", pick: 0 });
        for (const actor of ["ann", "bea", "cem"] as const) {
          act({ kind: "pass", actor });
          act({ kind: "approve", actor });
          act({ kind: "approve-set", actor });
        }
      }
      await this.#scheduler.pass(LOOK_MS);
    }
  }
}
