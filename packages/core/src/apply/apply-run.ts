import type { Clock } from "@stackwright/base/clock";
import { Value } from "@stackwright/cty";
import {
  type BoundBody,
  bindBody,
  type Diagnostic,
  evaluate,
  hasErrors,
  RESOURCE_META,
  type ResolvedProvider,
  type ResourceConfig,
} from "@stackwright/lang";
import type { LifecycleContext, ProviderDiagnostic } from "@stackwright/mux/router";
import type { Configuration } from "../configuration/configuration.ts";
import { EphemeralResources } from "../ephemeral/ephemeral-resources.ts";
import { recordedDependencies } from "../ephemeral/recorded-dependencies.ts";
import type { RunEventHandler, StepAction } from "../events.ts";
import type { ResourceChange } from "../plan/change.ts";
import type { Plan } from "../plan/plan.ts";
import { configOf } from "../planner/prevent-destroy.ts";
import { chooseProvider } from "../providers/choose-provider.ts";
import { configureProvider, configureUndeclared } from "../providers/configure-provider.ts";
import { aliasOf } from "../providers/provider-alias.ts";
import type { ProviderInstances } from "../providers/provider-instances.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { ProvisionerRunner } from "../provisioners/provisioner-runner.ts";
import type { CheckResult } from "../state/check-result.ts";
import { recordValue } from "../state/record-value.ts";
import type { StateWriter } from "../state/stack-state.ts";
import type { ObjectContent, ObjectPlan } from "../state/state-change.ts";
import type { Dependency } from "../state/state-object.ts";
import { blockType } from "../walk/block-type.ts";
import { validateConditions } from "../walk/conditions.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { recordIdentity } from "../walk/identity.ts";
import { repetitionsAround } from "../walk/repetitions-around.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import { openChecks } from "./open-checks.ts";
import { type ApplyTimeouts, timeoutOf } from "./timeouts.ts";

interface ApplyRunOptions {
  readonly plan: Plan;
  readonly configuration: Configuration;
  readonly world: EvaluationState;
  readonly slots: ReadonlyMap<string, InstanceSlot>;
  readonly writer: StateWriter;
  readonly providers: ProviderInstances;
  readonly clock: Clock;
  readonly ulid: () => string;
  readonly onEvent: RunEventHandler;
  /** The first stage of cancelling: a step that has not written its intent yet does nothing more. */
  readonly stop: AbortSignal;
  /** Ends the wait for calls: the second stage of cancelling, or a lost fence. */
  readonly force: AbortSignal;
  readonly sessionId: string;
  readonly timeouts: ApplyTimeouts;
  readonly progressMs: number;
  /** Absent where provisioners are not allowed. */
  readonly provisioners?: ProvisionerRunner;
}

/** What all steps of an apply share. */
export class ApplyRun {
  readonly given: ApplyRunOptions;
  readonly diagnostics: Diagnostic[] = [];
  readonly checks: CheckResult[] = [];
  /** Addresses of checks whose data source could not be read: their assertions have nothing to be about. */
  readonly unreadChecks = new Set<string>();
  /** Addresses of objects whose destruction an earlier part of the same run had begun. */
  readonly interruptedRemovals = new Set<string>();
  readonly #providers = new Map<string, Promise<ReadyProvider | undefined>>();
  readonly #bodies = new Map<ResourceConfig, BoundBody>();
  /** Objects that were left alone because something that they are made from is wrong, with what it is. */
  readonly blocked = new Map<string, string>();
  readonly #resolved = new Map<string, ResolvedProvider>();
  readonly #planned: ReadonlySet<string>;
  readonly #hasOpenVariables: boolean;
  readonly ephemerals: EphemeralResources;

