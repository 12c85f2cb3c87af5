import { Mark, Value } from "@stackwright/cty";
import { createUlidGenerator, isStorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createEngine, type Engine } from "../../engine.ts";
import { isEngineError } from "../../errors.ts";
import { hasChanges } from "../../plan/plan.ts";
import { encodePlan } from "../../plan/plan-codec.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { keyEncryptionKey } from "../../secrets/key-encryption.ts";
import { checkState } from "../../state/check-state.ts";
import { createStoredKeys } from "../../state/stack-keys.ts";
import type { StackState } from "../../state/stack-state.ts";
import { createStackStates } from "../../state/stack-states.ts";
import { MemoryBlobs } from "../memory-blobs.ts";
import { CloudError, type CloudFault, ModelCloud } from "../model/model-cloud.ts";
import { ModelLeases } from "../model/model-leases.ts";
import { createModelProvider } from "../model/model-provider.ts";
import { MODEL_SOURCE } from "../model/model-schema.ts";
import { TEST_STACK } from "../state-fixture.ts";
import { createVirtualScheduler, type VirtualScheduler } from "../virtual-scheduler.ts";
import { type Chance, createChance } from "./chance.ts";
import { Oracle, type SimLimits } from "./oracle.ts";
import { type Sabotage, sabotaged } from "./sabotage.ts";
import { CANARY, configText, type SimConfig, type SimLease } from "./sim-config.ts";
import { behaviourOf, loadText, recordCloudObject, toldText } from "./sim-parts.ts";
import { NO_STORE_FAULTS, ProcessStorage, SimStore, type StoreFaults } from "./sim-store.ts";

/** One run of one process, with what goes wrong in it. */
export interface SimStep {
  readonly config: SimConfig;
  /** Ephemeral resources of the configuration. @default none */
  readonly leases?: readonly SimLease[];
  readonly destroy: boolean;
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
  #processes = 0;
  #casualties = 0;

  constructor(given: SimCase, sabotage: Sabotage) {
    this.#given = given;
    this.#sabotage = sabotage;
    const order = createChance(given.seed);
    this.#scheduler = createVirtualScheduler({ pick: (count) => order.below(count) });
    this.#oracle = new Oracle(this.#store, this.#cloud, given.limits);
  }

  async run(): Promise<SimResult> {
    try {
      for (const step of this.#given.steps) {
        await this.#step(step);
        await this.#check();
      }
      // Whoever was frozen has woken up.
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
    };
  }

  /** One process: plans, applies, and perhaps dies of it. */
  async #step(step: SimStep): Promise<string | undefined> {
    const process = this.#spawn(step);
    const outcome = await this.#scheduler.run(Promise.race([process.run(step), process.left]));
    if (process.isDead || process.froze) {
      this.#casualties += 1;
      // What was on its way arrives. Whoever is frozen wakes up when another has the stack.
      await this.#scheduler.pass(10_000);
    }
    this.#oracle.bury(process.owner);
    return outcome;
  }

  #spawn(step: SimStep): Process {
    this.#processes += 1;
    return new Process(`p${this.#processes}`, step, {
      given: this.#given,
      chance: createChance(this.#given.seed * 1_000 + this.#processes),
      scheduler: this.#scheduler,
      store: this.#store,
      blobs: this.#blobs,
      cloud: this.#cloud,
      oracle: this.#oracle,
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
  }

  /** Without faults, and with an operator who looks for what is unresolved, everything comes to its end. */
  async #converge(): Promise<void> {
    const last = this.#given.steps.at(-1);
    if (last === undefined) return;
    const { config, destroy, leases } = last;
    const step: SimStep = { ...CALM, config, destroy, ...(leases && { leases }) };
    for (let attempt = 1; attempt <= ENDING_ATTEMPTS; attempt += 1) {
      const outcome = await this.#step(step);
      await this.#check();
      if (outcome === "empty") return;
      await this.#scheduler.run(this.#spawn(step).lookForUnresolved());
    }
    this.#oracle.fail(3, `there is something to do after ${ENDING_ATTEMPTS} calm runs`);
  }
}

