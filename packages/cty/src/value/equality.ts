import { groupBy } from "../group-by.ts";
import { equalNumbers } from "../number/number-payload.ts";
import { conformsTo } from "../type/conformance.ts";
import type { Type } from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import {
  Encapsulated,
  Entries,
  HAS_UNKNOWN,
  HAS_UNKNOWN_TYPE,
  isNumberPayload,
  Marked,
  type Payload,
  payloadFlags,
  Sequence,
  SetElements,
  Unknown,
} from "./payload.ts";
import { definitelyNotNull, rangeIncludes } from "./range.ts";
import { sameRefinement } from "./refinement.ts";
import { setHashText } from "./set-hash.ts";

/** Three-valued truth: undefined where it cannot be known yet. */
type Tristate = boolean | undefined;

/**
 * Equality as the language sees it. Nulls are equal regardless of their types; values of different types are unequal; an
 * unknown part makes the answer unknown, unless what is known rules equality out. Payloads must not contain marks.
 */
export function equalPayloads(a: Payload, aType: Type, b: Payload, bType: Type): Tristate {
  if (a === null && definitelyNotNull(b)) return false;
  if (b === null && definitelyNotNull(a)) return false;
  if (a instanceof Unknown) {
    if (b instanceof Unknown) return undefined;
    return equalToUnknown(b, bType, a, aType);
  }
  if (b instanceof Unknown) return equalToUnknown(a, aType, b, bType);
  if (a === null || b === null) return a === b;
  if (hasUnknownType(a, aType) || hasUnknownType(b, bType)) {
    return conformsTo(aType, bType) || conformsTo(bType, aType) ? undefined : false;
  }
  return aType.equals(bType) ? equalKnown(aType, a, b) : false;
}

function hasUnknownType(payload: Payload, type: Type): boolean {
  return (payloadFlags(type, payload) & HAS_UNKNOWN_TYPE) !== 0;
}

/** A null may equal any unknown that may be null; a value can be ruled out by type or by refinement. */
function equalToUnknown(known: Payload, knownType: Type, unknown: Unknown, type: Type): Tristate {
  if (rangeIncludes(unknown, type, known, knownType) === false) return false;
  if (known === null || type.hasDynamic || knownType.equals(type)) return undefined;
  return false;
}

/** Two payloads of one type, neither null nor unknown as a whole. */
function equalKnown(type: Type, a: Payload, b: Payload): Tristate {
  if (a === b && payloadFlags(type, a) === 0) return true;
  switch (type.kind) {
    case "number":
      return isNumberPayload(a) && isNumberPayload(b) && equalNumbers(a, b);
    case "list":
      return equalItems(a, b, () => type.element);
    case "tuple":
      return equalItems(a, b, (i) => type.elements[i]);
    case "object":
      return equalItems(a, b, (i) => type.types[i]);
    case "map":
      return equalEntries(type.element, a, b);
    case "set":
      return equalSets(type.element, a, b);
    case "capsule": {
      if (!(a instanceof Encapsulated) || !(b instanceof Encapsulated)) return false;
      return a.content === b.content || type.operations.equals?.(a.content, b.content) === true;
    }
    case "string":
    case "bool":
    case "dynamic":
      return a === b;
    default:
      return unreachable(type);
  }
}

/** One unequal pair decides, wherever it stands; only without one does an undecided pair leave the whole undecided. */
function equalItems(a: Payload, b: Payload, typeOf: (index: number) => Type | undefined): Tristate {
  if (!(a instanceof Sequence) || !(b instanceof Sequence)) return false;
  if (a.items.length !== b.items.length) return false;
  let result: Tristate = true;
  for (const [i, item] of a.items.entries()) {
    const type = typeOf(i);
    const other = b.items[i];
    if (type === undefined || other === undefined) return false;
    const equal = equalPayloads(item, type, other, type);
    if (equal === false) return false;
    if (equal === undefined) result = undefined;
  }
  return result;
}

