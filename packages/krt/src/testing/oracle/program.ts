import fc from "fast-check";

/**
 * The programs of the property tests: a graph of collections and a list of things that happen to it.
 * Every collection holds objects of one shape, so that each can stand wherever another can. References
 * to other collections are numbers, taken modulo the number of collections that exist by then.
 */
export interface Obj {
  readonly key: string;
  readonly n: number;
  /** Index key. */
  readonly g: string;
  readonly labels: Record<string, string>;
  readonly selector: Record<string, string>;
}

export const KEYS = ["a", "b", "c", "d", "e"] as const;
export const GROUPS = ["g0", "g1", "g2"] as const;

/** One condition of a fetch. What it compares with comes from the input, so that it changes with it. */
export type FilterDesc =
  | { readonly type: "all" }
  | { readonly type: "key"; readonly offset: number }
  | { readonly type: "keys"; readonly offsets: readonly number[] }
  | { readonly type: "name"; readonly offset: number }
  | { readonly type: "index"; readonly own: boolean }
  | { readonly type: "indexKeys" }
  | { readonly type: "labels" }
  | { readonly type: "selecting"; readonly empty: boolean }
  | { readonly type: "whereStable" }
  | { readonly type: "whereInline" }
  | { readonly type: "any" };

/** One fetch of a transformation. */
export interface FetchDesc {
  readonly from: number;
  readonly filters: readonly FilterDesc[];
  /** Only made when the input's number is even. */
  readonly conditional: boolean;
  readonly partial: boolean;
}

export type NodeDesc =
  | { readonly type: "source"; readonly synced: boolean }
  | {
      readonly type: "derive";
      readonly of: number;
      readonly fetches: readonly FetchDesc[];
      readonly discards: boolean;
      /** Whether some runs throw. */
      readonly fails: boolean;
    }
  /** A derivation whose fetches are declared. None of them is conditional or partial. */
  | { readonly type: "declared"; readonly of: number; readonly fetches: readonly FetchDesc[] }
  | { readonly type: "many"; readonly of: number; readonly fetches: readonly FetchDesc[] }
  | { readonly type: "singleton"; readonly fetches: readonly FetchDesc[] }
  | { readonly type: "status"; readonly of: number; readonly fetches: readonly FetchDesc[] }
  | { readonly type: "join"; readonly members: readonly number[]; readonly merge: boolean }
  | { readonly type: "nested"; readonly members: readonly number[]; readonly merge: boolean }
  | { readonly type: "view"; readonly of: number }
  | {
      readonly type: "ordered";
      readonly of: number;
      readonly offset: number;
      /** All of them where it is 0. */
      readonly limit: number;
    }
  | { readonly type: "groups"; readonly of: number }
  | { readonly type: "sums"; readonly of: number };

/** One write within a batch. `key` and `value` are numbers from which objects are made. */
export type Write =
  | { readonly type: "set"; readonly source: number; readonly key: number; readonly value: number }
  /** Sets an equal copy of the present object. */
  | {
      readonly type: "again";
      readonly source: number;
      readonly key: number;
      readonly force: boolean;
    }
  | { readonly type: "delete"; readonly source: number; readonly key: number }
  | { readonly type: "deleteWhere"; readonly source: number; readonly value: number }
  | { readonly type: "reset"; readonly source: number; readonly values: readonly number[] }
  | {
      readonly type: "member";
      readonly nested: number;
      readonly member: number;
      readonly replaces: number;
    };

export type Step =
  | {
      readonly type: "batch";
      readonly writes: readonly Write[];
      readonly how: "batch" | "single" | "undone";
    }
  | { readonly type: "sync"; readonly source: number }
  | { readonly type: "create"; readonly node: NodeDesc }
  | { readonly type: "dispose"; readonly node: number }
  | { readonly type: "labelIndex"; readonly node: number }
  | { readonly type: "settle" };

export interface Program {
  readonly nodes: readonly NodeDesc[];
  readonly steps: readonly Step[];
}

const small = fc.nat({ max: 30 });

const filter: fc.Arbitrary<FilterDesc> = fc.oneof(
  fc.constant<FilterDesc>({ type: "all" }),
  fc.record({ type: fc.constant("key" as const), offset: fc.nat({ max: 4 }) }),
  fc.record({
    type: fc.constant("keys" as const),
    offsets: fc.array(fc.nat({ max: 4 }), { maxLength: 3 }),
  }),
  fc.record({ type: fc.constant("name" as const), offset: fc.nat({ max: 4 }) }),
  fc.record({ type: fc.constant("index" as const), own: fc.boolean() }),
  fc.constant<FilterDesc>({ type: "indexKeys" }),
  fc.constant<FilterDesc>({ type: "labels" }),
  fc.record({ type: fc.constant("selecting" as const), empty: fc.boolean() }),
  fc.constant<FilterDesc>({ type: "whereStable" }),
  fc.constant<FilterDesc>({ type: "whereInline" }),
  fc.constant<FilterDesc>({ type: "any" }),
);