interface ProcessParts {
  readonly given: SimCase;
  readonly chance: Chance;
  readonly scheduler: VirtualScheduler;
  readonly store: SimStore;
  readonly blobs: MemoryBlobs;
  readonly cloud: ModelCloud;
  readonly oracle: Oracle;
  readonly sabotage: Sabotage;
}

/** A process with an engine: everything in it ends when it dies. */
class Process {
  readonly owner: string;
  readonly state: StackState;
  /** Resolves when the process is not there any more for the others: it died, or froze. */
  readonly left: Promise<string>;
  froze = false;
  readonly #life = new AbortController();
  readonly #parts: ProcessParts;
  readonly #engine: Engine;
  readonly #ulid: () => string;
  readonly #leases = new ModelLeases();

  constructor(owner: string, step: SimStep, parts: ProcessParts) {
    const { chance, scheduler, store, blobs, cloud, oracle, sabotage } = parts;
    this.owner = owner;
    this.#parts = parts;
    const { promise, resolve: leave } = Promise.withResolvers<string>();
    this.left = promise;
    const storage = new ProcessStorage({
      shared: store,
      owner,
      scheduler,
      chance,
      life: this.#life.signal,
      die: () => {
        this.#life.abort();
        leave("died");
      },
      freeze: () => {
        this.froze = true;
        leave("froze");
      },
      faults: step.store,
      dropGuards: sabotage.dropGuards === true,
    });
    const random = (count: number): Uint8Array => chance.bytes(count);
    const states = createStackStates({
      storage,
      blobs,
      ciphers: createStoredKeys({
        storage,
        current: keyEncryptionKey(new Uint8Array(32).fill(7)),
        random,
        wallMs: () => scheduler.wallMs(),
      }),
      owner,
      scheduler,
      random,
    });
    this.state = sabotaged(states.stack(TEST_STACK), sabotage);
    cloud.behaviour = behaviourOf(step, chance, cloud);
    const create = () => {
      const provider = createModelProvider({
        cloud,
        scheduler,
        leases: this.#leases,
        process: this.#life.signal,
        onCall: (call) => oracle.begin(call, owner),
      });
      return sabotage.provider?.(provider) ?? provider;
    };
    this.#engine = createEngine({
      origins: [inProcessOrigin("model", { [MODEL_SOURCE]: create })],
      clock: scheduler,
      randomBytes: random,
    });
    this.#ulid = createUlidGenerator({ wallMs: () => scheduler.wallMs(), randomBytes: random });
  }

  get isDead(): boolean {
    return this.#life.signal.aborted;
  }

  /** Plans and applies once; says how it went: `empty` when there was nothing to do. */
  async run(step: SimStep): Promise<string> {
    const outcome = await this.#run(step);
    if (!this.isDead) this.#parts.oracle.checkLeases(this.#leases, this.owner);
    return outcome;
  }

  async #run(step: SimStep): Promise<string> {
    const { oracle, given, sabotage } = this.#parts;
    const configuration = await loadText(configText(step.config, step.leases));
    for (const { detail, summary } of configuration.diagnostics) {
      oracle.fail(0, `the configuration is not valid: ${summary}: ${detail}`);
    }
    const variables = new Map([["canary", Value.string(CANARY).mark(Mark.sensitive)]]);
    const common = {
      state: this.state,
      configuration,
      variables,
      parallelism: given.limits.parallelism,
      onEvent: (event: unknown) => {
        if (!this.isDead) oracle.told(toldText(event));
      },
    };
    try {
      const options = { mode: step.destroy ? "destroy" : "normal" } as const;
      const planned = await this.#engine.plan({ ...common, options });
      oracle.told(toldText(planned.diagnostics));
      if (planned.plan === undefined) return "no plan";
      if (!hasChanges(planned.plan) && planned.recovered.length === 0) return "empty";
      const plan = sabotage.plan?.(planned.plan) ?? planned.plan;
      oracle.planned(encodePlan(plan));
      const [first, second] = step.cancelMs ?? [];
      const result = await this.#engine.apply({
        ...common,
        plan,
        run: this.#ulid(),
        limits: Object.fromEntries(
          ["model_thing", "model_named"].map((type) => [
            `type:${type}`,
            { maxConcurrent: given.limits.perType },
          ]),
        ),
        ...(first === undefined ? {} : { signal: this.#abortAfter(first) }),
        ...(second === undefined ? {} : { forceSignal: this.#abortAfter(second) }),
      });
      oracle.told(toldText(result.diagnostics));
      if (result.status !== "applied") return result.status;
      const isUndisturbed = Object.keys(step.cloud).length === 0;
      if (isUndisturbed) await this.#expectEmpty({ ...common, options });
      return "applied";
    } catch (error) {
      // What a store or a fence may do to a run; everything else is a mistake of the engine.
      if (isEngineError(error, "ENGINE_FENCE_LOST", "ENGINE_PLAN_STALE")) return error.code;
      if (this.isDead) return "died";
      // A store that gives no answer ends a run, and a fence that was taken without knowing it runs out.
      if (isStorageError(error, "STORAGE_INCONSISTENT")) return error.code;
      // A plan cannot be made of what cannot be looked at.
      if (error instanceof CloudError) return "unreachable";
      oracle.told(error instanceof Error ? error.message : String(error));
      oracle.fail(
        1,
        `the run ended with ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
      return "broken";
    }
  }

  /** What an operator does: looks into the cloud for what nobody could find out, and says what is there. */
  async lookForUnresolved(): Promise<void> {
    const { cloud } = this.#parts;
    const { objects, head } = await this.state.read();
    // An interrupted run is for the next one to recover.
    if (head.run !== "") return;
    const open = [...objects.values()].filter(({ phase }) => phase === "unresolved");
    if (open.length === 0) return;
    await using hold = await this.state.acquire();
    const writer = await hold.begin({ run: this.#ulid() });
    for (const { address, deposed, operation, value, type } of open) {
      if (operation === undefined) continue;
      const id = value === undefined ? undefined : (JSON.parse(value.json) as { id: string }).id;
      const found = [...cloud.objects.values()].find((object) =>
        id === undefined
          ? object.createdBy === operation.id
          : object.type === type && object.id === id,
      );
      const key = { address, deposed };
      if (found === undefined) {
        await writer.write({
          kind: "settle",
          key,
          operation: operation.id,
          outcome: { kind: "absent" },
        });
        continue;
      }
      const content = {
        value: value ?? recordCloudObject(found),
        privateBytes: new Uint8Array(),
      };
      const outcome = { kind: "exists", content, tainted: false } as const;
      await writer.write({ kind: "settle", key, operation: operation.id, outcome });
    }
    await writer.finish({ outputs: writer.outputs });
  }

  async #expectEmpty(request: Parameters<Engine["plan"]>[0]): Promise<void> {
    const { plan, diagnostics } = await this.#engine.plan(request);
    const [first] = diagnostics.filter(({ severity }) => severity === "error");
    if (plan === undefined) {
      this.#parts.oracle.fail(3, `no plan after an apply: ${first?.summary} ${first?.detail}`);
      return;
    }
    if (!hasChanges(plan)) return;
    const changes = plan.changes
      .filter(({ action, record }) => action !== "no-op" || record)
      .map(({ action, address }) => `${action} ${address}`);
    this.#parts.oracle.fail(3, `after a whole apply there is left: ${changes.join(", ")}`);
  }

  #abortAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#parts.scheduler.after(ms, () => controller.abort());
    return controller.signal;
  }
}
