import { BigFloat } from "../number/big-float.ts";
import type { NumberPayload } from "../number/number-payload.ts";
import type { Type } from "../type/type.ts";
import { Marks } from "./marks.ts";
import type { Refinement } from "./refinement.ts";

/**
 * What a value consists of besides its type. A payload means nothing without the type it belongs to. Parts of compound
 * values are payloads, not values: the type is said once for a list of a hundred thousand elements.
 *
 * | type            | known, not null                                   |
 * | --------------- | ------------------------------------------------- |
 * | string          | string, normalised                                |
 * | number          | number or BigFloat ({@link NumberPayload})        |
 * | bool            | boolean                                           |
 * | list, tuple     | Sequence of the elements                          |
 * | object          | Sequence of the attributes in the order of names  |
 * | map             | Entries in code-point order of the keys           |
 * | set             | SetElements in iteration order                    |
 * | capsule         | Encapsulated                                      |
 *
 * For every type: `null`, {@link Unknown}, or {@link Marked} around any of these.
 */
export type Payload =
  | null
  | boolean
  | string
  | NumberPayload
  | Sequence
  | Entries
  | SetElements
  | Encapsulated
  | Unknown
  | Marked;

/** Something in the payload is unknown. */
export const HAS_UNKNOWN = 1;
/** Something in the payload, or the payload itself, is marked. */
export const HAS_MARKS = 2;
/** The type of something in the payload is not known yet. */
export const HAS_UNKNOWN_TYPE = 4;

/** Stands for a value that is not known yet. */
export class Unknown {
  /** An unknown about which nothing is known. */
  static readonly plain = new Unknown(undefined);
  readonly refinement: Refinement | undefined;
  constructor(refinement: Refinement | undefined) {
    this.refinement = refinement;
  }
}

/** A payload with marks. Marks are never empty and never nested directly in one another. */
export class Marked {
  readonly inner: Exclude<Payload, Marked>;
  readonly marks: Marks;
  constructor(inner: Exclude<Payload, Marked>, marks: Marks) {
    this.inner = inner;
    this.marks = marks;
  }
}

/** Elements of a list or tuple, or attributes of an object. */
export class Sequence {
  readonly items: readonly Payload[];
  readonly flags: number;
  constructor(items: readonly Payload[], flags: number) {
    this.items = items;
    this.flags = flags;
  }
}

/** Elements of a map. */
export class Entries {
  readonly map: ReadonlyMap<string, Payload>;
  readonly flags: number;
  constructor(map: ReadonlyMap<string, Payload>, flags: number) {
    this.map = map;
    this.flags = flags;
  }
}

/** Elements of a set: distinct, unmarked, in iteration order. */
export class SetElements {
  readonly items: readonly Payload[];
  readonly flags: number;
  /** Elements by hash text; built when membership is first asked for. */
  buckets: ReadonlyMap<string, readonly Payload[]> | undefined;
  constructor(items: readonly Payload[], flags: number) {
    this.items = items;
    this.flags = flags;
  }
}

/** The application's object in a capsule value. */
export class Encapsulated {
  readonly content: unknown;
  constructor(content: unknown) {
    this.content = content;
  }
}

/** What is inside the payload, as a combination of the `HAS_` bits. Constant time: compounds carry theirs. */
export function payloadFlags(type: Type, payload: Payload): number {
  if (typeof payload !== "object" || payload === null) return 0;
  if (payload instanceof Sequence || payload instanceof Entries || payload instanceof SetElements) {
    return payload.flags;
  }
  if (payload instanceof Unknown) {
    return HAS_UNKNOWN | (type.hasDynamic ? HAS_UNKNOWN_TYPE : 0);
  }
  if (payload instanceof Marked) return HAS_MARKS | payloadFlags(type, payload.inner);
  return 0;
}

/** The payload without marks on its surface. */
export function unmarkedPayload(payload: Payload): Exclude<Payload, Marked> {
  return payload instanceof Marked ? payload.inner : payload;
}

/** Marks on the surface of the payload. */
export function payloadMarks(payload: Payload): Marks {
  return payload instanceof Marked ? payload.marks : Marks.none;
}

/** The payload with more marks on its surface. */
export function markPayload(payload: Payload, marks: Marks): Payload {
  if (marks.isEmpty) return payload;
  if (!(payload instanceof Marked)) return new Marked(payload, marks);
  const union = payload.marks.union(marks);
  return union === payload.marks ? payload : new Marked(payload.inner, union);
}

export function listPayload(element: Type, items: readonly Payload[]): Sequence {
  let flags = 0;
  for (const item of items) flags |= payloadFlags(element, item);
  return new Sequence(items, flags);
}

export function structurePayload(types: readonly Type[], items: readonly Payload[]): Sequence {
  let flags = 0;
  for (const [i, type] of types.entries()) flags |= payloadFlags(type, items[i] ?? null);
  return new Sequence(items, flags);
}

/** Keys must be normalised and in code-point order. */
export function mapPayload(element: Type, map: ReadonlyMap<string, Payload>): Entries {
  let flags = 0;
  for (const item of map.values()) flags |= payloadFlags(element, item);
  return new Entries(map, flags);
}

export function isNumberPayload(payload: Payload): payload is NumberPayload {
  return typeof payload === "number" || payload instanceof BigFloat;
}
