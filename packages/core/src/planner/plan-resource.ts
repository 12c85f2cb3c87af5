import { forEachLimited } from "@stackwright/base/limiter";
import { encodeJson, Value } from "@stackwright/cty";
import type { GraphNode, ResolvedImport } from "@stackwright/lang";
import { hasProviderErrors, type ResourceSchema } from "@stackwright/mux/router";
import type { ActionReason, ResourceChange } from "../plan/change.ts";
import { findType } from "../providers/find-type.ts";
import { versionText } from "../providers/provider-instances.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { StateObject } from "../state/state-object.ts";
import { blockType } from "../walk/block-type.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot, ResourceValues } from "../walk/resource-values.ts";
import { blockAddress } from "./deferral.ts";
import { importObject } from "./imports.ts";
import { localName } from "./local-name.ts";
import type { ManagedInstance } from "./managed-instance.ts";
import { endedResources, pendingChanges } from "./pending-changes.ts";
import { planData } from "./plan-data.ts";
import { planManaged } from "./plan-managed.ts";
import { planRemoval, readAndRecordDrift } from "./plan-removal.ts";
import type { ResourceReuse } from "./plan-reuse.ts";
import type { PlanRun } from "./plan-run.ts";
import { type RefreshedObject, upgradeObject } from "./read-object.ts";

type ResourceNode = Extract<GraphNode, { kind: "resource" }>;

/** Plans all instances of a resource in one instance of its module, and the end of those that are no more. */
export async function planResource(
  run: PlanRun,
  node: ResourceNode,
  resource: ResourceValues,
  around: ReadonlySet<Target>,
): Promise<void> {
  const { resource: config } = node;
  const { module } = resource;
  const explicit = new Set<Target>(module.explicit);
  for (const traversal of config.dependsOn) {
    for (const target of module.named(traversal)) explicit.add(target);
  }
  const reuse = run.reuse?.resource(node, resource, { around, explicit });
  const slots: (readonly [at: number, slot: InstanceSlot])[] = [];
  let at = -1;
  for (const slot of resource.slots.values()) {
    at += 1;
    const same = reuse?.find(slot, at);
    if (same === undefined) {
      slots.push([at, slot]);
      continue;
    }
    slot.value = same.value;
    if (same.drift !== undefined) run.drift.push(same.drift);
    run.plan(same.change, slot);
  }
  if (slots.length > 0 || reuse?.isUsable !== true) {
    if (!(await planSlots(run, node, { resource, slots, around, explicit, reuse }))) return;
  } else if (node.provider !== undefined) {
    run.reuse?.usedProviders.add(versionText(run.referenceOf(node.provider)));
  }
  const removed = reuse?.hasSameObjects === true ? [] : await planRemovedInstances(run, resource);
  reuse?.end(removed);
}

/** Plans instances of a resource; false where that is not possible, which is reported, or not wanted. */
async function planSlots(
  run: PlanRun,
  node: ResourceNode,
  {
    resource,
    slots,
    around,
    explicit,
    reuse,
  }: {
    readonly resource: ResourceValues;
    readonly slots: readonly (readonly [at: number, slot: InstanceSlot])[];
    readonly around: ReadonlySet<Target>;
    readonly explicit: ReadonlySet<Target>;
    readonly reuse: ResourceReuse | undefined;
  },
): Promise<boolean> {
  const { resource: config } = node;
  const ready = await run.providerOfResource(node.module, config);
  if (ready === undefined) {
    unknownAll(resource);
    return false;
  }
  // Instances of a provider are looked at where their resource is: this one is not configured, and only has the schemas.
  const block = blockAddress(node.module.path, localName(config));
  if (node.provider?.instances === undefined && run.waitsForProvider(block, ready)) {
    unknownAll(resource);
    return false;
  }
  const { schema, problem } = findType(ready.use, config);
  if (problem !== undefined) {
    run.report([problem]);
    unknownAll(resource);
    return false;
  }
  if (run.given.collector?.addresses.has(resource.address) === true) {
    await collectImports(run, resource, { ready, schema, imports: run.importsFor(node.id) });
    return false;
  }
  const errors = run.diagnostics.length;
  const body = run.bodyOf(config, ready.use);
  if (body === undefined || hasProviderErrors(run.diagnostics.slice(errors))) {
    unknownAll(resource);
    return false;
  }
  const shared = { run, config, body, schema, around, explicit };
  const isData = config.mode === "data";
  const pending = isData ? pendingChanges(run, node, resource) : new Set<never>();
  const ended = isData ? endedResources(run, node, resource) : [];
  const imports = run.importsFor(node.id);
  await forEachLimited(slots, run.given.parallelism, async ([at, slot]) => {
    if (!run.given.isIncluded(slot.address)) {
      slot.value = await recordedValue(run, slot, ready);
      run.known.set(slot.address, slot.value);
      return;
    }
    const recorded = run.given.objects.get(slot.address);
    const own = await run.providerOf(slot);
    if (own === undefined || run.waitsForProvider(block, own)) {
      slot.value ??= Value.dynamic;
      return;
    }
    const change =
      config.mode === "data"
        ? await planData({
            ...shared,
            ready: own,
            slot,
            recorded,
            pending,
            ended,
            check: node.check && slot.resource.module.addressOf(`check.${node.check.name}`),
          })
        : await planOne(
            { ...shared, ready: own, slot, seen: undefined, importing: undefined },
            recorded,
            imports.get(slot.address),
          );
    if (change === undefined) slot.value ??= Value.dynamic;
    else {
      run.plan(change, slot);
      reuse?.keep(slot, at, change);
    }
  });
  return true;
}

