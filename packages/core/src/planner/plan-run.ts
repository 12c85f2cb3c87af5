import type { Clock } from "@stackwright/base/clock";
import { Semaphore } from "@stackwright/base/limiter";
import type { Value } from "@stackwright/cty";
import {
  type Address,
  type BoundBody,
  bindBody,
  type Diagnostic,
  formatModulePath,
  hasErrors,
  type ModuleNode,
  type ModulePath,
  type ProviderResolution,
  parseAddress,
  RESOURCE_META,
  type RemovedStatement,
  type ResolvedImport,
  type ResolvedProvider,
  type ResourceConfig,
} from "@stackwright/lang";
import { formatProviderReference, type ProviderReference } from "@stackwright/mux/router";
import { EphemeralResources } from "../ephemeral/ephemeral-resources.ts";
import { throughEphemerals } from "../ephemeral/recorded-dependencies.ts";
import type { RunEventHandler } from "../events.ts";
import type { Drift, ResourceChange } from "../plan/change.ts";
import type { PlannedExpansion, PlanOptions } from "../plan/plan.ts";
import { providerCallError } from "../plan/provider-call-error.ts";
import { chooseProvider } from "../providers/choose-provider.ts";
import {
  configureProvider,
  configureUndeclared,
  startProvider,
} from "../providers/configure-provider.ts";
import { aliasOf, formatAlias, parseAlias } from "../providers/provider-alias.ts";
import type { ProviderInstance, ProviderInstances } from "../providers/provider-instances.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { CheckResult } from "../state/check-result.ts";
import { resourceOf } from "../state/check-state.ts";
import { type Dependency, objectKey, type StateObject } from "../state/state-object.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot, ResourceValues } from "../walk/resource-values.ts";
import type { Waiting } from "./deferral.ts";
import { type ImportCollector, type ImportsByNode, importRequests } from "./imports.ts";
import type { PlanReuse } from "./plan-reuse.ts";
import { isReplaceRequest } from "./replace-requests.ts";
import { UnchangedPlans } from "./unchanged-plans.ts";
import { ValidConfigs } from "./valid-configs.ts";

interface PlanRunOptions {
  readonly world: EvaluationState;
  readonly resolution: ProviderResolution;
  readonly providers: ProviderInstances;
  /** Versions by source. */
  readonly versions: ReadonlyMap<string, string>;
  readonly options: Required<PlanOptions>;
  /** The instances that were requested to be replaced. */
  readonly replace: readonly Address[];
  readonly parallelism: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly onEvent: RunEventHandler;
  /** Recorded objects under the addresses that they will have, with those they had. */
  readonly objects: ReadonlyMap<string, StateObject>;
  readonly previous: ReadonlyMap<string, string>;
  readonly createBeforeDestroy: ReadonlyMap<string, string | undefined>;
  readonly root: ModuleNode;
  readonly removed: readonly RemovedStatement[];
  /** Whether a change may run provisioners. */
  readonly provisioners: boolean;
  readonly importBlocks: ImportsByNode;
  readonly collector?: ImportCollector | undefined;
  readonly isIncluded: (address: string) => boolean;
  /** Objects that something needs by record which the plan leaves out: they cannot be ended. */
  readonly kept: ReadonlySet<StateObject>;
  /** Whether what cannot be planned yet is left to a later stage. */
  readonly staged: boolean;
  /** What may be used again of the last plan. @default nothing, and nothing is kept for the next one */
  readonly reuse?: PlanReuse | undefined;
}