function equalEntries(element: Type, a: Payload, b: Payload): Tristate {
  if (!(a instanceof Entries) || !(b instanceof Entries)) return false;
  if (a.map.size !== b.map.size) return false;
  let result: Tristate = true;
  for (const [key, item] of a.map) {
    const other = b.map.get(key);
    if (other === undefined) return false;
    const equal = equalPayloads(item, element, other, element);
    if (equal === false) return false;
    if (equal === undefined) result = undefined;
  }
  return result;
}

/**
 * Sets are equal when each has every element of the other. Where unknowns are involved, an element of one that differs
 * for certain from all elements of the other makes them unequal, and anything else leaves them undecided.
 */
function equalSets(element: Type, a: Payload, b: Payload): Tristate {
  if (!(a instanceof SetElements) || !(b instanceof SetElements)) return false;
  if (((a.flags | b.flags) & HAS_UNKNOWN) === 0) {
    return a.items.length === b.items.length && a.items.every((item) => setHas(element, b, item));
  }
  return lacksElementOf(element, a, b) || lacksElementOf(element, b, a) ? false : undefined;
}

function lacksElementOf(element: Type, set: SetElements, other: SetElements): boolean {
  return other.items.some((item) => setContains(element, set, item) === false);
}

/**
 * Whether the set has the element: undecided where it has none that is equal for certain, but one that may turn out
 * to be. The element must be of the element type and unmarked.
 */
export function setContains(element: Type, set: SetElements, item: Payload): Tristate {
  if (setHas(element, set, item)) return true;
  if (((set.flags | payloadFlags(element, item)) & HAS_UNKNOWN) === 0) return false;
  const candidate = set.items.some((own) => equalPayloads(own, element, item, element) !== false);
  return candidate ? undefined : false;
}

/** Whether an element of the set is equal to the item for certain. */
export function setHas(element: Type, set: SetElements, item: Payload): boolean {
  set.buckets ??= groupBy(set.items, (own) => setHashText(element, own));
  const bucket = set.buckets.get(setHashText(element, item));
  return bucket?.some((own) => equalPayloads(own, element, item, element) === true) === true;
}

/**
 * Whether two payloads of one type are the same in every respect: nulls, unknowns with their refinements, and marks
 * included.
 */
export function identicalPayloads(type: Type, a: Payload, b: Payload): boolean {
  if (a === b) return true;
  if (a instanceof Marked || b instanceof Marked) {
    if (!(a instanceof Marked) || !(b instanceof Marked)) return false;
    return a.marks.equals(b.marks) && identicalPayloads(type, a.inner, b.inner);
  }
  if (a instanceof Unknown || b instanceof Unknown) {
    if (!(a instanceof Unknown) || !(b instanceof Unknown)) return false;
    return sameRefinement(a.refinement, b.refinement);
  }
  if (a === null || b === null) return false;
  switch (type.kind) {
    case "list":
    case "set":
      return identicalItems(a, b, () => type.element);
    case "tuple":
      return identicalItems(a, b, (i) => type.elements[i]);
    case "object":
      return identicalItems(a, b, (i) => type.types[i]);
    case "map":
      return identicalEntries(type.element, a, b);
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
      return equalKnown(type, a, b) === true;
    default:
      return unreachable(type);
  }
}

/** Sets are compared in iteration order too: equal sets iterate alike. */
function identicalItems(
  a: Payload,
  b: Payload,
  typeOf: (index: number) => Type | undefined,
): boolean {
  if (!isItems(a) || !isItems(b) || a.items.length !== b.items.length) return false;
  return a.items.every((item, i) => {
    const type = typeOf(i);
    const other = b.items[i];
    return type !== undefined && other !== undefined && identicalPayloads(type, item, other);
  });
}

function isItems(payload: Payload): payload is Sequence | SetElements {
  return payload instanceof Sequence || payload instanceof SetElements;
}

function identicalEntries(element: Type, a: Payload, b: Payload): boolean {
  if (!(a instanceof Entries) || !(b instanceof Entries) || a.map.size !== b.map.size) return false;
  for (const [key, item] of a.map) {
    const other = b.map.get(key);
    if (other === undefined || !identicalPayloads(element, item, other)) return false;
  }
  return true;
}
