import { type Path, Value } from "@stackwright/cty";
import {
  type Diagnostic,
  type EvaluatedBody,
  evaluateBody,
  hasErrors,
  providerDiagnostic,
} from "@stackwright/lang";
import {
  type PlanReply,
  type ProviderDiagnostic,
  proposeState,
  type ResourceSchema,
} from "@stackwright/mux/router";
import { assertPlanValid, isRefused, violationsToDiagnostics } from "@stackwright/tfplugin/checks";
import type { ActionReason, ResourceChange } from "../plan/change.ts";
import { pathOutsideSecrets } from "../plan/path-outside-secrets.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import { blockType } from "../walk/block-type.ts";
import { evaluateConditions, validateConditions } from "../walk/conditions.ts";
import { extractMarks, markObject, withoutMarks } from "../walk/object-marks.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import { attributeCauses } from "./causes.ts";
import { hasDependencies } from "./has-dependencies.ts";
import { applyIgnoreChanges, ignoredMarks } from "./ignore-changes.ts";
import { infinitePart } from "./infinite-part.ts";
import type { ManagedInstance } from "./managed-instance.ts";
import { planProvisioners } from "./plan-provisioners.ts";
import { dependenciesOf } from "./plan-run.ts";
import type { RefreshedObject } from "./read-object.ts";
import { firedTrigger, triggersOf } from "./replace.ts";

/**
 * Plans one instance: evaluates its configuration, lets the provider check it and say what an apply would do, and decides
 * between changing the object and replacing it. Undefined after an error, which is reported.
 */
export async function planManaged(instance: ManagedInstance): Promise<ResourceChange | undefined> {
  return new ManagedPlanner(instance).plan();
}

/** What a provider plans, checked. */
interface Answer extends PlanReply {
  readonly planned: Value;
  /** The paths that force replacement because something changes there. */
  readonly replacePaths: readonly Path[];
}

class ManagedPlanner {
  readonly #it: ManagedInstance;

  constructor(instance: ManagedInstance) {
    this.#it = instance;
  }

