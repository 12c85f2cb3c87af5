import { Value } from "@stackwright/cty";
import { type InstanceKey, parseAddress, resourceAddress } from "@stackwright/lang";
import type { EvaluationState } from "./evaluation-state.ts";
import { type RecordedKeys, restoreKeys } from "./keys.ts";
import type { ModuleInstance } from "./module-instance.ts";
import type { ResourceValues } from "./resource-values.ts";
import { restoredKeys } from "./restored-keys.ts";

/** Makes module and resource instances of addresses that exist, for a walk that is not led by the configuration. */
export function loadStateIntoContext(
  world: EvaluationState,
  objects: Iterable<readonly [address: string, value: Value]>,
): void {
  const placed: {
    readonly module: Tree;
    readonly name: string;
    readonly key: InstanceKey | undefined;
    readonly value: Value;
  }[] = [];
  const root: Tree = { calls: new Map() };
  for (const [text, value] of objects) {
    const { value: address } = parseAddress(text);
    if (address?.kind !== "resource") continue;
    let at = root;
    for (const step of address.module) {
      const instances = at.calls.get(step.name) ?? new Map<InstanceKey | undefined, Tree>();
      at.calls.set(step.name, instances);
      const next = instances.get(step.key) ?? { calls: new Map() };
      instances.set(step.key, next);
      at = next;
    }
    placed.push({ module: at, name: resourceAddress({ ...address }), key: address.key, value });
  }
  const modules = new Map<Tree, ModuleInstance>();
  const grow = (tree: Tree, module: ModuleInstance): void => {
    modules.set(tree, module);
    for (const [name, instances] of tree.calls) {
      const call = module.calls.get(name);
      if (call === undefined) continue;
      call.expand(restoredKeys(module, keysFrom([...instances.keys()]), call.config.forEach));
      for (const [key, inner] of instances) {
        const instance = call.instances.get(key);
        if (instance !== undefined) grow(inner, instance);
      }
    }
  };
  grow(root, world.root);
  const byResource = new Map<ModuleInstance, Map<string, (typeof placed)[number][]>>();
  for (const entry of placed) {
    const module = modules.get(entry.module);
    if (module === undefined) continue;
    const resources = byResource.get(module) ?? new Map<string, (typeof placed)[number][]>();
    byResource.set(module, resources);
    const list = resources.get(entry.name);
    if (list === undefined) resources.set(entry.name, [entry]);
    else list.push(entry);
  }
  for (const [module, resources] of byResource) {
    for (const [name, entries] of resources) {
      const resource = module.resources.get(name);
      if (resource !== undefined) fillResource(resource, entries);
    }
  }
}

/** Gives a resource the instances that exist, with their values. */
export function fillResource(
  resource: ResourceValues,
  entries: readonly { readonly key: InstanceKey | undefined; readonly value: Value }[],
): void {
  resource.expand(restoreKeys(keysFrom(entries.map(({ key }) => key)), () => Value.dynamic));
  for (const { key, value } of entries) {
    const slot = resource.slots.get(key);
    if (slot !== undefined) slot.value = value;
  }
}

interface Tree {
  readonly calls: Map<string, Map<InstanceKey | undefined, Tree>>;
}

/** The repetition that keys are of. Of mixed keys, as after an interrupted change, the first decides. */
function keysFrom(keys: readonly (InstanceKey | undefined)[]): RecordedKeys {
  const [first] = keys;
  if (first === undefined) return { kind: "single" };
  if (typeof first === "string")
    return { kind: "for_each", keys: keys.filter((key) => typeof key === "string").toSorted() };
  const numbers = keys.filter((key) => typeof key === "number");
  return { kind: "count", count: Math.max(...numbers) + 1 };
}