/** What all parts of planning share: the world, the recorded objects, what was planned so far. */
export class PlanRun {
  readonly given: PlanRunOptions;
  readonly diagnostics: Diagnostic[] = [];
  readonly changes = new Map<string, ResourceChange>();
  readonly drift: Drift[] = [];
  readonly checks: CheckResult[] = [];
  /** Addresses of checks whose data source could not be read: their assertions have nothing to be about. */
  readonly unreadChecks = new Set<string>();
  readonly expansions: PlannedExpansion[] = [];
  /** Addresses of outputs of modules that are null. */
  readonly emptyOutputs: string[] = [];
  /** What cannot be planned yet, by address; only where plans are made in stages. */
  readonly waiting = new Map<string, Waiting>();
  /** Values of instances that the plan is not about, for those that are. */
  readonly known = new Map<string, Value>();
  /** Change of an instance, for what depends on whether there is one. */
  readonly bySlot = new Map<InstanceSlot, ResourceChange>();
  /** Resources of which some instance changes. */
  readonly changed = new Set<ResourceValues>();
  /** Addresses of objects whose end was decided with their resource. */
  readonly handled = new Set<string>();
  readonly calls: Semaphore;
  readonly ephemerals: EphemeralResources;
  readonly validConfigs = new ValidConfigs();
  readonly unchanged: UnchangedPlans;
  readonly nowMs: number;
  readonly #providers = new Map<string, Promise<ReadyProvider | undefined>>();
  readonly #bodies = new Map<ResourceConfig, BoundBody>();
  /** By address of the resource. */
  #objects: ReadonlyMap<string, readonly StateObject[]> | undefined;
  /** By address of the call: the instances of modules behind it that have objects, by their addresses. */
  #recordedModules: ReadonlyMap<string, ReadonlyMap<string, RecordedModule>> | undefined;

  constructor(given: PlanRunOptions) {
    this.given = given;
    this.calls = new Semaphore(given.parallelism);
    this.nowMs = given.clock.wallMs();
    this.unchanged = new UnchangedPlans(given.options.pureProviders);
    const { world, clock, onEvent, signal } = given;
    this.ephemerals = new EphemeralResources({
      world,
      clock,
      onEvent,
      context: { ...(signal && { signal }) },
      call: async (work) => this.calls.run(work),
      providerOf: async (slot) => this.providerOf(slot),
      report: (diagnostics) => this.report(diagnostics),
      keep: (result) => this.checks.push(result),
      isPending: (targets) => [...targets].some((target) => this.isChanged(target)),
    });
  }

