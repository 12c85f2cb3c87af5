import { Mark, Value } from "@stackwright/cty";
import { createUlidGenerator, isStorageError } from "@stackwright/storage";
import type { Configuration } from "../../configuration/configuration.ts";
import { createEngine, type Engine, type EnginePlanRequest } from "../../engine.ts";
import { isEngineError } from "../../errors.ts";
import { hasChanges, type Plan, type PlanOptions } from "../../plan/plan.ts";
import { decodePlan, encodePlan } from "../../plan/plan-codec.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { keyEncryptionKey } from "../../secrets/key-encryption.ts";
import { createStoredKeys } from "../../state/stack-keys.ts";
import type { StackState } from "../../state/stack-state.ts";
import { createStackStates } from "../../state/stack-states.ts";
import type { MemoryBlobs } from "../memory-blobs.ts";
import { CloudError, type ModelCloud } from "../model/model-cloud.ts";
import { ModelLeases } from "../model/model-leases.ts";
import { createModelProvider } from "../model/model-provider.ts";
import { MODEL_SOURCE } from "../model/model-schema.ts";
import { TEST_STACK } from "../state-fixture.ts";
import type { VirtualScheduler } from "../virtual-scheduler.ts";
import type { Chance } from "./chance.ts";
import type { Oracle } from "./oracle.ts";
import type { RecordModel } from "./record-model.ts";
import { type Sabotage, sabotaged } from "./sabotage.ts";
import { CANARY, configText } from "./sim-config.ts";
import { behaviourOf, loadText, toldText } from "./sim-parts.ts";
import { ProcessStorage, type SimStore } from "./sim-store.ts";
import type { SimCase, SimStep } from "./simulate.ts";

/** What the processes of a simulation share. */
interface ProcessParts {
  readonly given: SimCase;
  readonly chance: Chance;
  readonly scheduler: VirtualScheduler;
  readonly store: SimStore;
  readonly blobs: MemoryBlobs;
  readonly cloud: ModelCloud;
  readonly oracle: Oracle;
  readonly model: RecordModel;
  readonly sabotage: Sabotage;
  /** The plan that an earlier step kept. */
  readonly kept?: KeptPlan | undefined;
}

/** A plan that is kept for later, with its configuration. */
export interface KeptPlan {
  readonly plan: Plan;
  readonly text: string;
}

/** A process with an engine: everything in it ends when it dies. */
export class SimProcess {
  readonly owner: string;
  readonly state: StackState;
  /** Resolves when the process is not there any more for the others: it died, or froze. */
  readonly left: Promise<string>;
  froze = false;
  /** The plan that it applies. */
  plan: Plan | undefined;
  /** The plan that it made for later. */
  kept: KeptPlan | undefined;
  /** Where the stack was when a kept plan was to be applied. */
  keptUntil: bigint | undefined;
  readonly #life = new AbortController();
  readonly #parts: ProcessParts;
  readonly #engine: Engine;
  readonly #ulid: () => string;
  readonly #leases = new ModelLeases();

