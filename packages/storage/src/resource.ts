/**
 * A resource type together with the version of its schema. Types of one group and kind that differ
 * only in `groupVersion` are the same object in different dress: the store keeps one of them.
 */
export interface ResourceType {
  readonly group: string;
  readonly groupVersion: string;
  readonly kind: string;
}

/** A resource type without its schema version, as `list` and `watchList` take it. */
export interface UnversionedType {
  readonly group: string;
  readonly kind: string;
}

/**
 * The tenancy unit that a resource belongs to. In `list` and `watchList` each field may be
 * {@link WILDCARD}; a stored resource never carries one.
 */
export interface Tenancy {
  readonly partition: string;
  readonly peerName: string;
  readonly namespace: string;
}

/**
 * Names a resource. `uid` distinguishes one lifetime of a name from the next: a resource that was deleted
 * and created again has another one. Reads with an empty `uid` take any stored lifetime.
 */
export interface ResourceId {
  readonly uid: string;
  readonly name: string;
  readonly type: ResourceType;
  readonly tenancy: Tenancy;
}

/** Names a resource, or a section of one, in any lifetime. */
export interface ResourceReference {
  readonly type: ResourceType;
  readonly tenancy: Tenancy;
  readonly name: string;
  readonly section: string;
}

/** A point in time: seconds since 1970 in UTC (may be negative) and 0 to 999,999,999 nanoseconds. */
export interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

/** Three-valued answer of a controller to "does this condition hold?". */
export type ConditionState = "unknown" | "true" | "false";

/** One observation of a controller about a resource. */
export interface StatusCondition {
  readonly type: string;
  readonly state: ConditionState;
  /** Machine-readable cause. */
  readonly reason: string;
  /** Text for users. */
  readonly message: string;
  /** The other resource that the condition is about. */
  readonly resource?: ResourceReference;
}

/** What one controller reports about one generation of a resource. */
export interface Status {
  readonly observedGeneration: string;
  readonly conditions: readonly StatusCondition[];
  readonly updatedAt?: Timestamp;
}

/** The payload of a resource: bytes, and the name of their type. Unknown types pass unchanged. */
export interface ResourceData {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/**
 * A resource as it is stored. Objects that the store hands out are frozen, and their bytes are a
 * copy: what a caller does to them never reaches the store.
 *
 * Source: the resource model of Consul's storage backend (seed 004), package
 * `hashicorp.consul.resource`.
 */
export interface Resource {
  readonly id: ResourceId;
  /** Full id of the owner, `uid` included. */
  readonly owner?: ResourceId;
  /**
   * The store's compare-and-swap token: opaque, another one after every write, never used twice
   * for one name in the life of the store. In `writeCAS` it is the version that the caller expects
   * to replace; empty means that nothing may be stored under the name.
   */
  readonly version: string;
  /** Changes with the content, not with the status. Chosen by the layer above. */
  readonly generation: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** One entry per controller. */
  readonly status: Readonly<Record<string, Status>>;
  readonly data?: ResourceData;
}

/** Stands for every value of a tenancy field in `list` and `watchList`, the empty one included. */
export const WILDCARD = "*";

/** The type without its schema version. */
export function toUnversionedType(type: UnversionedType): UnversionedType {
  return { group: type.group, kind: type.kind };
}
