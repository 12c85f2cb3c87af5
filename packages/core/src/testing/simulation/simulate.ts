import { getAttribute, Value } from "@stackwright/cty";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { checkState } from "../../state/check-state.ts";
import { MemoryBlobs } from "../memory-blobs.ts";
import { type CloudFault, ModelCloud } from "../model/model-cloud.ts";
import { createVirtualScheduler, type VirtualScheduler } from "../virtual-scheduler.ts";
import { createChance } from "./chance.ts";
import { Oracle, type SimLimits } from "./oracle.ts";
import { RecordModel, type RunReport } from "./record-model.ts";
import type { Sabotage } from "./sabotage.ts";
import type { SimConfig, SimLease, SimMove } from "./sim-config.ts";
import { type KeptPlan, SimProcess } from "./sim-process.ts";
import { NO_STORE_FAULTS, SimStore, type StoreFaults } from "./sim-store.ts";
import type { SimDrift, SimWays } from "./sim-ways.ts";

/** One run of one process, with what goes wrong in it. */
export interface SimStep {
  readonly config: SimConfig;
  /** Ephemeral resources of the configuration. @default none */
  readonly leases?: readonly SimLease[];
  readonly destroy: boolean;
  /** How the step differs from planning everything and applying it. */
  readonly ways?: SimWays;
  /** Resources that got other names, up to now. */
  readonly moves?: readonly SimMove[];
  /** Share of the calls that go wrong, by fault. */
  readonly cloud: Readonly<Partial<Record<CloudFault, number>>>;
  /** Most milliseconds of half a call; below what a fence needs to be stolen. */
  readonly delayMs: number;
  readonly store: StoreFaults;
  /** Cancels the apply after so long; the second number is the second stage. */
  readonly cancelMs?: readonly [number, number?];
}

/** A whole simulation as data; equal cases run equally. */
export interface SimCase {
  readonly seed: number;
  readonly limits: SimLimits;
  readonly steps: readonly SimStep[];
}

/** What a simulation found. */
export interface SimResult {
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly writes: number;
  readonly calls: number;
  /** Processes that died or froze. */
  readonly casualties: number;
  /** How runs ended, in their order. */
  readonly outcomes: readonly string[];
}

const CALM: Omit<SimStep, "config" | "destroy"> = { cloud: {}, delayMs: 0, store: NO_STORE_FAULTS };
const ENDING_ATTEMPTS = 6;

/** Runs a case: its steps with their faults, then without faults until nothing is left to do. */
export async function simulate(given: SimCase, sabotage: Sabotage = {}): Promise<SimResult> {
  return new Simulation(given, sabotage).run();
}

class Simulation {
  readonly #given: SimCase;
  readonly #sabotage: Sabotage;
  readonly #scheduler: VirtualScheduler;
  readonly #store = new SimStore(createMemoryStorage());
  readonly #blobs = new MemoryBlobs();
  readonly #cloud = new ModelCloud();
  readonly #oracle: Oracle;
  readonly #model: RecordModel;
  #kept: KeptPlan | undefined;
  #processes = 0;
  #casualties = 0;
  readonly #outcomes: string[] = [];

  constructor(given: SimCase, sabotage: Sabotage) {
    this.#given = given;
    this.#sabotage = sabotage;
    const order = createChance(given.seed);
    this.#scheduler = createVirtualScheduler({ pick: (count) => order.below(count) });
    const oracle = new Oracle(this.#store, this.#cloud, given.limits);
    this.#oracle = oracle;
    this.#model = new RecordModel(
      this.#cloud,
      (operation) => oracle.intents.get(operation),
      (rule, text) => oracle.fail(rule, text),
    );
  }

