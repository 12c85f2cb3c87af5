import {
  CtyError,
  convert,
  couldBecome,
  Type,
  typeExpression,
  unmarkDeep,
  type Value,
} from "@stackwright/cty";

/**
 * Why a value that was computed with unknowns cannot turn out to be the known one; undefined where
 * it can. Marks are not looked at.
 */
export function whyNotRefined(unknown: Value, known: Value): string | undefined {
  return compare(unmarkDeep(unknown)[0], unmarkDeep(known)[0]);
}

/**
 * The same where the type of an input was unknown: a part may still be of a type that the others
 * are converted to once it is known, as the number in `true ? 1 : x` where x turns out a string.
 */
export function whyNotConvertible(unknown: Value, known: Value): string | undefined {
  const [open] = unmarkDeep(unknown);
  try {
    return whyNotRefined(convert(open, known.type), known);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return whyNotRefined(open, known);
  }
}

function compare(unknown: Value, known: Value): string | undefined {
  const differs = (): string =>
    `${typeExpression(unknown.type)} cannot become ${typeExpression(known.type)}`;
  if (!unknown.isKnown) {
    if (unknown.type.kind === "dynamic") return undefined;
    if (known.isNull && known.type.kind === "dynamic") return undefined;
    if (!couldBeType(unknown.type, known.type)) return differs();
    if (!unknown.type.equals(known.type)) return undefined;
    return couldBecome(unknown, known) === false ? "its refinements rule the value out" : undefined;
  }
  if (!couldBeType(unknown.type, known.type)) return differs();
  if (!known.isKnown) return "it is known although the other is not";
  if (unknown.isNull !== known.isNull) return "one is null and the other is not";
  if (unknown.isNull) return undefined;
  switch (unknown.type.kind) {
    case "string":
    case "number":
    case "bool":
      return unknown.equals(known) === true ? undefined : "another value is known";
    case "set":
      // Unknown elements may coincide: how many there will be is open.
      if (!unknown.isWhollyKnown) return undefined;
      return unknown.equals(known) === true ? undefined : "another set is known";
    case "list":
    case "tuple": {
      const [a, b] = [unknown.elements(), known.elements()];
      if (a.length !== b.length) return "another length is known";
      return firstDifference(a.map((value, index) => [value, b[index]] as const));
    }
    case "map":
    case "object": {
      const [a, b] = [new Map(unknown.entries()), new Map(known.entries())];
      if (a.size !== b.size) return "other keys are known";
      return firstDifference([...a].map(([key, value]) => [value, b.get(key)] as const));
    }
    case "capsule":
    case "dynamic":
    default:
      return undefined;
  }
}

function firstDifference(
  pairs: readonly (readonly [Value, Value | undefined])[],
): string | undefined {
  for (const [a, b] of pairs) {
    const difference = b === undefined ? "a part is missing" : compare(a, b);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** Whether a type with open parts can turn out to be another. */
function couldBeType(open: Type, definite: Type): boolean {
  if (open.kind === "dynamic" || definite.kind === "dynamic") return true;
  if (open.kind !== definite.kind) return false;
  switch (open.kind) {
    case "list":
    case "set":
    case "map":
      return "element" in definite && couldBeType(open.element, definite.element);
    case "tuple":
      return (
        definite.kind === "tuple" &&
        open.elements.length === definite.elements.length &&
        open.elements.every((type, index) =>
          couldBeType(type, definite.elements[index] ?? Type.dynamic),
        )
      );
    case "object":
      return (
        definite.kind === "object" &&
        open.names.length === definite.names.length &&
        open.names.every((name) => {
          const [a, b] = [open.attribute(name), definite.attribute(name)];
          return a !== undefined && b !== undefined && couldBeType(a, b);
        })
      );
    case "bool":
    case "capsule":
    case "number":
    case "string":
    default:
      return true;
  }
}