  async plan(): Promise<ResourceChange | undefined> {
    const { run, slot, config, body, seen } = this.#it;
    const scope = slot.resource.module.scope.forInstance(slot.context);
    await run.world.answered(() => {
      validateConditions(config.lifecycle.preconditions, scope);
      return evaluateBody(body, scope);
    });
    const { result, targets } = run.world.recorder.record(() => {
      const good = this.#conditions("precondition", scope);
      return good ? evaluateBody(body, scope) : undefined;
    });
    if (result === undefined) return undefined;
    this.#report(result.diagnostics);
    if (hasErrors(result.diagnostics)) return undefined;
    const { secrets } = this.#it.ready.use;
    secrets.addValue(result.value);
    const { plain, sensitive } = extractMarks(result.value);
    if (!(await this.#isValid(plain, result))) return undefined;

    const type = blockType(this.#it.schema.block);
    const nothing = Value.null(type);
    const tainted = seen?.recorded.phase === "tainted";
    const current = seen?.value;
    const prior = current === undefined || tainted ? nothing : withoutMarks(current);
    const configured = applyIgnoreChanges(plain, prior, config.lifecycle.ignoreChanges);
    const first = await this.#ask(prior, configured, seen, result);
    if (first === undefined) return undefined;

    let reply: Answer = first;
    let reason: ActionReason | undefined;
    if (tainted && current !== undefined) {
      reason = this.#isTriggered() ? "replace-by-triggers" : "replace-because-tainted";
    }
    let replacePaths: readonly Path[] = [];
    if (!prior.isNull) {
      ({ replacePaths } = first);
      reason = this.#replaceReason(replacePaths);
      if (reason !== undefined) {
        const created = await this.#ask(nothing, plain, undefined, result);
        if (created === undefined) return undefined;
        reply = created;
      }
    }
    const replacing = reason !== undefined;
    const before = prior.isNull || replacing ? undefined : current;
    const marks = [
      ...ignoredMarks(sensitive, before, config.lifecycle.ignoreChanges),
      ...(reply.sensitive ?? []),
    ];
    const after = markObject(reply.planned, this.#it.schema.block, marks);
    secrets.addValue(after);
    const infinite = infinitePart(after);
    if (infinite !== undefined) {
      run.fail(
        "Infinite number",
        `${slot.address}${pathOutsideSecrets(infinite, after).toString()} would be infinite, which cannot be recorded. A division by zero is a usual cause.`,
        { subject: config.range, address: slot.address },
      );
      return undefined;
    }
    slot.value = after;
    const own = slot.resource.module.scope.forInstance({ ...slot.context, self: after });
    await run.world.answered(() => validateConditions(config.lifecycle.postconditions, own));
    const self = run.world.recorder.record(() => this.#conditions("postcondition", own));
    if (!self.result) return undefined;
    const action = this.#action(current, after, replacing);
    const { createFirst } = this;
    const planned = { action, createFirst, current, scope: own };
    const provisioned = await planProvisioners(this.#it, planned);
    if (provisioned === undefined) return undefined;
    return this.#change({
      action,
      after: action === "no-op" ? (current ?? after) : after,
      reply,
      reason,
      replacePaths,
      targets: new Set([...targets, ...self.targets, ...provisioned.targets]),
      provisioners: provisioned.steps,
    });
  }

  /** Whether a replacement is created before the old object is destroyed. */
  get createFirst(): boolean {
    const { run, slot, config } = this.#it;
    return (
      config.lifecycle.createBeforeDestroy === true ||
      run.given.createBeforeDestroy.has(configAddressOf(slot))
    );
  }

  #conditions(
    kind: "precondition" | "postcondition",
    scope: Parameters<typeof evaluateBody>[1],
  ): boolean {
    const { run, slot, config } = this.#it;
    const conditions =
      kind === "precondition" ? config.lifecycle.preconditions : config.lifecycle.postconditions;
    if (conditions.length === 0) return true;
    return evaluateConditions({
      address: slot.address,
      kind,
      conditions,
      scope,
      report: (diagnostics) => run.report(diagnostics),
      keep: (result) => run.checks.push(result),
    });
  }

  #report(diagnostics: readonly Diagnostic[]): void {
    const { run, slot } = this.#it;
    if (diagnostics.length === 0) return;
    run.report(diagnostics.map((one) => ({ ...one, address: one.address ?? slot.address })));
  }

  #providerReport(problems: readonly ProviderDiagnostic[], body: EvaluatedBody): boolean {
    const { slot } = this.#it;
    const found = problems.map((one) => providerDiagnostic(body, one, slot.address));
    this.#report(found);
    return !hasErrors(found);
  }

  async #isValid(config: Value, body: EvaluatedBody): Promise<boolean> {
    const { run, ready, slot, config: resource } = this.#it;
    const { type } = resource;
    const { provider } = ready.use;
    const reply = await run.validConfigs.ask(resource, provider, config, async () =>
      run.call(slot.address, ready.use, async () =>
        provider.validateResource({ type, config, writeOnlyAllowed: true }, this.#context),
      ),
    );
    return this.#providerReport(reply.diagnostics, body);
  }

  get #context() {
    const { run, slot } = this.#it;
    const { signal } = run.given;
    return { address: slot.address, ...(signal && { signal }) };
  }

