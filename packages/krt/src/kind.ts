import { deepEqual, type Equals, visibleEqual } from "./equality.ts";
import { KrtError } from "./errors.ts";
import type { Labels } from "./labels.ts";

/** What filters and indexes may ask of objects beyond their key. */
export type KindCapability = "name" | "namespace" | "labels" | "selector";

/** A set of traits in a form whose assignability is "has at least these". */
export type CapabilitySet<Tr extends KindCapability> = { readonly [K in Tr]: true };

declare const TRAITS: unique symbol;

/**
 * How objects of a type are identified and compared, and which parts filters may use. All functions
 * must be pure. `key` may be left out where `name` is given: it is then `namespace/name`, or `name`.
 */
export interface KindSpec<T> {
  /** A word for messages and diagrams. */
  readonly label?: string;
  /** The unique key within a collection. Must not be empty. */
  readonly key?: (object: T) => string;
  /**
   * When a new version is no change: `deep` (structural, see {@link deepEqual}), `visible` (the same, and class
   * instances by their enumerable fields), `reference` (same object), `version` (same
   * {@link KindSpec.version}), or a function.
   * @default "deep"
   */
  readonly equals?: "deep" | "visible" | "reference" | "version" | Equals<T>;
  /** The version compared by `equals: "version"`. Derived objects often keep the version of their origin. */
  readonly version?: (object: T) => string | number | undefined;
  readonly name?: (object: T) => string;
  readonly namespace?: (object: T) => string | undefined;
  readonly labels?: (object: T) => Labels | undefined;
  /** The labels this object selects. Absent counts as empty. */
  readonly selector?: (object: T) => Labels | undefined;
}

type TraitsOf<S> = {
  [K in KindCapability & keyof S]: S[K] extends undefined ? never : K;
}[KindCapability & keyof S];

/** A resolved description of a type of objects. Made by {@link kind}; `Tr` says which traits it has. */
export interface Kind<T, Tr extends KindCapability = never> {
  readonly label: string | undefined;
  readonly key: (object: T) => string;
  readonly equals: Equals<T>;
  /** Whether `key` is the one composed of namespace and name. */
  readonly keyIsName: boolean;
  /** A quick test whether two objects have the same key. False means unknown. */
  readonly sameKey?: (a: T, b: T) => boolean;
  readonly name: ((object: T) => string) | undefined;
  readonly namespace: ((object: T) => string | undefined) | undefined;
  readonly labels: ((object: T) => Labels | undefined) | undefined;
  readonly selector: ((object: T) => Labels | undefined) | undefined;
  /** Exists in types only. */
  readonly [TRAITS]?: CapabilitySet<Tr>;
}

/** The key of an object with a name and, where it has one, a namespace. */
export function namespacedKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/**
 * Describes a type of objects: `kind<Pod>()({ key: (p) => p.id, labels: (p) => p.labels })`. The second
 * call infers which traits exist, so that a label filter on a kind without labels does not compile.
 * Throws `KRT_INVALID_OPTION` where neither `key` nor `name` is given, or `version` is missing.
 */
export function kind<T>(): <const S extends KindSpec<T>>(spec: S) => Kind<T, TraitsOf<S>> {
  return (spec) => resolveKind<T>(spec) as Kind<T, KindCapability>;
}

function resolveKind<T>(spec: KindSpec<T>): Kind<T> {
  const { name, namespace } = spec;
  const key =
    spec.key ?? (name && ((object: T) => namespacedKey(namespace?.(object), name(object))));
  if (key === undefined) {
    throw new KrtError("KRT_INVALID_OPTION", "a kind needs `key` or `name`");
  }
  const keyIsName = spec.key === undefined;
  return {
    label: spec.label,
    key,
    equals: resolveEquals(spec),
    keyIsName,
    ...(keyIsName && name !== undefined && { sameKey: sameName(name, namespace) }),
    name,
    namespace,
    labels: spec.labels,
    selector: spec.selector,
  };
}

/** Comparing the parts of a key is cheaper than putting them together. */
function sameName<T>(
  name: (object: T) => string,
  namespace: ((object: T) => string | undefined) | undefined,
): (a: T, b: T) => boolean {
  if (namespace === undefined) return (a, b) => name(a) === name(b);
  return (a, b) => name(a) === name(b) && namespace(a) === namespace(b);
}

function resolveEquals<T>(spec: KindSpec<T>): Equals<T> {
  const { equals, version } = spec;
  if (typeof equals === "function") return equals;
  switch (equals) {
    case "reference":
      return Object.is;
    case "version":
      if (version === undefined) {
        throw new KrtError("KRT_INVALID_OPTION", 'equals "version" needs `version`');
      }
      return (a, b) => {
        const left = version(a);
        return left !== undefined && left === version(b);
      };
    case "visible":
      return visibleEqual;
    case "deep":
    case undefined:
      return deepEqual;
    default:
      return equals satisfies never;
  }
}

/**
 * The kind of a collection that was given none: strings and numbers are their own key; objects are
 * keyed by a string `key`, by `metadata.namespace` and `metadata.name`, or by `namespace` and `name`.
 * Which of them holds is found with the first object and then kept for the whole collection.
 */
export function shapeKind<T>(): Kind<T> {
  let found: ((object: unknown) => string) | undefined;
  const key = (object: T): string => {
    if (typeof object === "string") return object;
    found ??= keyOfShape(object);
    const value: unknown = found(object);
    if (typeof value !== "string") throw noKey(object);
    return value;
  };
  return {
    label: undefined,
    key,
    equals: deepEqual,
    keyIsName: false,
    name: undefined,
    namespace: undefined,
    labels: undefined,
    selector: undefined,
  };
}

/** Marks collections, which are keyed by their name where they are objects of a collection. */
export const COLLECTION: unique symbol = Symbol("krt.collection");

interface Shape {
  readonly key?: unknown;
  readonly name?: unknown;
  readonly namespace?: string;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: string };
}

function keyOfShape(sample: unknown): (object: unknown) => string {
  if (typeof sample === "number" || typeof sample === "bigint") return String;
  if (typeof sample === "object" && sample !== null) {
    if (COLLECTION in sample) return (object) => (object as { name: string }).name;
    const shape = sample as Shape;
    if (typeof shape.key === "string") return (object) => (object as { key: string }).key;
    if (typeof shape.metadata?.name === "string") {
      return (object) => {
        const { metadata } = object as { metadata?: { name: string; namespace?: string } };
        if (metadata === undefined) throw noKey(object);
        return namespacedKey(metadata.namespace, metadata.name);
      };
    }
    if (typeof shape.name === "string") {
      return (object) => {
        const named = object as { name: string; namespace?: string };
        return namespacedKey(named.namespace, named.name);
      };
    }
  }
  throw noKey(sample);
}

function noKey(object: unknown): KrtError {
  return new KrtError(
    "KRT_NO_KEY",
    `no key function applies to a value of type ${typeof object}: pass a kind to the collection`,
  );
}

/** Key of the only object of a singleton that has no key of its own. */
export const SINGLETON_KEY = "static";

/** The key a singleton gives its value: its own where a key function applies, else {@link SINGLETON_KEY}. */
export function singletonKey(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return SINGLETON_KEY;
  const shape = value as Shape;
  const hasKey =
    typeof shape.key === "string" ||
    typeof shape.metadata?.name === "string" ||
    typeof shape.name === "string";
  return hasKey ? keyOfShape(value)(value) : SINGLETON_KEY;
}
