import { conformsTo } from "../type/conformance.ts";
import { isCollectionType, type Type } from "../type/type.ts";
import {
  Entries,
  HAS_UNKNOWN,
  isNumberPayload,
  type Payload,
  Sequence,
  SetElements,
  Unknown,
} from "./payload.ts";
import { withinBounds } from "./refinement.ts";

/** Whether the payload is known not to be null. It must be unmarked. */
export function definitelyNotNull(payload: Payload): boolean {
  return payload instanceof Unknown ? payload.refinement?.notNull === true : payload !== null;
}

/** Fewest and most elements of a known, non-null collection. They differ where unknown set elements may coincide. */
export function lengthRange(payload: Payload): readonly [least: number, most: number] {
  if (payload instanceof SetElements) {
    const size = payload.items.length;
    const certain = size <= 1 || (payload.flags & HAS_UNKNOWN) === 0;
    return [certain ? size : 1, size];
  }
  if (payload instanceof Entries) return [payload.map.size, payload.map.size];
  const size = payload instanceof Sequence ? payload.items.length : 0;
  return [size, size];
}

/**
 * Whether an unknown of the given type could turn out to be the known, unmarked payload: false when that is ruled
 * out, true when a null is allowed, undefined otherwise.
 */
export function rangeIncludes(
  unknown: Unknown,
  type: Type,
  payload: Payload,
  payloadType: Type,
): boolean | undefined {
  const { refinement } = unknown;
  if (payload === null) return refinement?.notNull !== true;
  if (!conformsTo(payloadType, type)) return false;
  if (refinement === undefined) return undefined;
  if (type.kind === "string") {
    if (typeof payload !== "string") return undefined;
    return payload.startsWith(refinement.prefix ?? "") ? undefined : false;
  }
  if (type.kind === "number") {
    if (!isNumberPayload(payload)) return undefined;
    return withinBounds(payload, refinement) ? undefined : false;
  }
  if (isCollectionType(type)) {
    const [least, most] = lengthRange(payload);
    const outside =
      most < (refinement.minLength ?? 0) || least > (refinement.maxLength ?? Infinity);
    return outside ? false : undefined;
  }
  return undefined;
}