  constructor(given: ApplyRunOptions) {
    this.given = given;
    for (const resolved of given.configuration.resolution.configurations.values()) {
      this.#resolved.set(`${resolved.source.toString()} ${aliasOf(resolved)}`, resolved);
    }
    this.#planned = new Set(given.plan.changes.map(({ address }) => address));
    this.#hasOpenVariables = openChecks(given.plan).some(({ kind }) => kind === "variable");
    const { world, clock, onEvent } = given;
    this.ephemerals = new EphemeralResources({
      world,
      clock,
      onEvent,
      context: this.context,
      call: async (work) => work(),
      providerOf: async (slot) => this.#providerOf(slot),
      report: (diagnostics) => this.report(diagnostics),
      keep: (result) => this.checks.push(result),
    });
  }

  /** The provider of an instance that the plan has no change for. */
  async #providerOf(slot: InstanceSlot): Promise<ReadyProvider | undefined> {
    const { configuration, plan, world } = this.given;
    const report = (found: readonly Diagnostic[]): void => this.report(found);
    const { resolved } =
      (await chooseProvider(configuration.resolution, world, slot, report)) ?? {};
    if (resolved === undefined) return undefined;
    const source = resolved.source.toString();
    const { version = "" } = plan.providers.find((one) => one.source === source) ?? {};
    return this.provider({ provider: { source, version, alias: aliasOf(resolved) } });
  }

  report(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) {
      this.diagnostics.push(diagnostic);
      this.given.onEvent({ type: "diagnostic", diagnostic });
    }
  }

  /** Reports what a provider says about an object that has no place in the configuration. */
  reportBare(diagnostics: readonly ProviderDiagnostic[], address: string): boolean {
    const found = diagnostics.map(({ severity, summary, detail }) => ({
      severity,
      code: "LANG_PROVIDER",
      summary,
      detail,
      address,
    }));
    this.report(found);
    return !hasErrors(found);
  }

  fail(summary: string, detail: string, address: string): void {
    this.report([{ severity: "error", code: "ENGINE_APPLY", summary, detail, address }]);
  }

  /** The provider of a change, configured with what is known now. */
  async provider(change: Pick<ResourceChange, "provider">): Promise<ReadyProvider | undefined> {
    const { source, alias } = change.provider;
    const key = `${source} ${alias}`;
    let ready = this.#providers.get(key);
    if (ready === undefined) {
      const { providers, world, onEvent } = this.given;
      const resolved = this.#resolved.get(key);
      const report = (diagnostics: readonly Diagnostic[]) => this.report(diagnostics);
      ready =
        resolved === undefined
          ? configureUndeclared({ reference: change.provider, providers, report })
          : configureProvider({
              resolved,
              reference: change.provider,
              providers,
              world,
              report,
              onEvent,
              known: this.given.plan.mode !== "refresh-only",
            });
      this.#providers.set(key, ready);
    }
    return ready;
  }

  /** The resource that an instance belongs to, in the configuration. */
  configOf(change: ResourceChange): ResourceConfig | undefined {
    return (
      this.slot(change)?.resource.config ?? configOf(this.given.configuration.root, change.address)
    );
  }

  slot(change: ResourceChange): InstanceSlot | undefined {
    return this.given.slots.get(change.address);
  }

  bodyOf(config: ResourceConfig, { use }: ReadyProvider): BoundBody | undefined {
    const known = this.#bodies.get(config);
    if (known !== undefined) return known;
    const schema = use.typeSchema(config.mode, config.type);
    if (schema === undefined) return undefined;
    const { body } = bindBody(config.body, schema.block, { meta: RESOURCE_META });
    this.#bodies.set(config, body);
    return body;
  }

  /** What is written of an object before it exists. */
  objectPlan(change: ResourceChange): ObjectPlan {
    const { mode, type, provider, createBeforeDestroy } = change;
    return { mode, type, provider, createBeforeDestroy, dependencies: this.dependencies(change) };
  }

  /** Dependencies of a change that can be recorded: instances that a partial plan left out may not exist yet. */
  dependencies(change: ResourceChange): readonly Dependency[] {
    const { writer, plan } = this.given;
    const dependencies = recordedDependencies(change.dependencies);
    if (!plan.partial) return dependencies;
    return dependencies.filter(
      ({ address, scope }) =>
        scope === "resource" || this.#planned.has(address) || writer.object(address) !== undefined,
    );
  }

  /** What is recorded of an object that exists. Values carry their marks. */
  content(
    change: Pick<ResourceChange, "mode" | "type">,
    { use }: ReadyProvider,
    object: {
      readonly value: Value;
      readonly privateBytes: Uint8Array;
      readonly identity?: Value | undefined;
    },
  ): ObjectContent {
    const schema = use.typeSchema(change.mode, change.type);
    if (schema === undefined) throw new TypeError(`there is no type ${change.type}`);
    const identity = recordIdentity(object.identity, schema);
    return {
      value: recordValue(object.value, blockType(schema.block), {
        schemaVersion: schema.version,
        writer: use.digest,
      }),
      privateBytes: object.privateBytes,
      ...(identity !== undefined && { identity }),
    };
  }

  get context(): LifecycleContext {
    return { signal: this.given.force, sessionId: this.given.sessionId };
  }

  /**
   * Evaluates something for a step, with all that it asks for. Undefined where it uses a value that must not be relied on,
   * because a check failed or an expression has an error; that is reported where it happened.
   */
  async evaluate<T>(change: ResourceChange, evaluate: () => T): Promise<T | undefined> {
    const { world } = this.given;
    await world.answered(evaluate);
    const { result, blocked } = world.recorder.record(evaluate);
    const [cause] = blocked;
    if (cause === undefined) return result;
    this.blocked.set(change.address, cause);
    return undefined;
  }

  /**
   * Whether a step is held back by what decides whether there is an instance, or by what its conditions read: a variable whose conditions
   * do not hold, as is known only now. Its arguments are evaluated after that.
   */
  async isHeldBack(change: ResourceChange, slot: InstanceSlot): Promise<boolean> {
    if (!this.#hasOpenVariables) return false;
    const { resource, context } = slot;
    const { config, module } = resource;
    const { preconditions = [], postconditions = [] } = config?.lifecycle ?? {};
    const own = module.scope.forInstance(context);
    const done = await this.evaluate(change, () => {
      for (const { expressions, scope } of repetitionsAround(resource)) {
        for (const expression of expressions) evaluate(expression, scope);
      }
      validateConditions(preconditions, own);
      validateConditions(
        postconditions,
        module.scope.forInstance({ ...context, self: Value.dynamic }),
      );
      return true;
    });
    if (done !== undefined) return false;
    // What the plan found of its conditions says nothing any more.
    for (const [kind, conditions] of [
      ["precondition", preconditions],
      ["postcondition", postconditions],
    ] as const) {
      for (const index of conditions.keys()) {
        this.checks.push({ address: change.address, kind, index, status: "unknown" });
      }
    }
    return true;
  }

  /** Runs one call with a deadline, telling how long it has been going on. */
  async timed<T>(
    change: ResourceChange,
    action: StepAction,
    call: (context: LifecycleContext) => Promise<T>,
  ): Promise<T> {
    const { clock, onEvent, force, progressMs, sessionId, timeouts } = this.given;
    const begun = clock.monotonicMs();
    const { address, deposed } = change;
    const limitMs = timeoutOf(timeouts, change, action);
    const controller = limitMs === undefined ? undefined : new AbortController();
    const timers = new Set<Disposable>();
    if (controller !== undefined && limitMs !== undefined) {
      timers.add(
        clock.after(limitMs, () => {
          controller.abort(new Error(`${action} of ${address} took longer than ${limitMs} ms`));
        }),
      );
    }
    let ticking: Disposable | undefined;
    const tick = (): void => {
      ticking = clock.after(progressMs, () => {
        onEvent({
          type: "progress",
          address,
          deposed,
          action,
          elapsedMs: clock.monotonicMs() - begun,
        });
        tick();
      });
    };
    tick();
    try {
      const signal = controller === undefined ? force : AbortSignal.any([force, controller.signal]);
      return await call({ signal, sessionId, address });
    } finally {
      ticking?.[Symbol.dispose]();
      for (const timer of timers) timer[Symbol.dispose]();
    }
  }
}