  /** Asks a provider about an object, within the limit of calls. What it rejects with names both. */
  async call<T>(
    address: string,
    { reference }: ProviderInstance,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await this.calls.run(work);
    } catch (error) {
      if (this.given.signal?.aborted === true) throw error;
      throw providerCallError(address, reference.source, error);
    }
  }

  /** Recorded objects of a resource, in all its instances. */
  objectsOf(resourceAddress: string): readonly StateObject[] {
    this.#objects ??= Map.groupBy(this.given.objects.values(), ({ address }) =>
      resourceOf(address),
    );
    return this.#objects.get(resourceAddress) ?? [];
  }

  /** Whether there is an instance of a module; its own instances are known by now. */
  hasModule(path: ModulePath): boolean {
    return path.length === 0 || this.world.module(formatModulePath(path)) !== undefined;
  }

  /** The resources that have objects in instances of modules behind a call that are no more. The instances behind it are known by now. */
  resourcesOfEndedModules(callAddress: string): readonly string[] {
    this.#recordedModules ??= modulesByCall(this.given.objects.values());
    const recorded = this.#recordedModules.get(callAddress)?.values() ?? [];
    return Array.from(recorded).flatMap(({ path, resources }) =>
      this.hasModule(path) ? [] : [...resources],
    );
  }

  get world(): EvaluationState {
    return this.given.world;
  }

  get reuse(): PlanReuse | undefined {
    return this.given.reuse;
  }

  report(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) {
      this.diagnostics.push(diagnostic);
      this.given.onEvent({ type: "diagnostic", diagnostic });
    }
  }

  fail(
    summary: string,
    detail: string,
    place: Partial<Pick<Diagnostic, "subject" | "address">> = {},
  ): void {
    this.report([{ severity: "error", code: "ENGINE_PLAN", summary, detail, ...place }]);
  }

  get failed(): boolean {
    return hasErrors(this.diagnostics) || hasErrors(this.world.diagnostics);
  }

  /** Import blocks for the instances of a node, by address; evaluated once. */
  importsFor(node: string): ReadonlyMap<string, ResolvedImport> {
    const known = this.#imports.get(node);
    if (known !== undefined) return known;
    const { root, importBlocks } = this.given;
    const requests = importRequests(this, root, importBlocks.get(node) ?? []);
    this.#imports.set(node, requests);
    return requests;
  }
  readonly #imports = new Map<string, ReadonlyMap<string, ResolvedImport>>();

  /** Import requests of all nodes that were walked. */
  get importRequests(): readonly (readonly [string, ResolvedImport])[] {
    return [...this.#imports.values()].flatMap((requests) => [...requests]);
  }

  /** Keeps a planned change. Every (address, deposed key) has one. */
  plan(change: ResourceChange, slot?: InstanceSlot): void {
    this.changes.set(objectKey(change), change);
    if (slot !== undefined) {
      this.bySlot.set(slot, change);
      if (change.action !== "no-op") this.changed.add(slot.resource);
    }
    const { address, deposed, action } = change;
    this.given.onEvent({ type: "planned", address, deposed, action });
  }

  /** Whether an object that was read changes. */
  isChanged(target: Target): boolean {
    if (target.kind === "resource") return this.changed.has(target);
    const change = this.bySlot.get(target);
    return change !== undefined && change.action !== "no-op";
  }

  /** Whether a replacement of this instance was requested. */
  isReplaced(address: string): boolean {
    return isReplaceRequest(this.given.replace, address);
  }

  /** The body of a resource as its schema understands it; read once. */
  bodyOf(config: ResourceConfig, use: ProviderInstance): BoundBody | undefined {
    const known = this.#bodies.get(config);
    if (known !== undefined) return known;
    const schema = use.typeSchema(config.mode, config.type);
    if (schema === undefined) return undefined;
    const { body, diagnostics } = bindBody(config.body, schema.block, { meta: RESOURCE_META });
    this.report(diagnostics);
    this.#bodies.set(config, body);
    return body;
  }

  referenceOf(provider: ResolvedProvider): ProviderReference {
    const source = provider.source.toString();
    return { source, version: this.given.versions.get(source) ?? "", alias: aliasOf(provider) };
  }

  /** The provider of an instance in the configuration; undefined where there is none, which is reported. */
  async providerOf(slot: InstanceSlot): Promise<ReadyProvider | undefined> {
    const { resolution } = this.given;
    const chosen = await chooseProvider(resolution, this.world, slot, (found) =>
      this.report(found),
    );
    const ready = chosen && (await this.configured(chosen.resolved));
    if (ready === undefined || chosen === undefined || chosen.targets.size === 0) return ready;
    return { ...ready, targets: new Set([...ready.targets, ...chosen.targets]) };
  }

  /** The provider of a resource in the configuration, for its schemas: configured where it has only one configuration. */
  async providerOfResource(
    module: ModuleNode,
    config: ResourceConfig,
  ): Promise<ReadyProvider | undefined> {
    const resolved = this.given.resolution.forResource(module, config);
    if (resolved?.instances === undefined) return resolved && this.configured(resolved);
    return this.#unconfigured(this.referenceOf(resolved));
  }

  /** The provider that a recorded object belongs to, as it is configured now. */
  async providerOfObject({ provider, address }: StateObject): Promise<ReadyProvider | undefined> {
    const { module, alias, key } = parseAlias(provider.alias);
    const whole = formatAlias({ module, alias });
    for (const resolved of this.given.resolution.configurations.values()) {
      if (resolved.source.toString() !== provider.source) continue;
      const own = aliasOf(resolved);
      if (own === provider.alias && resolved.instances === undefined)
        return this.configured(resolved);
      if (own !== whole || resolved.instances === undefined) continue;
      if (key === undefined || !resolved.instances.has(key))
        return this.#instanceNotPresent(address, resolved, key);
    }
    if (provider.alias !== "") {
      this.fail(
        "Provider configuration not present",
        `${address} needs the provider configuration ${provider.source} (${provider.alias}), which no longer exists. Keep it until the object is destroyed.`,
        { address },
      );
      return undefined;
    }
    return this.#bare(provider);
  }

  /** An object of a configuration that has `for_each`, in which its instance is not. */
  #instanceNotPresent(
    address: string,
    { address: provider }: ResolvedProvider,
    key?: string,
  ): undefined {
    const detail =
      key === undefined
        ? `${address} needs the provider configuration ${provider} without a key, which has for_each now. Go back to the configuration without for_each until the object is destroyed or forgotten, or declare the object with an instance of the provider.`
        : `${address} needs the instance ${JSON.stringify(key)} of the provider configuration ${provider}, which its for_each does not have. Add the element again to destroy the object, and remove it after that. An element of the resource can be removed only while the provider still has it.`;
    this.fail("Provider instance not present", detail, { address });
  }

  async configured(resolved: ResolvedProvider): Promise<ReadyProvider | undefined> {
    const { address } = resolved;
    let ready = this.#providers.get(address);
    if (ready === undefined) {
      ready = this.#configure(resolved);
      this.#providers.set(address, ready);
    }
    return ready;
  }

  async #configure(resolved: ResolvedProvider): Promise<ReadyProvider | undefined> {
    return configureProvider({
      resolved,
      reference: this.referenceOf(resolved),
      providers: this.given.providers,
      world: this.world,
      report: (diagnostics) => this.report(diagnostics),
      onEvent: this.given.onEvent,
      known: false,
      onlyKnown: this.given.staged,
    });
  }

  /**
   * Whether a block waits for a later stage because its provider cannot be asked about real objects in this one.
   *
   * @param address without keys
   */
  waitsForProvider(address: string, { reachable, use }: ReadyProvider): boolean {
    if (!this.given.staged || reachable) return false;
    const provider = formatProviderReference(use.reference);
    const because = `the configuration of its provider ${provider} depends on values that are known after this stage`;
    this.waiting.set(address, { address, because });
    return true;
  }

  /** A provider that is asked for its schemas only. Undefined after an error, which is reported. */
  async #unconfigured(reference: ProviderReference): Promise<ReadyProvider | undefined> {
    const { providers, onEvent } = this.given;
    const report = (found: readonly Diagnostic[]) => this.report(found);
    const use = await startProvider({ reference, providers, report, onEvent });
    return use && { use, reachable: false, targets: new Set() };
  }

  /** A provider that the configuration does not refer to: without configuration. */
  async #bare(reference: ProviderReference): Promise<ReadyProvider | undefined> {
    const key = `bare ${reference.source}`;
    let ready = this.#providers.get(key);
    if (ready === undefined) {
      const version = this.given.versions.get(reference.source) ?? reference.version;
      ready = configureUndeclared({
        reference: { ...reference, version },
        providers: this.given.providers,
        report: (diagnostics) => this.report(diagnostics),
      });
      this.#providers.set(key, ready);
    }
    return ready;
  }
}

