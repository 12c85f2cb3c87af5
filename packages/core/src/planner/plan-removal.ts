import { Value } from "@stackwright/cty";
import { formatModulePath, parseAddress } from "@stackwright/lang";
import { hasProviderErrors } from "@stackwright/mux/router";
import type { ActionReason, ResourceChange } from "../plan/change.ts";
import { shownId } from "../plan/shown-id.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import { isPlaceholder, type StateObject } from "../state/state-object.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import { blockOf } from "./deferral.ts";
import { withDestroyProvisioners } from "./plan-provisioners.ts";
import { dependenciesOf, type PlanRun } from "./plan-run.ts";
import { hasDrifted, type RefreshedObject, readObject } from "./read-object.ts";

/** How an object is ended. */
export interface Removal {
  readonly action: "delete" | "forget";
  readonly reason: ActionReason | undefined;
}

/**
 * Plans the removal of an object: the object is read first, and the provider is asked to plan it where it wants to be.
 * Undefined after an error, which is reported. An object that no longer exists is only removed from the state.
 */
export async function planRemoval(
  run: PlanRun,
  object: StateObject,
  removal: Removal,
): Promise<ResourceChange | undefined> {
  const parts = partsOf(object.address);
  const previousAddress = previousOf(run, object);
  const base = {
    ...parts,
    ...(previousAddress !== undefined && { previousAddress }),
    address: object.address,
    deposed: object.deposed,
    mode: object.mode,
    type: object.type,
    replacePaths: [],
    causes: [],
    dependencies: object.dependencies,
    createBeforeDestroy: object.createBeforeDestroy,
    legacyTypeSystem: false,
  } as const;
  const none = { priorPrivate: object.privateBytes, plannedPrivate: new Uint8Array() };
  const gone = (words = none): ResourceChange => ({
    ...base,
    provider: object.provider,
    action: "no-op",
    words,
    schemaVersion: object.value?.schemaVersion ?? 0,
    record: true,
  });
  // A data source, or a placeholder of an object that does not exist, is removed without a call.
  if (object.mode === "data" || isPlaceholder(object)) return gone();
  const ready = await run.providerOfObject(object);
  if (ready === undefined || run.waitsForProvider(blockOf(object.address), ready)) return undefined;
  const schema = ready.use.typeSchema(object.mode, object.type);
  if (schema === undefined) {
    if (removal.action === "forget") return { ...gone(), action: "forget" };
    run.fail(
      "Unknown resource type",
      `The provider ${object.provider.source} has no resource type "${object.type}", so that ${object.address} cannot be destroyed.`,
      { address: object.address },
    );
    return undefined;
  }
  const seen = await readAndRecordDrift(run, object, ready);
  if (seen === undefined) return undefined;
  if (seen.value === undefined) return gone();
  const words = {
    ...none,
    priorPrivate: seen.privateBytes,
    ...(seen.identity && { priorIdentity: seen.identity }),
  };
  const change: ResourceChange = {
    ...base,
    provider: ready.use.reference,
    action: removal.action,
    ...(removal.reason !== undefined && { reason: removal.reason }),
    before: seen.value,
    words,
    schemaVersion: schema.version,
    providerNeeds: dependenciesOf(object.address, ready.targets, "provider"),
    record: false,
  };
  if (removal.action === "forget") return change;
  return askForDelete(run, withDestroyProvisioners(run, object, change), ready);
}

/** The address that a current object is recorded under, where it moved: its record moves before it is ended. */
export function previousOf(run: PlanRun, { address, deposed }: StateObject): string | undefined {
  return deposed === "" ? run.given.previous.get(address) : undefined;
}

/** Reads an object and records its differences from the state. */
export async function readAndRecordDrift(
  run: PlanRun,
  object: StateObject,
  ready: ReadyProvider,
): Promise<RefreshedObject | undefined> {
  const { onEvent, signal, clock } = run.given;
  const { address, deposed } = object;
  let begunMs = 0;
  const seen = await run.call(address, ready.use, async () =>
    readObject(object, {
      use: ready.use,
      policy: run.given.options.read,
      reachable: ready.reachable,
      nowMs: run.nowMs,
      ...(signal && { signal }),
      report: (diagnostics) =>
        run.report(diagnostics.map((one) => ({ ...one, code: "LANG_PROVIDER", address }))),
      onRead: (type, value) => {
        const read = { address, deposed, ...shownId(value) };
        if (type === "read-start") {
          begunMs = clock.monotonicMs();
          onEvent({ type, ...read });
        } else onEvent({ type, ...read, elapsedMs: Math.floor(clock.monotonicMs() - begunMs) });
      },
    }),
  );
  if (seen !== undefined && hasDrifted(seen)) {
    run.drift.push({
      address,
      deposed,
      type: object.type,
      provider: object.provider,
      before: seen.stored,
      ...(seen.value !== undefined && { after: seen.value }),
      relevant: false,
    });
  }
  return seen;
}

/** Lets a provider that plans deletions decide whether, and how, the object can be deleted. */
async function askForDelete(
  run: PlanRun,
  change: ResourceChange,
  { use }: ReadyProvider,
): Promise<ResourceChange | undefined> {
  const { before, type, words, address } = change;
  if (!use.capabilities.planDestroy || before === undefined) return change;
  const prior = withoutMarks(before);
  const nothing = Value.null(prior.type);
  const { signal } = run.given;
  const reply = await run.call(address, use, async () =>
    use.provider.plan(
      {
        type,
        prior,
        config: nothing,
        proposed: nothing,
        priorPrivate: words.priorPrivate,
        ...(words.priorIdentity !== undefined && { priorIdentity: words.priorIdentity }),
        deferralAllowed: false,
      },
      { address, ...(signal && { signal }) },
    ),
  );
  run.report(reply.diagnostics.map((one) => ({ ...one, code: "LANG_PROVIDER", address })));
  if (hasProviderErrors(reply.diagnostics)) return undefined;
  return { ...change, words: { ...words, plannedPrivate: reply.plannedPrivate } };
}

/** Name, module and key of an address. */
export function partsOf(address: string): Pick<ResourceChange, "name" | "module" | "key"> {
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return { name: address, module: "", key: undefined };
  return { name: value.name, module: formatModulePath(value.module), key: value.key };
}