/** Imports the instances and hands over what they are. There is no configuration yet that something could be planned by. */
async function collectImports(
  run: PlanRun,
  resource: ResourceValues,
  {
    ready,
    schema,
    imports,
  }: {
    readonly ready: ReadyProvider;
    readonly schema: ResourceSchema;
    readonly imports: ReadonlyMap<string, ResolvedImport>;
  },
): Promise<void> {
  for (const slot of resource.slots.values()) {
    const request = imports.get(slot.address);
    const own = (await run.providerOf(slot)) ?? ready;
    const seen = request && (await importObject(run, slot, request, own));
    slot.value = seen?.value ?? Value.dynamic;
    if (seen?.value === undefined) continue;
    run.given.collector?.found({
      address: slot.address,
      id: request?.id,
      block: schema.block,
      value: seen.value,
    });
  }
}

async function planOne(
  instance: ManagedInstance,
  recorded: StateObject | undefined,
  request: ResolvedImport | undefined,
): Promise<ResourceChange | undefined> {
  const { run, slot, ready } = instance;
  if (recorded?.value !== undefined) {
    const seen = await seeRecorded(instance, recorded);
    return seen === undefined ? undefined : planManaged({ ...instance, seen });
  }
  if (request === undefined) return planManaged(instance);
  const seen = await importObject(run, slot, request, ready);
  if (seen === undefined) return undefined;
  const { id = "", identity } = request;
  return planManaged({ ...instance, seen, importing: { id, ...(identity && { identity }) } });
}

/** An object of another type becomes one of this type first, if the provider can do that. */
async function seeRecorded(
  { run, config, ready }: ManagedInstance,
  recorded: StateObject,
): Promise<RefreshedObject | undefined> {
  if (recorded.type === config.type) return readAndRecordDrift(run, recorded, ready);
  const { signal } = run.given;
  const { use } = ready;
  const { value, provider, type, privateBytes, address } = recorded;
  if (value === undefined) return undefined;
  if (!use.capabilities.moveState) {
    const detail = `${address} was recorded as "${type}": the provider ${use.reference.source} does not support moves from other types of resources.`;
    run.fail("Unsupported move across resource types", detail, { address });
    return undefined;
  }
  const reply = await run.call(address, use, async () =>
    use.provider.move(
      {
        sourceProvider: provider.source,
        sourceType: type,
        source: { schemaVersion: value.schemaVersion, json: value.json },
        sourcePrivate: privateBytes,
        targetType: config.type,
      },
      { ...(signal && { signal }) },
    ),
  );
  run.report(reply.diagnostics.map((one) => ({ ...one, code: "LANG_PROVIDER", address })));
  const schema = use.typeSchema("managed", config.type);
  if (hasProviderErrors(reply.diagnostics) || reply.state === undefined || schema === undefined)
    return undefined;
  const moved: StateObject = {
    ...recorded,
    type: config.type,
    provider: use.reference,
    privateBytes: reply.privateBytes ?? new Uint8Array(),
    value: {
      schemaVersion: schema.version,
      json: encodeJson(reply.state, blockType(schema.block)),
      sensitive: value.sensitive,
    },
  };
  const seen = await readAndRecordDrift(run, moved, ready);
  // Nothing is recorded in this form yet.
  return seen && { ...seen, converted: true };
}

function unknownAll(resource: ResourceValues): void {
  for (const slot of resource.slots.values()) slot.value = Value.dynamic;
}

/** What is seen of an instance that the plan is not about: what was recorded of it. */
async function recordedValue(
  run: PlanRun,
  slot: InstanceSlot,
  { use }: ReadyProvider,
): Promise<Value> {
  const object = run.given.objects.get(slot.address);
  const value = object && (await upgradeObject(object, { use, report: () => {} }));
  return value ?? Value.dynamic;
}

/** Objects under the resource's address that are no longer instances of it. */
async function planRemovedInstances(
  run: PlanRun,
  resource: ResourceValues,
): Promise<readonly ResourceChange[]> {
  const changes: ResourceChange[] = [];
  const instances = new Set([...resource.slots.values()].map(({ address }) => address));
  const objects = run
    .objectsOf(resource.address)
    .filter(({ address, deposed }) => deposed === "" && !instances.has(address));
  await forEachLimited(objects, run.given.parallelism, async (object) => {
    run.handled.add(object.address);
    if (!run.given.isIncluded(object.address) || run.given.kept.has(object)) return;
    const change = await planRemoval(run, object, {
      action: "delete",
      reason: orphanReason(resource, object.address),
    });
    if (change === undefined) return;
    run.plan(change);
    changes.push(change);
    if (change.action !== "no-op") run.changed.add(resource);
  });
  return changes;
}

function orphanReason(resource: ResourceValues, address: string): ActionReason {
  const kind = resource.keys?.kind;
  const suffix = address.slice(resource.address.length);
  if (suffix === "") return "delete-because-wrong-repetition";
  if (kind === "count" && !suffix.startsWith('["')) return "delete-because-count-index";
  if (kind === "for_each" && suffix.startsWith('["')) return "delete-because-each-key";
  return "delete-because-wrong-repetition";
}