const fetchDesc: fc.Arbitrary<FetchDesc> = fc.record({
  from: small,
  filters: fc.array(filter, { minLength: 1, maxLength: 3 }).map(compatible),
  conditional: fc.boolean(),
  partial: fc.boolean(),
});

/** A fetch cannot ask by key and by index at once. */
function compatible(filters: readonly FilterDesc[]): readonly FilterDesc[] {
  const keyed = ["key", "keys", "name"];
  const first = filters.find(({ type }) => keyed.includes(type) || type.startsWith("index"));
  if (first === undefined) return filters;
  const byKey = keyed.includes(first.type);
  return filters.filter(({ type }) => (byKey ? !type.startsWith("index") : !keyed.includes(type)));
}

const fetches = fc.array(fetchDesc, { maxLength: 3 });
const members = fc.array(small, { minLength: 1, maxLength: 3 });

const node: fc.Arbitrary<NodeDesc> = fc.oneof(
  fc.record({ type: fc.constant("source" as const), synced: fc.boolean() }),
  fc.record({
    type: fc.constant("derive" as const),
    of: small,
    fetches,
    discards: fc.boolean(),
    fails: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("derive" as const),
    of: small,
    fetches,
    discards: fc.constant(false),
    fails: fc.constant(false),
  }),
  fc.record({
    type: fc.constant("declared" as const),
    of: small,
    fetches: fetches.map((all) =>
      all.map((one) => ({ ...one, conditional: false, partial: false })),
    ),
  }),
  fc.record({ type: fc.constant("many" as const), of: small, fetches }),
  fc.record({ type: fc.constant("singleton" as const), fetches }),
  fc.record({ type: fc.constant("status" as const), of: small, fetches }),
  fc.record({ type: fc.constant("join" as const), members, merge: fc.boolean() }),
  fc.record({ type: fc.constant("nested" as const), members, merge: fc.boolean() }),
  fc.record({ type: fc.constant("view" as const), of: small }),
  fc.record({
    type: fc.constant("ordered" as const),
    of: small,
    offset: fc.nat({ max: 2 }),
    limit: fc.nat({ max: 3 }),
  }),
  fc.record({ type: fc.constant("groups" as const), of: small }),
  fc.record({ type: fc.constant("sums" as const), of: small }),
);

const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("set" as const),
      source: small,
      key: fc.nat({ max: 4 }),
      value: fc.nat({ max: 200 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("again" as const),
      source: small,
      key: fc.nat({ max: 4 }),
      force: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("delete" as const),
      source: small,
      key: fc.nat({ max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("deleteWhere" as const),
      source: small,
      value: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("reset" as const),
      source: small,
      values: fc.array(fc.nat({ max: 200 }), { maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("member" as const),
      nested: small,
      member: small,
      replaces: small,
    }),
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("batch" as const),
      writes: fc.array(write, { minLength: 1, maxLength: 4 }),
      how: fc.constantFrom(
        "batch" as const,
        "batch" as const,
        "single" as const,
        "undone" as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("sync" as const), source: small }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("create" as const), node }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("dispose" as const), node: small }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("labelIndex" as const), node: small }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: "settle" }) },
);

/** Any program. The first two collections are always synced sources. */
export const program: fc.Arbitrary<Program> = fc.record({
  nodes: fc.array(node, { maxLength: 8 }),
  steps: fc.array(step, { maxLength: 14 }),
});

/** The object made from two numbers. Few different values, so that equal objects are written often. */
export function objectOf(key: number, value: number): Obj {
  const labels: Record<string, string> = {};
  if (value % 3 !== 0) labels.app = `x${value % 3}`;
  if (value % 5 === 0) labels.tier = "y";
  const selector: Record<string, string> = {};
  if (value % 4 !== 0) selector.app = `x${value % 4}`;
  if (value % 7 === 0) selector.tier = "y";
  return {
    key: KEYS[key % KEYS.length] as string,
    n: value % 6,
    g: GROUPS[value % GROUPS.length] as string,
    labels,
    selector,
  };
}