  async run(): Promise<SimResult> {
    try {
      for (const step of this.#given.steps) {
        await this.#step(step);
        await this.#check();
      }
      // What was frozen has woken up.
      await this.#scheduler.pass(60_000);
      await this.#converge();
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#oracle.fail(0, `the simulation broke: ${text}`);
    }
    for (const blob of this.#blobs.contents())
      this.#oracle.told(Buffer.from(blob).toString("latin1"));
    return {
      violations: this.#oracle.violations,
      trace: this.#oracle.trace,
      writes: this.#store.log.length,
      calls: this.#cloud.calls.length,
      casualties: this.#casualties,
      outcomes: this.#outcomes,
    };
  }

  /** One process, or two: plans, applies, and perhaps dies of it. */
  async #step(step: SimStep): Promise<string | undefined> {
    for (const drift of step.ways?.drift ?? []) this.#drift(drift);
    const { cancelMs: _cancelMs, ...calm } = step;
    const rival = { ...calm, store: NO_STORE_FAULTS };
    const running = (step.ways?.rival ? [step, rival] : [step]).map((own) => ({
      own,
      process: this.#spawn(own),
    }));
    const outcomes = await this.#scheduler.run(
      Promise.all(
        running.map(async ({ own, process }) => Promise.race([process.run(own), process.left])),
      ),
    );
    const leaves = running.some(({ process }) => process.isDead || process.froze);
    if (leaves || step.cancelMs?.[1] !== undefined) {
      // What was on its way arrives. A frozen process wakes up when another has the stack.
      await this.#scheduler.pass(10_000);
    }
    const reports = running.map(({ own, process }, index): RunReport => {
      const isCasualty = process.isDead || process.froze;
      if (isCasualty) this.#casualties += 1;
      this.#oracle.bury(process.owner);
      this.#kept = process.kept ?? this.#kept;
      const { owner, plan, keptUntil } = process;
      return {
        owner,
        step: own,
        outcome: outcomes[index] ?? "",
        isCasualty,
        ...(plan && { plan }),
        ...(keptUntil !== undefined && { keptUntil }),
      };
    });
    this.#outcomes.push(...reports.map(({ outcome }) => outcome));
    this.#model.ended(reports);
    return outcomes[0];
  }

  /** Something else than an engine changes an object. */
  #drift({ place, how }: SimDrift): void {
    const keys = [...this.#cloud.objects.keys()].toSorted();
    const key = keys[place % Math.max(1, keys.length)];
    const object = key === undefined ? undefined : this.#cloud.objects.get(key);
    if (key === undefined || object === undefined) return;
    if (how === "remove") {
      this.#cloud.remove(object.type, object.id);
      this.#cloud.misreported.add(key);
      this.#model.removed(key);
      return;
    }
    const size = getAttribute(object.value, "size").asNumber() + 5;
    const attributes = [...object.value.entries()].map(
      ([name, value]) => [name, name === "size" ? Value.number(size) : value] as const,
    );
    this.#cloud.put({ ...object, value: Value.object(attributes) });
  }

  #spawn(step: SimStep): SimProcess {
    this.#processes += 1;
    return new SimProcess(`p${this.#processes}`, step, {
      given: this.#given,
      chance: createChance(this.#given.seed * 1_000 + this.#processes),
      scheduler: this.#scheduler,
      store: this.#store,
      blobs: this.#blobs,
      cloud: this.#cloud,
      oracle: this.#oracle,
      model: this.#model,
      kept: this.#kept,
      sabotage: this.#sabotage,
    });
  }

  async #check(): Promise<void> {
    await this.#oracle.checkReplay();
    const process = this.#spawn({ ...CALM, config: [], destroy: false });
    const snapshot = await this.#scheduler.run(process.state.read());
    const interrupted = snapshot.head.run !== "";
    for (const problem of checkState(snapshot.objects.values(), { interrupted })) {
      this.#oracle.fail(1, problem);
    }
    if (!interrupted) this.#oracle.checkCloud(snapshot);
    this.#model.rest(interrupted ? undefined : snapshot);
  }

  /** Without faults, and with an operator who looks for what is unresolved, everything comes to its end. */
  async #converge(): Promise<void> {
    const last = this.#given.steps.at(-1);
    if (last === undefined) return;
    const { config, destroy, leases, moves } = last;
    const step: SimStep = {
      ...CALM,
      config,
      destroy,
      ...(leases && { leases }),
      ...(moves && { moves }),
    };
    for (let attempt = 1; attempt <= ENDING_ATTEMPTS; attempt += 1) {
      const outcome = await this.#step(step);
      await this.#check();
      if (outcome === "empty") return;
      await this.#scheduler.run(this.#spawn(step).resolveUnresolved(step));
    }
    this.#oracle.fail(3, `there is something to do after ${ENDING_ATTEMPTS} calm runs`);
  }
}