/** What an evaluation read, as dependencies. With ephemeral resources also what those were opened from. */
export function dependenciesOf(
  self: string,
  targets: Iterable<Target>,
  kind: Dependency["kind"],
): Dependency[] {
  const found: Dependency[] = [];
  for (const target of throughEphemerals(targets)) {
    if (target.address === self) continue;
    const scope = target.kind === "instance" ? "instance" : "resource";
    found.push({ address: target.address, scope, kind });
  }
  return found;
}

/** An instance of a module with managed objects, and the addresses of their resources. */
interface RecordedModule {
  readonly path: ModulePath;
  readonly resources: Set<string>;
}

/** The instances of modules that have managed objects, by each call on the way to them. */
function modulesByCall(
  objects: Iterable<StateObject>,
): ReadonlyMap<string, ReadonlyMap<string, RecordedModule>> {
  const modules = new Map<string, RecordedModule>();
  for (const { address, mode } of objects) {
    const { value } = parseAddress(address);
    if (mode !== "managed" || value === undefined) continue;
    const name = formatModulePath(value.module);
    const recorded = modules.get(name) ?? { path: value.module, resources: new Set() };
    recorded.resources.add(resourceOf(address));
    modules.set(name, recorded);
  }
  const found = new Map<string, Map<string, RecordedModule>>();
  for (const [name, recorded] of modules) {
    for (const [at, step] of recorded.path.entries()) {
      const call = formatModulePath([...recorded.path.slice(0, at), { ...step, key: undefined }]);
      const behind = found.get(call) ?? new Map<string, RecordedModule>();
      behind.set(name, recorded);
      found.set(call, behind);
    }
  }
  return found;
}
