import { type Value } from "@stackwright/cty";
import {
  type BoundBody,
  type Diagnostic,
  evaluateBody,
  hasErrors,
  providerDiagnostic,
  type ResourceConfig,
} from "@stackwright/lang";
import type { ProviderDiagnostic, ResourceSchema } from "@stackwright/mux/router";
import type { ActionReason, ResourceChange } from "../plan/change.ts";
import { shownId } from "../plan/shown-id.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { StateObject } from "../state/state-object.ts";
import { asWarningsOfCheck, unreadCheck } from "../walk/check-data.ts";
import { evaluateConditions, validateConditions } from "../walk/conditions.ts";
import { extractMarks, markObject, withoutMarks } from "../walk/object-marks.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import { unknownComputed } from "../walk/unknown-computed.ts";
import { hasDependencies } from "./has-dependencies.ts";
import { dependenciesOnEnded } from "./pending-changes.ts";
import { dependenciesOf, type PlanRun } from "./plan-run.ts";
import { upgradeObject } from "./read-object.ts";

/** One instance of a data source. */
interface DataInstance {
  readonly run: PlanRun;
  readonly slot: InstanceSlot;
  readonly config: ResourceConfig;
  readonly body: BoundBody;
  readonly schema: ResourceSchema;
  readonly ready: ReadyProvider;
  readonly recorded: StateObject | undefined;
  readonly around: ReadonlySet<Target>;
  readonly explicit: ReadonlySet<Target>;
  /** Managed resources with changes that the read has to wait for, besides the explicit ones. */
  readonly pending: ReadonlySet<Target>;
  /** Resources whose objects it waits for the end of, as nothing of the configuration stands for them. */
  readonly ended: readonly string[];
  /** The check that it belongs to, by its address: what fails warns, and the check fails with it. */
  readonly check: string | undefined;
}

/**
 * Reads a data source, or says that it is read during apply: because its configuration is not known yet, or because
 * something that it depends on explicitly, or refers to directly, really changes. Undefined after an error, which is reported.
 */
