import type { Value } from "@stackwright/cty";
import type { InstanceKey } from "@stackwright/lang";
import type { Drift, ResourceChange } from "../plan/change.ts";
import type { ProviderCatalog } from "../providers/catalog.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { StateObject } from "../state/state-object.ts";

/** A value that a plan evaluated in one instance of a module, and what that read. */
export interface RememberedValue {
  readonly value: Value;
  /** Addresses. */
  readonly targets: string;
}

/** One planned instance. */
export interface RememberedInstance {
  readonly change: ResourceChange;
  /** What others see of it. */
  readonly value: Value | undefined;
  readonly object: StateObject | undefined;
  /** `each.value` of it. */
  readonly each: Value | undefined;
  /** When the provider was asked, in milliseconds since 1970. */
  readonly askedAtMs: number;
  readonly drift?: Drift;
  /** Something was reported about it, which has to be reported again. */
  readonly isReported: boolean;
}

/** A resource, or a module call, in one instance of its module. */
export interface RememberedExpansion {
  readonly kind: string | undefined;
  readonly keys: readonly (InstanceKey | undefined)[];
  /** Of a module call: `each.value` by key. */
  readonly each: ReadonlyMap<InstanceKey | undefined, Value | undefined>;
  /** Addresses that all instances depend on. */
  readonly around: string;
  readonly explicit: string;
  /** Objects of it that end. */
  readonly removed: string;
  /** Of a resource: in the order of the keys. */
  readonly instances: readonly RememberedInstance[];
  /** That it is created before it is destroyed, and which resource needs that. */
  readonly createBeforeDestroy: string | undefined;
}

/** A plan with everything that decides which of its parts may be used again. */
export interface RememberedPlan {
  readonly catalog: ProviderCatalog;
  /** What has to be equal for any part to be used again. */
  readonly frame: string;
  /** By id of the node. */
  readonly definitions: ReadonlyMap<string, string | undefined>;
  /** By id of the node, then by address of the module instance. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, RememberedValue>>;
  /** By id of the node: addresses of outputs of modules that are null. */
  readonly emptyOutputs: ReadonlyMap<string, readonly string[]>;
  /** By address. */
  readonly expansions: ReadonlyMap<string, RememberedExpansion>;
  /** What was recorded, by address. */
  readonly objects: ReadonlyMap<string, StateObject>;
  /** By version of a provider. */
  readonly identities: ReadonlyMap<string, string>;
  /** Outputs of other stacks were read. */
  readonly hasInputs: boolean;
}

/** Options of {@link PlanMemory}. */
export interface PlanMemoryOptions {
  /**
   * How long what a provider said about a recorded object or a data source is used again, in milliseconds. 0: every object is
   * read for every plan.
   */
  readonly readAgeMs: number;
}

/** How much of the last plan was made anew. */
export interface PlanEffort {
  /** Instances of resources and data sources. */
  readonly instances: number;
  /** Those among them that were evaluated and planned. */
  readonly planned: number;
}

/**
 * Remembers the last plan of a stack, so that the next one costs what has changed: only what depends on that is evaluated, read
 * and planned again, and the plan is the one that would have been made without it, as long as two things hold. A provider
 * plans the same for the same configuration, prior state and configuration of its own; and nothing else changes real objects that
 * were read less than `readAgeMs` ago.
 *
 * It holds values, secrets included, as a plan does. A memory is for one plan at a time. Plans with targets, excludes,
 * replacements, imports, moves, unresolved objects, ephemeral resources or functions of providers are made in full, and so is the one after a plan
 * with warnings about more than single resources.
 */
export class PlanMemory {
  readonly readAgeMs: number;
  #secrets: Redactor | undefined;
  #last: RememberedPlan | undefined;
  #effort: PlanEffort = { instances: 0, planned: 0 };

  constructor({ readAgeMs }: PlanMemoryOptions) {
    this.readAgeMs = readAgeMs;
  }

  /** Of the last plan that was made with it. */
  get effort(): PlanEffort {
    return this.#effort;
  }

  /** @internal */
  get last(): RememberedPlan | undefined {
    return this.#last;
  }

  /** Passes on the secrets of the last plan: what is used again of it is hidden as well. @internal */
  feed(secrets: Redactor): void {
    this.#secrets?.feed(secrets);
  }

  /** @internal */
  keep(effort: PlanEffort, plan: RememberedPlan | undefined, secrets: Redactor): void {
    this.#effort = effort;
    // After a plan that cannot be kept, what was remembered is as true as before.
    if (plan === undefined) return;
    this.#last = plan;
    this.#secrets = secrets;
  }
}
