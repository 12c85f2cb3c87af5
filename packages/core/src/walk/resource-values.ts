import { Mark, Type, Value } from "@stackwright/cty";
import {
  expandRepetition,
  formatKey,
  type InstanceContext,
  type InstanceKey,
  type ResourceConfig,
} from "@stackwright/lang";

import { type Keys, keysOf } from "./keys.ts";
import type { ModuleInstance } from "./module-instance.ts";
import type { Target } from "./recorder.ts";

/** What an ephemeral resource is as long as it is not open, and where it could not be opened. */
export const NOT_OPEN = Value.dynamic.mark(Mark.ephemeral);

const NOTHING: ReadonlySet<Target> = new Set();

/** One instance of a resource, and what expressions see of it. */
export class InstanceSlot {
  readonly kind = "instance";
  readonly resource: ResourceValues;
  readonly key: InstanceKey | undefined;
  readonly address: string;
  /** Of an ephemeral resource: what it was opened from; its readers depend on that as well. */
  through: ReadonlySet<Target> = NOTHING;
  #value: Value | undefined;

  constructor(resource: ResourceValues, key: InstanceKey | undefined) {
    this.resource = resource;
    this.key = key;
    this.address = resource.address + formatKey(key);
  }

  get value(): Value | undefined {
    return this.#value;
  }

  set value(value: Value | undefined) {
    this.#value = value;
    this.resource.forgetWhole();
  }

  /** Names that the instance's expressions see. */
  get context(): InstanceContext {
    return this.resource.contextOf(this.key);
  }
}

/**
 * A resource in one instance of its module: its instances, frozen once they are set.
 *
 * Cost. `whole` is built once after the last change, so that a walk that sets all instances and then reads all of
 * them is linear.
 */
export class ResourceValues {
  readonly kind = "resource";
  readonly module: ModuleInstance;
  readonly config: ResourceConfig | undefined;
  /** Full address without an instance key. */
  readonly address: string;
  /** Address in the module, `data.x.y`. */
  readonly name: string;
  readonly slots = new Map<InstanceKey | undefined, InstanceSlot>();
  #keys: Keys | undefined;
  #whole: Value | undefined;
  /** The value of the whole resource as long as the instances are unknown. */
  placeholder: Value | undefined;
  /** What count or for_each read. */
  targets: ReadonlySet<Target> = NOTHING;

  constructor(module: ModuleInstance, name: string, config: ResourceConfig | undefined) {
    this.module = module;
    this.name = name;
    this.config = config;
    this.address = module.address === "" ? name : `${module.address}.${name}`;
  }

  get keys(): Keys | undefined {
    return this.#keys;
  }

  /** Fixes the instances. */
  expand(keys: Keys): void {
    this.#keys = keys;
    this.slots.clear();
    for (const key of keys.list) this.slots.set(key, new InstanceSlot(this, key));
    this.forgetWhole();
  }

  /** Without objects: has no instances where the configuration says so, and is unknown otherwise. */
  expandIfEmpty(): void {
    for (const slot of this.slots.values()) slot.value = undefined;
    if (this.config === undefined) return;
    const expansion = expandRepetition(this.config, this.module.scope.forInstance({}), []);
    if (expansion.kind === "single" || expansion.kind === "unknown") return;
    if (expansion.kind === "invalid") return;
    const keys = keysOf(expansion);
    if (keys.list.length === 0) this.expand(keys);
  }

  contextOf(key: InstanceKey | undefined): InstanceContext {
    return this.#keys?.contextOf(key) ?? {};
  }

  /** Of an ephemeral resource: what has no value yet of what a reference is about. */
  unopened(key: InstanceKey | undefined): readonly Target[] {
    if (this.#keys === undefined) return this.placeholder === undefined ? [this] : [];
    const slot = key === undefined ? undefined : this.slots.get(key);
    const asked = key === undefined ? [...this.slots.values()] : slot === undefined ? [] : [slot];
    return asked.filter(({ value }) => value === undefined);
  }

  forgetWhole(): void {
    this.#whole = undefined;
  }

  /** One object, or a tuple or object of the instances. Undefined where not all of them have a value. */
  whole(): Value | undefined {
    this.#whole ??= this.#build();
    return this.#whole;
  }

  #build(): Value | undefined {
    const keys = this.#keys;
    if (keys === undefined) return this.placeholder;
    if (keys.kind === "single") return this.slots.get(undefined)?.value;
    // A disabled resource is null, so that expressions can ask for it.
    if (keys.kind === "none") return Value.null(Type.dynamic);
    const values: Value[] = [];
    for (const { value } of this.slots.values()) {
      if (value === undefined) return undefined;
      values.push(value);
    }
    if (keys.kind === "count") return Value.tuple(values);
    return Value.object([...this.slots.keys()].map((key, i) => [String(key), at(values, i)]));
  }
}

function at(values: readonly Value[], index: number): Value {
  return values[index] ?? Value.dynamic;
}