  constructor(owner: string, step: SimStep, parts: ProcessParts) {
    const { chance, scheduler, store, blobs, cloud, oracle, model, sabotage } = parts;
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
        onCall: (call) => {
          oracle.begin(call, owner);
          model.begin(call, owner);
        },
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
    const { oracle } = this.#parts;
    try {
      const { ways } = step;
      const { kept } = this.#parts;
      if (ways?.appliesKept && kept !== undefined) {
        this.keptUntil = (await this.state.head()).revision;
        const configuration = await this.#load(kept.text);
        return await this.#apply({ ...this.#common(configuration), plan: kept.plan }, step);
      }
      const text = configText(step.config, step.leases, step.moves);
      const common = this.#common(await this.#load(text));
      const options = optionsOf(step);
      const planned = await this.#plan({ ...common, options });
      oracle.told(toldText(planned.diagnostics));
      if (planned.plan === undefined) return "no plan";
      if (!hasChanges(planned.plan) && planned.recovered.length === 0) return "empty";
      const plan = this.#parts.sabotage.plan?.(planned.plan) ?? planned.plan;
      const bytes = encodePlan(plan);
      oracle.planned(bytes);
      if (ways?.keeps) {
        this.kept = { plan: decodePlan(bytes), text };
        return "kept";
      }
      const outcome = await this.#apply({ ...common, plan }, step);
      // While it was frozen the next step may have begun, with its drift.
      if (outcome === "applied" && isUndisturbed(step) && !this.froze) {
        await this.#expectEmpty({ ...common, options });
      }
      return outcome;
    } catch (error) {
      // What a store or a fence may do to a run; everything else is a mistake of the engine.
      if (isEngineError(error, "ENGINE_FENCE_LOST", "ENGINE_PLAN_STALE")) return error.code;
      if (this.isDead) return "died";
      // A store that gives no answer ends a run, and a fence that was taken without knowing it runs out.
      if (isStorageError(error, "STORAGE_INCONSISTENT", "STORAGE_LEASE_LOST")) return error.code;
      // A plan cannot be made of what cannot be read.
      if (error instanceof CloudError) return "unreachable";
      oracle.told(error instanceof Error ? error.message : String(error));
      oracle.fail(
        1,
        `the run ended with ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
      return "broken";
    }
  }

  async #load(text: string): Promise<Configuration> {
    const configuration = await loadText(text);
    for (const { detail, summary } of configuration.diagnostics) {
      this.#parts.oracle.fail(0, `the configuration is not valid: ${summary}: ${detail}`);
    }
    return configuration;
  }

  #common(configuration: Configuration): EnginePlanRequest {
    const { oracle, given, sabotage } = this.#parts;
    return {
      state: this.state,
      configuration,
      variables: new Map([["canary", Value.string(CANARY).mark(Mark.sensitive)]]),
      parallelism: sabotage.parallelism ?? given.limits.parallelism,
      onEvent: (event: unknown) => {
        if (!this.isDead) oracle.told(toldText(event));
      },
    };
  }

  #plan(request: EnginePlanRequest): ReturnType<Engine["plan"]> {
    const options = this.#parts.sabotage.options?.(request.options ?? {}) ?? request.options;
    return this.#engine.plan({ ...request, ...(options && { options }) });
  }

  async #apply(
    { options: _options, ...common }: EnginePlanRequest & { readonly plan: Plan },
    step: SimStep,
  ): Promise<string> {
    const { oracle, given, sabotage } = this.#parts;
    const [first, second] = step.cancelMs ?? [];
    this.plan = common.plan;
    const plan =
      sabotage.ignoresRevision === true
        ? { ...common.plan, revision: (await this.state.head()).revision }
        : common.plan;
    const result = await this.#engine.apply({
      ...common,
      plan,
      run: this.#ulid(),
      limits: Object.fromEntries(
        ["model_thing", "model_named"].map((type) => [
          `type:${type}`,
          { maxConcurrent: sabotage.parallelism ?? given.limits.perType },
        ]),
      ),
      ...(first !== undefined && { signal: this.#abortAfter(first) }),
      ...(second !== undefined && { forceSignal: this.#abortAfter(second) }),
    });
    oracle.told(toldText(result.diagnostics));
    return result.status;
  }

  /** What an operator does: looks into the cloud for what no run could find out, and says what is there. */
  async resolveUnresolved(step: SimStep): Promise<void> {
    const { cloud } = this.#parts;
    const { objects, head } = await this.state.read();
    // An interrupted run is for the next one to recover.
    if (head.run !== "") return;
    if (![...objects.values()].some(({ phase }) => phase === "unresolved")) return;
    const text = configText(step.config, step.leases, step.moves);
    const { state, configuration, variables } = this.#common(await this.#load(text));
    await using hold = await state.acquire();
    await this.#engine.resolve({
      state,
      configuration,
      variables,
      hold,
      resolve: ({ operation }) => {
        if (operation?.kind !== "create") return { kind: "look" };
        const found = [...cloud.objects.values()].find(
          ({ createdBy }) => createdBy === operation.id,
        );
        return found === undefined ? { kind: "absent" } : { kind: "id", id: found.id };
      },
    });
  }

  async #expectEmpty(request: EnginePlanRequest): Promise<void> {
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

/** What a step plans. */
function optionsOf({ destroy, ways = {} }: SimStep): PlanOptions {
  const { targets, excludes, replace, refreshOnly, unread } = ways;
  return {
    mode: destroy ? "destroy" : refreshOnly ? "refresh-only" : "normal",
    ...(targets && { targets }),
    ...(excludes && { excludes }),
    ...(replace && { replace }),
    ...(unread && { read: { kind: "never" } }),
  };
}

/** Whether a complete apply leaves nothing to do. */
function isUndisturbed({ cloud, ways = {} }: SimStep): boolean {
  const { targets, excludes, refreshOnly, replace, unread, rival } = ways;
  const isPart = targets ?? excludes ?? refreshOnly ?? replace ?? unread ?? rival;
  return Object.keys(cloud).length === 0 && isPart === undefined;
}