export async function planData(instance: DataInstance): Promise<ResourceChange | undefined> {
  const { run, slot, config, body, schema, ready, explicit, pending, recorded, around } = instance;
  const { check } = instance;
  const scope = slot.resource.module.scope.forInstance(slot.context);
  const reportAs = (found: readonly Diagnostic[], changed: Partial<Diagnostic>): boolean => {
    run.report(found.map((one) => ({ ...one, ...changed, address: one.address ?? slot.address })));
    return !hasErrors(found);
  };
  const report = (found: readonly Diagnostic[]): boolean =>
    reportAs(found, check === undefined ? {} : { severity: "warning" });
  // A refresh promises nothing: its result is taken as it is, and reported.
  const refreshOnly = run.given.options.mode === "refresh-only";
  const reportPartly = (found: readonly Diagnostic[]): boolean => {
    reportAs(found, { severity: "warning" });
    return true;
  };
  const conditions = (kind: "precondition" | "postcondition", self?: Value): boolean => {
    const good = evaluateConditions({
      address: slot.address,
      kind,
      conditions:
        kind === "precondition" ? config.lifecycle.preconditions : config.lifecycle.postconditions,
      scope:
        self === undefined
          ? scope
          : slot.resource.module.scope.forInstance({ ...slot.context, self }),
      report: refreshOnly ? reportPartly : report,
      keep: (result) => run.checks.push(result),
    });
    return good || refreshOnly;
  };
  await run.world.answered(() => {
    validateConditions(config.lifecycle.preconditions, scope);
    return evaluateBody(body, scope);
  });
  const { result, targets } = run.world.recorder.record(() =>
    conditions("precondition") ? evaluateBody(body, scope) : undefined,
  );
  // The arguments are part of the configuration, also where the data source belongs to a check.
  if (result === undefined || !reportAs(result.diagnostics, {})) return undefined;
  ready.use.secrets.addValue(result.value);
  const { plain, sensitive } = extractMarks(result.value);
  const place = (problems: readonly ProviderDiagnostic[]) =>
    problems.map((problem) => providerDiagnostic(result, problem, slot.address));
  const { signal } = run.given;
  const context = { address: slot.address, ...(signal && { signal }) };
  const { use } = ready;
  /** True where nothing is wrong. A check whose data source cannot be read has failed; the plan continues. */
  const reportAnswer = (problems: readonly ProviderDiagnostic[]): boolean => {
    const found = place(problems);
    if (check === undefined) return report(found);
    reportAs(asWarningsOfCheck(check, found), {});
    if (!hasErrors(found)) return true;
    run.checks.push(unreadCheck(check, found));
    run.unreadChecks.add(check);
    return false;
  };
  const valid = await run.call(slot.address, use, async () =>
    use.provider.validateDataSource(
      { type: config.type, config: plain, writeOnlyAllowed: true },
      context,
    ),
  );
  const isValid = reportAnswer(valid.diagnostics);
  if (!isValid && check === undefined) return undefined;

  let reason = isValid ? deferral(instance, plain) : "read-because-check-nested";
  const unknown = () => markObject(unknownComputed(schema.block, plain), schema.block, sensitive);
  let after = unknown();
  let deferred = reason !== undefined;
  if (!deferred) {
    const { clock, onEvent } = run.given;
    const begunMs = clock.monotonicMs();
    onEvent({ type: "read-start", address: slot.address, deposed: "" });
    const reply = await run.call(slot.address, use, async () =>
      use.provider.readDataSource(
        { type: config.type, config: plain, deferralAllowed: false },
        context,
      ),
    );
    onEvent({
      type: "read-end",
      address: slot.address,
      deposed: "",
      elapsedMs: Math.floor(clock.monotonicMs() - begunMs),
      ...shownId(
        reply.state &&
          markObject(reply.state, schema.block, [...sensitive, ...(reply.sensitive ?? [])]),
      ),
    });
    if (!reportAnswer(reply.diagnostics)) {
      if (check === undefined) return undefined;
      // Once more after everything else was done: the check may be about just that.
      deferred = true;
      reason = "read-because-check-nested";
    } else if (reply.state !== undefined) {
      after = markObject(reply.state, schema.block, [...sensitive, ...(reply.sensitive ?? [])]);
    } else {
      deferred = true;
      const paths = [...sensitive, ...(reply.sensitive ?? [])];
      if (reply.planned !== undefined) {
        reason = "read-because-dependency-pending";
        after = markObject(reply.planned, schema.block, paths);
      }
    }
  }
  const before =
    recorded === undefined ? undefined : await upgradeObject(recorded, { use, report: () => {} });
  if (deferred && refreshOnly) {
    // Nothing is read later: what is recorded stays.
    slot.value = before ?? after;
    return undefined;
  }
  use.secrets.addValue(after);
  slot.value = after;
  const own = slot.resource.module.scope.forInstance({ ...slot.context, self: after });
  await run.world.answered(() => validateConditions(config.lifecycle.postconditions, own));
  const self = run.world.recorder.record(() => conditions("postcondition", after));
  if (!self.result) return undefined;
  // What a read waits for in the plan it waits for in the apply, in all instances.
  const awaited = deferred ? pending : [];
  const references = new Set([...around, ...targets, ...self.targets, ...awaited]);
  const dependencies = [
    ...dependenciesOf(slot.address, references, "reference"),
    ...dependenciesOf(slot.address, explicit, "explicit"),
    ...(deferred ? dependenciesOnEnded(instance.ended, explicit) : []),
    ...dependenciesOf(slot.address, ready.targets, "provider"),
  ];
  const previousAddress = run.given.previous.get(slot.address);
  const isSame =
    recorded !== undefined &&
    before !== undefined &&
    withoutMarks(before).rawEquals(withoutMarks(after));
  return {
    address: slot.address,
    deposed: "",
    mode: "data",
    type: config.type,
    name: config.name,
    module: slot.resource.module.address,
    key: slot.key,
    provider: use.reference,
    action: deferred ? "read" : "no-op",
    ...(deferred && { reason: reason ?? "read-because-config-unknown" }),
    ...(before !== undefined && !deferred && { before }),
    after,
    replacePaths: [],
    causes: [],
    words: { priorPrivate: new Uint8Array(), plannedPrivate: new Uint8Array() },
    schemaVersion: schema.version,
    dependencies,
    createBeforeDestroy: false,
    record:
      !deferred &&
      after.isWhollyKnown &&
      (!isSame || previousAddress !== undefined || !hasDependencies(recorded, dependencies)),
    legacyTypeSystem: false,
  };
}

/** Why a data source cannot be read now. */
function deferral(
  { ready, explicit, pending, ended, run }: DataInstance,
  config: Value,
): ActionReason | undefined {
  if (!config.isWhollyKnown || !ready.reachable) return "read-because-config-unknown";
  if (ended.length > 0 || pending.size > 0) return "read-because-dependency-pending";
  for (const target of explicit) {
    // A read of another data source changes nothing; what that one waits for is not waited for by this.
    if (modeOf(target) !== "data" && run.isChanged(target))
      return "read-because-dependency-pending";
  }
  return undefined;
}

function modeOf(target: Target): ResourceConfig["mode"] | undefined {
  return (target.kind === "resource" ? target : target.resource).config?.mode;
}