  async #ask(
    prior: Value,
    config: Value,
    seen: RefreshedObject | undefined,
    body: EvaluatedBody,
  ): Promise<Answer | undefined> {
    const { run, ready, schema } = this.#it;
    const exists = !prior.isNull;
    const request = {
      type: this.#it.config.type,
      prior,
      config,
      proposed: proposeState(schema.block, prior, config),
      priorPrivate: exists && seen !== undefined ? seen.privateBytes : new Uint8Array(),
      ...(exists && seen?.identity !== undefined && { priorIdentity: seen.identity }),
      deferralAllowed: false,
    };
    const isAsRecorded =
      seen !== undefined &&
      this.#it.importing === undefined &&
      !needsRecord(seen, seen.value, ready, schema);
    const { use } = ready;
    const question = { use, block: schema.block, request, isAsRecorded };
    const reply = await run.unchanged.answer(question, async () =>
      run.call(this.#it.slot.address, use, async () => use.provider.plan(request, this.#context)),
    );
    const { planned } = reply;
    if (!this.#providerReport(reply.diagnostics, body) || planned === undefined) return undefined;
    const { violations, requiresReplace: replacePaths } = assertPlanValid({
      block: schema.block,
      prior,
      config,
      planned,
      requiresReplace: reply.requiresReplace,
      legacyTypeSystem: reply.legacyTypeSystem,
    });
    if (!isRefused(violations)) return { ...reply, planned, replacePaths };
    const subject = `${this.#it.slot.address} (${ready.use.reference.source})`;
    const refused = violations.filter(({ tolerated }) => !tolerated);
    this.#providerReport(violationsToDiagnostics(refused, "plan", subject), body);
    return undefined;
  }

  #replaceReason(paths: readonly Path[]): ActionReason | undefined {
    // Of several reasons the reference gives the first of these, triggers also for objects that are tainted.
    if (this.#isTriggered()) return "replace-by-triggers";
    if (this.#it.run.isReplaced(this.#it.slot.address)) return "replace-by-request";
    return paths.length > 0 ? "replace-because-cannot-update" : undefined;
  }

  #isTriggered(): boolean {
    const { run, slot, config } = this.#it;
    const changeOf = (other: InstanceSlot): ResourceChange | undefined => run.bySlot.get(other);
    return firedTrigger(config.lifecycle.replaceTriggeredBy, { slot, changeOf }) !== undefined;
  }

  #action(current: Value | undefined, after: Value, replacing: boolean): ResourceChange["action"] {
    if (current === undefined) return "create";
    if (replacing) return "replace";
    return current.rawEquals(after) ? "no-op" : "update";
  }

  #change({
    action,
    after,
    reply,
    reason,
    replacePaths,
    targets,
    provisioners,
  }: {
    readonly action: ResourceChange["action"];
    readonly after: Value;
    readonly reply: PlanReply;
    readonly reason: ActionReason | undefined;
    readonly replacePaths: readonly Path[];
    readonly targets: ReadonlySet<Target>;
    readonly provisioners: NonNullable<ResourceChange["provisioners"]>;
  }): ResourceChange {
    const { run, slot, config, ready, seen, schema, importing, around, explicit } = this.#it;
    const before = seen?.value;
    const triggers = triggersOf(config.lifecycle.replaceTriggeredBy, slot);
    const dependencies = [
      ...dependenciesOf(slot.address, new Set([...around, ...targets, ...triggers]), "reference"),
      ...dependenciesOf(slot.address, explicit, "explicit"),
      ...dependenciesOf(slot.address, ready.targets, "provider"),
    ];
    const forcedFor = run.given.createBeforeDestroy.get(configAddressOf(slot));
    const { createFirst } = this;
    const previousAddress = run.given.previous.get(slot.address);
    const recorded = seen?.recorded;
    const record =
      seen !== undefined &&
      importing === undefined &&
      (needsRecord(seen, before, ready, schema) ||
        recorded?.createBeforeDestroy !== createFirst ||
        !hasDependencies(recorded, dependencies));
    return {
      address: slot.address,
      deposed: "",
      mode: "managed",
      type: config.type,
      name: config.name,
      module: slot.resource.module.address,
      key: slot.key,
      provider: ready.use.reference,
      action,
      ...(action === "replace" && {
        order: createFirst ? ("create-first" as const) : ("delete-first" as const),
      }),
      ...(action === "replace" && reason !== undefined && { reason }),
      ...(previousAddress !== undefined && { previousAddress }),
      ...(importing !== undefined && { importing }),
      ...(before !== undefined && { before }),
      after,
      replacePaths,
      causes: attributeCauses(this.#it, { action, before, after, replacePaths, targets }),
      words: {
        priorPrivate: seen?.privateBytes ?? new Uint8Array(),
        plannedPrivate: reply.plannedPrivate,
        ...(seen?.identity !== undefined && { priorIdentity: seen.identity }),
        ...(reply.plannedIdentity !== undefined && { plannedIdentity: reply.plannedIdentity }),
      },
      schemaVersion: schema.version,
      dependencies,
      createBeforeDestroy: createFirst,
      ...(forcedFor !== undefined && { createBeforeDestroyFor: forcedFor }),
      ...(provisioners.length > 0 && { provisioners }),
      record,
      legacyTypeSystem: reply.legacyTypeSystem,
    };
  }
}

/** Address of the resource in the configuration, without any keys. */
function configAddressOf({ resource }: InstanceSlot): string {
  const { path } = resource.module.node;
  return [...path.map((name) => `module.${name}`), resource.name].join(".");
}

/** Whether the recorded object differs from the real one. */
function needsRecord(
  seen: RefreshedObject,
  before: Value | undefined,
  { use }: ReadyProvider,
  schema: ResourceSchema,
): boolean {
  const { recorded, stored, converted } = seen;
  if (converted === true) return true;
  if (recorded.value?.schemaVersion !== schema.version) return true;
  const { source, version, alias } = recorded.provider;
  const now = use.reference;
  if (source !== now.source || version !== now.version || alias !== now.alias) return true;
  return before !== undefined && !before.rawEquals(stored);
}
